"""`lifeboat log --kind` and `lifeboat daemon log --level`: filters of the logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lifeboat_cli import program
from lifeboat_core.agents import manage_agents
from lifeboat_core.history import activity_log
from lifeboat_core.history.activity_log import ActivityEntry
from lifeboat_core.home.context import Context
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_daemon.service import event_log_reader
from lifeboat_daemon.service.event_log import open_log
from support.cli.cli_client import run
from support.core.protected import Protected


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    """Make an agent that was captured twice and restored once."""
    made = Protected(tmp_path)
    made.add()
    made.write("MEMORY.md", "# Memory\n\nSoup.\n")
    made.capture()
    made.clock.advance(minutes=1)
    restore_agent(made.context, made.agent, RestoreOptions(at=0, yes=True))
    return made


def _told(ada: Protected, *kinds: str, limit: int | None = None) -> list[ActivityEntry]:
    return activity_log.list_activity(
        ada.context, manage_agents.list_agents(ada.context), everything=True, limit=limit, kinds=kinds
    )


def test_a_log_of_a_kind_has_no_other(ada: Protected) -> None:
    assert {each.kind for each in _told(ada, "capture")} == {"capture"}


def test_several_kinds_are_a_log_of_all_of_them(ada: Protected) -> None:
    assert {each.kind for each in _told(ada, "capture", "restore")} == {"capture", "restore"}


def test_a_limit_counts_what_is_of_the_kind(ada: Protected) -> None:
    everything = [each.kind for each in _told(ada)]
    assert everything.index("create") > 0, "the oldest"
    assert [each.kind for each in _told(ada, "create", limit=1)] == ["create"]


def test_a_kind_that_never_happened_is_said_to_be_none(isolated_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("log", "--kind", "undo") == {"entries": []}
    assert program.run_command(["log", "--kind", "undo"]) == 0
    assert capsys.readouterr().out.strip() == "The log contains no entry of this kind."


@pytest.fixture
def noted(isolated_home: Path) -> None:
    """Write a daemon's log with an event of each level, and one of an unknown level."""
    home = Context.open().home
    with open_log(home, foreground=False) as log:
        for level in ("debug", "info", "warning", "error"):
            log.event(f"was_{level}", level)
    (home.logs_folder / "daemon.log").open("a").write('{"time":"2026-11-20T00:00:00Z","level":"grave","kind":"odd"}\n')


def _kinds(*words: str) -> list[Any]:
    return [event["kind"] for event in run("daemon", "log", *words)["events"]]


@pytest.mark.usefixtures("noted")
def test_a_level_shows_what_is_at_least_as_grave() -> None:
    assert _kinds("--level", "warning") == ["was_warning", "was_error", "odd"]
    assert _kinds() == ["was_debug", "was_info", "was_warning", "was_error", "odd"]


@pytest.mark.usefixtures("noted")
def test_so_many_lines_are_so_many_of_the_level() -> None:
    assert [each["kind"] for each in event_log_reader.read_last_events(Context.open().home, 2, level="error")] == [
        "was_error",
        "odd",
    ]


def test_a_level_that_is_none_is_refused(isolated_home: Path) -> None:
    assert run("daemon", "log", "--level", "loud", expect=2)["error"]["code"] == "usage"
