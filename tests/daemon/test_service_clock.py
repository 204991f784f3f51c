"""The daemon while clocks go wrong: jumps of hours and years, and nights of sleep. Real processes, simulated clocks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from lifeboat_core.agents import agent as agent_files
from support.core.harbour import Harbour, harbour
from support.daemon.serving import Daemon, Skew, settled
from support.prepared_folders import PreparedFolders
from support.waiting import until

HOUR, YEAR = 3600.0, 365.25 * 86400


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Harbour:
    """Make an agent without debounce, which these tests are not about."""
    return prepared_folders.restore("ada without debounce", _ada_without_debounce)


def _ada_without_debounce(folder: Path) -> Harbour:
    made = harbour(folder)
    made.agent = agent_files.write_setting(made.context, made.agent, "capture.quiet", "0s")
    return made


@pytest.fixture
def skew(tmp_path: Path) -> Skew:
    return Skew(tmp_path / "skew")


@pytest.fixture
def daemon(ada: Harbour, skew: Skew) -> Iterator[Daemon]:
    with settled(ada.context, skew=skew) as running:
        yield running


def change(ada: Harbour, text: str) -> int:
    """Write a memory, wait for its capture, and return the sequence."""
    before = ada.head
    with (ada.workspace / "MEMORY.md").open("a") as memory:
        memory.write(f"\n- {text}\n")
    until(lambda: ada.head > before, f"{text} to be captured")
    return ada.head


def logged(ada: Harbour, kind: str) -> int:
    return (ada.context.home.folder / "logs" / "daemon.log").read_text().count(f'"kind":"{kind}"')


@pytest.mark.parametrize("jump", [HOUR, -HOUR, 10 * YEAR, -10 * YEAR])
def test_a_clock_that_jumps_and_comes_back_costs_no_capture_and_no_history(
    ada: Harbour, daemon: Daemon, skew: Skew, jump: float
) -> None:
    change(ada, "before")
    captures_at_rest(daemon)
    skew.set(jumped=jump)
    until(lambda: logged(ada, "clock_jumped") == 1, "the jump to be noticed")
    change(ada, "under the wrong clock")
    captures_at_rest(daemon)  # A capture that is still due would end the quarter by the right clock.
    until(lambda: daemon.ask("status")["clock_trusted"] == (abs(jump) < YEAR), "the clock to be judged")
    skew.set()
    until(lambda: logged(ada, "clock_jumped") == 2, "the way back to be noticed")
    change(ada, "after")
    with ada.context.vault(ada.agent.id) as vault:
        rows = vault.sequences()
        assert vault.check_audit() == []
    assert [row.number for row in rows] == list(range(4))
    assert all(one.time <= other.time for one, other in pairwise(rows))
    until(lambda: daemon.ask("status")["clock_trusted"], "the clock to be trusted again")


def captures_at_rest(daemon: Daemon) -> int:
    """Return the number of captures once five ticks of the daemon added none. Changes during a capture, and everything
    due by then, are captured a moment later."""
    captures, seen_at = -1, 0
    while True:
        until(daemon.is_settled)
        found = daemon.ask("daemon")
        if found["agents"][0]["captures"] != captures:
            captures, seen_at = found["agents"][0]["captures"], found["ticks"]
        elif found["ticks"] >= seen_at + 5:
            return captures


def test_a_night_of_sleep_is_made_up_for_once(ada: Harbour, daemon: Daemon, skew: Skew) -> None:
    change(ada, "in the evening")
    captures = captures_at_rest(daemon)
    skew.set(slept=8 * HOUR)
    until(lambda: logged(ada, "woke") == 1, "the sleep to be noticed")
    until(lambda: daemon.ask("daemon")["agents"][0]["captures"] > captures, "the look after waking up")
    assert captures_at_rest(daemon) == captures + 1
    assert daemon.agent()["state"] == "ok"


def test_a_schedule_that_was_slept_through_is_kept_once_on_waking_up(ada: Harbour, skew: Skew) -> None:
    agent = agent_files.write_setting(ada.context, ada.agent, "cadence", "scheduled")
    agent_files.write_setting(ada.context, agent, "schedule", "0 * * * *")
    with settled(ada.context, skew=skew) as daemon:
        (ada.workspace / "MEMORY.md").write_text("# Memory\n\n- Written before the night.\n")
        skew.set(slept=5 * HOUR)
        until(lambda: ada.head > 0, "the schedule to be made up for")
        until(daemon.is_settled)
        assert ada.head == 1
