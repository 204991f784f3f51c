"""Operations in real workers: captures, status checks, verifications, and the recovery after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli.demo.tree_comparison import list_differences, read_tree
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import BadRequest, Busy, WorkerFailed
from lifeboat_core.health.agent_status import KeyFacts, StatusFacts
from lifeboat_core.home.context import Context
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_daemon.watch.watch_plan import WatchPlan
from lifeboat_daemon.work import time_limits
from lifeboat_daemon.work.operations import capture as operation
from lifeboat_daemon.work.operations import recover
from lifeboat_daemon.work.worker_loop import RunningJob
from support.core.harbour import Harbour, harbour
from support.daemon import offices
from support.daemon.offices import Office
from support.killing import killed_at


class Port:
    """An agent, and workers that know its home."""

    def __init__(self, ada: Harbour, office: Office) -> None:
        self.ada = ada
        self.office = office

    def do(self, operation: str, **parameters: Any) -> JsonObject:
        return self.office.do(operation, self.ada.agent.id, **parameters)

    def note(self, text: str) -> None:
        with (self.ada.workspace / "MEMORY.md").open("a") as file:
            file.write(f"\n## {text}\n\nRemember {text}.\n")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    """Make one for all tests of this file. Each test changes something and checks the result."""
    ada = harbour(tmp_path_factory.mktemp("port"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "LIFEBOAT_HOME", "PATH"):
            patch.setenv(name, ada.context.environment[name])
        with offices.office("--warm") as office:
            yield Port(ada, office)


def test_a_capture_answers_as_sync_does_with_the_facts_and_what_to_watch(port: Port) -> None:
    port.note("the red boat")
    head = port.ada.head
    found = port.do("capture", reason="change")
    assert found["capture"]["state"] == "ok" and found["capture"]["changed"]
    assert found["capture"]["sequence"] == port.ada.head == head + 1
    assert found["capture"]["records"]["created"] == 1
    assert found["capture"]["name"] == port.ada.agent.name and found["capture"]["remotes"] == []
    assert StatusFacts.from_json(found["facts"]).sequence == head + 1
    plan = msgspec.convert(found["watch"], WatchPlan)
    assert plan.folders[0].folder == str(port.ada.workspace.resolve())
    assert not port.do("capture")["capture"]["changed"]


def test_a_full_capture_finds_what_no_time_and_no_size_tells(port: Port) -> None:
    port.do("capture")
    note = port.ada.workspace / "MEMORY.md"
    assert not port.do("capture", full=True)["capture"]["changed"]
    note.write_bytes(note.read_bytes() + b"\nOne more line.\n")
    assert port.do("capture", full=True)["capture"]["changed"]


def test_a_look_says_how_the_agent_stands(port: Port) -> None:
    found = port.do("standing")
    assert StatusFacts.from_json(found["facts"]).sequence == port.ada.head
    assert msgspec.convert(found["watch"], WatchPlan).folders


def test_a_look_at_the_key_says_how_it_stands(port: Port) -> None:
    assert msgspec.convert(port.office.do("key")["key"], KeyFacts).state == "ok"


def test_a_verification_reads_the_copy_back(port: Port) -> None:
    found = port.do("verify", whole=True)
    assert found["mismatches"] == [] and found["whole"]
    assert StatusFacts.from_json(found["facts"]).last_verified_at is not None


def test_a_key_that_asks_for_ever_ends_its_look_and_stops_nothing_else(
    port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "LIFEBOAT_HOME", "PATH"):
        monkeypatch.setenv(name, port.ada.context.environment[name])
    port.note("the white boat")
    with offices.office("--key-asks-for-ever") as office:
        assert office.do("capture", port.ada.agent.id)["capture"]["changed"]
        assert office.do("standing", port.ada.agent.id)["facts"]
        monkeypatch.setitem(time_limits.SECONDS, "key", 0.3)
        with pytest.raises(WorkerFailed, match="key did not finish within"):
            office.do("key")


def test_work_on_an_agent_needs_one(port: Port) -> None:
    with pytest.raises(BadRequest):
        port.office.do("capture")


def test_a_command_that_works_on_the_agent_is_named(port: Port) -> None:
    with (
        agent_lock(port.ada.context, port.ada.agent.id, "restore"),
        pytest.raises(Busy, match=r"process \d+ .*restore"),
    ):
        port.do("capture")
    assert not port.do("capture")["capture"]["held"]


def test_captures_that_are_asked_for_together_are_made_once_and_all_answered(port: Port) -> None:
    async def story() -> list[JsonObject]:
        asked = [port.office.queue.put("capture", port.ada.agent.id, {"reason": "change"}) for _ in range(5)]
        return list(await asyncio.gather(*asked))

    port.note("the green boat")
    documents = [each["capture"] for each in port.office.run(story())]
    assert {each["sequence"] for each in documents} == {port.ada.head}
    assert sum(each["changed"] for each in documents) <= 1 or len({str(each) for each in documents}) == 1


def test_captures_leave_the_worker_as_large_as_it_was(port: Port) -> None:
    port.do("capture")
    (worker,) = port.office.workers._all
    before = worker.rss
    for number in range(25):
        (port.ada.workspace / "memory" / "today.md").write_text(f"# Today\n\nThe tide was {number}.\n")
        assert port.do("capture")["capture"]["changed"]
    (after,) = port.office.workers._all
    assert after.pid == worker.pid
    assert after.rss < before + 8 * 1024 * 1024


# Recovery -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [CrashPoint.RESTORE_MOVED_ASIDE, CrashPoint.RESTORE_JOURNAL_REMOVED])
def test_a_restore_that_was_interrupted_is_finished_before_anything_is_captured(
    tmp_path: Path, step: CrashPoint
) -> None:
    ada = harbour(tmp_path)
    before = read_tree(ada.workspace)
    ada.day_passes()
    options = RestoreOptions(at=0, yes=True, reindex=False)
    assert killed_at(lambda: restore_agent(ada.context, ada.agent, options), step)
    found = recover.run(RunningJob(ada.context))
    assert len(found["said"]) == 1 and found["problems"] == []
    assert list_differences(before, read_tree(ada.workspace)) == []
    assert recover.run(RunningJob(ada.context)) == {"said": [], "problems": []}


# Once a day -----------------------------------------------------------------------------------------------------


def test_agents_that_were_removed_long_ago_are_let_go_once_a_day(tmp_path: Path) -> None:
    ada = harbour(tmp_path)
    note = ada.context.home.state_folder / "swept"
    operation._sweep_if_due(ada.context)
    first = note.read_text()
    operation._sweep_if_due(ada.context)
    assert note.read_text() == first
    for wrong in ("2001-01-01T00:00:00.000Z", "2999-01-01T00:00:00.000Z", "no time"):
        note.write_text(f"{wrong}\n")
        before = times.to_text(ada.context.clock.now())
        operation._sweep_if_due(_opened(ada.context))
        assert before <= note.read_text().strip() <= times.to_text(ada.context.clock.now())


def _opened(context: Context) -> Context:
    return Context.open(context.environment)


def test_history_is_looked_after_at_the_first_capture_and_then_every_few_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = harbour(tmp_path)
    cared: list[str] = []
    monkeypatch.setattr(
        "lifeboat_core.history.thin_history.apply_retention", lambda context, agent: cared.append(agent.id) or ["cared"]
    )
    work = RunningJob(ada.context, ada.agent)
    assert operation.run(work)["capture"]["warnings"] == ["cared"]
    assert operation.run(work)["capture"]["warnings"] == []
    monkeypatch.setattr(operation, "_CARE_EVERY", 0.0)
    operation.run(work)
    assert len(cared) == 2
