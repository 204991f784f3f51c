"""An agent that was captured once while the clock was years ahead."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.common import times
from lifeboat_core.agents.agent import load_agent
from lifeboat_core.errors import NothingToRestore
from lifeboat_core.health.status_gathering import gather_status
from lifeboat_core.history.sequence_timeline import TimelineRequest, make_timeline
from lifeboat_core.remotes import conditional_replication
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_registry import save_remote
from lifeboat_core.remotes.remote_restore import open_remote_plan
from lifeboat_core.restore.plan_opening import find_sequence_at
from lifeboat_core.restore.restore_options import RestoreOptions
from support.core.protected import Protected


@pytest.fixture
def ahead(ada: Protected) -> tuple[Protected, dict[int, str]]:
    """The agent with one sequence under a clock ten years ahead, and what the clock said at each."""
    said = {0: ada.context.now()}
    for number, jump in ((1, 0), (2, 3650), (3, -3650), (4, 0)):
        ada.clock.jump(days=jump)
        ada.write("MEMORY.md", ada.read("MEMORY.md") + f"\n## Line {number}\n\nWritten as number {number}.\n")
        assert ada.capture().sequence == number
        said[number] = ada.context.now()
    return ada, said


def test_a_time_names_the_sequence_that_the_clock_recorded_then(ahead: tuple[Protected, dict[int, str]]) -> None:
    ada, said = ahead
    with ada.context.vault(ada.agent.id) as vault:
        for number in (0, 1, 3, 4):
            assert find_sequence_at(vault, said[number]) == number
        now = times.to_text(ada.clock.now())
        assert find_sequence_at(vault, now) == 4
        assert [row.number for row in vault.sequences()] == sorted(said)


def test_the_timeline_and_the_status_tell_when_each_was_captured(ahead: tuple[Protected, dict[int, str]]) -> None:
    ada, said = ahead
    told = make_timeline(ada.context, load_agent(ada.context, ada.agent.id), TimelineRequest())["entries"]
    assert {entry["sequence"]: entry["created_at"] for entry in told} == said
    ada.context.home.state_file(ada.agent.id).unlink()
    assert gather_status(ada.context).agents[0].last_captured_at == said[4]


def test_nothing_is_captured_again_once_the_clock_is_right(ahead: tuple[Protected, dict[int, str]]) -> None:
    ada, _ = ahead
    for _ in range(3):
        assert ada.capture().outcome == "unchanged"


def test_a_capture_after_the_clock_was_set_back_adds_no_sequence_of_its_own(ada: Protected) -> None:
    ada.clock.jump(days=3650)
    ada.write("MEMORY.md", ada.read("MEMORY.md") + "\n## Late\n\nFrom another decade.\n")
    assert ada.capture().sequence == 1
    ada.clock.jump(days=-3650)
    report = ada.capture()
    assert report.outcome == "unchanged" and report.sealed == []


def test_a_remote_refuses_a_time_that_its_sequences_do_not_tell(
    ahead: tuple[Protected, dict[int, str]], tmp_path: Path
) -> None:
    ada, said = ahead
    (tmp_path / "stick").mkdir()
    config = save_remote(ada.context, RemoteConfig("stick", (tmp_path / "stick").as_uri()))
    conditional_replication.send_when_suitable(ada.context, load_agent(ada.context, ada.agent.id), config, asked=True)
    options = RestoreOptions(at=said[4])
    with (
        pytest.raises(
            NothingToRestore,
            match=r"with a time in the future.*Give the number of a sequence; the remote has 1 sequence \(4\)",
        ),
        open_remote_plan(ada.context, "stick", "ada", tmp_path / "back", options),
    ):
        pass
