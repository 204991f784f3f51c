"""Workers are started when there is work, reused, and ended before they grow; their end loses nothing."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import Cancelled, WorkerFailed
from lifeboat_core.processes.installed_release import read_release
from lifeboat_daemon.work import time_limits, worker_messages, worker_pool, worker_process
from lifeboat_daemon.work.worker_messages import WorkerReady
from lifeboat_daemon.work.worker_process import WorkerProcess
from support.daemon import offices, work_program
from support.daemon.offices import Office
from support.patience import patience
from support.waiting import until_async

ADA, BOB = "01935f3e-0000-7000-8000-000000000001", "01935f3e-0000-7000-8000-000000000002"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a home that knows two agents by their files alone."""
    home = tmp_path / "home"
    (home / "agents").mkdir(parents=True)
    (home / "version").write_text("1\n")
    home.chmod(0o700)
    for number, agent in enumerate((ADA, BOB)):
        (home / "agents" / f"{agent}.toml").write_text(
            f'name = "agent {number}"\nruntime = "openclaw"\nworkspace = "/nowhere/{number}"\n'
        )
    monkeypatch.setenv("LIFEBOAT_HOME", str(home))
    return home


def starts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Record the commands with which workers are started from now on."""
    seen_commands: list[tuple[str, ...]] = []
    real = WorkerProcess.start

    async def start(command: tuple[str, ...], environment: dict[str, str]) -> Any:
        seen_commands.append(command)
        return await real(command, environment)

    monkeypatch.setattr(WorkerProcess, "start", start)
    return seen_commands


class Held:
    """A job that runs until it is released."""

    def __init__(self, folder: Path, office: Office, agent: str | None = None, **options: Any) -> None:
        self._until = folder / "until"
        folder.mkdir(exist_ok=True)
        long = options.pop("long", True)
        held = office.work("hold", agent, long=long, began=str(folder / "began"), until=str(self._until), **options)
        self.task = asyncio.ensure_future(held)
        self._began = folder / "began"

    async def has_begun(self) -> None:
        await until_async(lambda: self._began.exists() or self.task.done())
        assert not self.task.done(), self.task.exception()

    @property
    def waits(self) -> bool:
        return not self._began.exists()

    def let_go(self) -> None:
        self._until.touch()


# Starting and ending --------------------------------------------------------------------------------------------


def test_a_worker_that_was_started_in_advance_does_the_next_job(monkeypatch: pytest.MonkeyPatch) -> None:
    started = starts(monkeypatch)
    with offices.office() as office:

        async def story() -> JsonObject:
            office.workers.warm()
            office.workers.warm()
            await until_async(lambda: len(office.workers.pids) == 1)
            office.workers.warm()
            found: JsonObject = await office.work("echo")
            return found

        before = office.run(story())
        assert office.workers.pids == [before["pid"]]
        assert len(started) == 1


def test_a_worker_without_work_ends_after_a_while() -> None:
    with offices.office(linger=0.05) as office:
        office.do("echo")
        office.run(until_async(lambda: not office.workers.pids))
        kind, fields = office.events[-1]
        assert kind == "worker.ended" and fields["how"] == "ended with status 0" and fields["jobs"] == 1


def test_a_worker_that_has_grown_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    with offices.office() as office:
        first = office.do("echo")["pid"]
        office.do("grow", bytes=worker_pool.MOST_MEMORY)
        assert office.do("echo")["pid"] != first


def test_a_worker_that_has_done_many_jobs_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "MOST_JOBS", 3)
    with offices.office() as office:
        pids = [office.do("echo")["pid"] for _ in range(4)]
    assert len(set(pids[:3])) == 1 and pids[3] not in pids[:3]


def test_a_worker_that_is_killed_while_it_rests_is_replaced() -> None:
    with offices.office() as office:
        first = office.do("echo")["pid"]
        (worker,) = office.workers._all
        worker.kill()
        assert office.do("echo")["pid"] != first


# Workers that cannot be used ------------------------------------------------------------------------------------


def test_a_broken_installation_is_said_and_not_tried_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    started = starts(monkeypatch)
    with offices.office("--broken") as office:
        with pytest.raises(WorkerFailed, match="No module named 'lost'"):
            office.do("echo")
        assert len(started) == 2
        office.workers.warm()
        with pytest.raises(WorkerFailed, match="tries again"):
            office.do("echo")
        assert len(started) == 2
        office.workers._command = work_program.command()
        office.workers._not_before = 0.0
        assert office.do("echo")["agent"] is None
        office.workers._command = work_program.command("--broken")


def test_a_command_that_is_not_there_is_said() -> None:
    with offices.office(command=("/nowhere/python",)) as office, pytest.raises(WorkerFailed, match="No such file"):
        office.do("echo")


def test_a_worker_that_says_nothing_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "READY_WITHIN", 0.2)
    with offices.office("--silent") as office, pytest.raises(WorkerFailed, match="did not start"):
        office.do("echo")


def test_a_worker_of_another_release_says_that_the_program_was_upgraded_once() -> None:
    with offices.office("--release", "9.9") as office:
        upgrades: list[str] = []
        office.workers.on_upgrade = upgrades.append
        first = office.do("echo")
        (worker,) = office.workers._all
        worker.kill()
        assert office.do("echo")["pid"] != first["pid"]
        assert upgrades == ["9.9"]


def test_a_worker_that_speaks_another_protocol_is_given_no_work() -> None:
    with offices.office("--release", "9.9", "--protocol", "2") as office:
        upgrades: list[str] = []
        office.workers.on_upgrade = upgrades.append
        with pytest.raises(WorkerFailed) as caught:
            office.do("echo")
        assert caught.value.fix == "lifeboat daemon restart"
        assert upgrades == ["9.9"] and office.workers.pids == []


# Several at once ------------------------------------------------------------------------------------------------


def test_long_work_never_keeps_a_capture_waiting(tmp_path: Path) -> None:
    with offices.office() as office:

        async def story() -> None:
            first, second = Held(tmp_path / "1", office, ADA), Held(tmp_path / "2", office, BOB)
            await first.has_begun()
            assert (await office.work("echo", BOB))["agent"] == BOB
            assert second.waits and len(office.workers.pids) == 2
            first.let_go()
            await second.has_begun()
            second.let_go()
            await asyncio.gather(first.task, second.task)

        office.run(story())


def test_two_agents_are_worked_on_by_two_workers(tmp_path: Path) -> None:
    with offices.office() as office:

        async def story() -> None:
            both = [Held(tmp_path / agent, office, agent, long=False) for agent in (ADA, BOB)]
            for each in both:
                await each.has_begun()
            assert len(office.workers.pids) == 2
            for each in both:
                each.let_go()
                await each.task

        office.run(story())


# Work that does not end -----------------------------------------------------------------------------------------


def test_work_that_takes_too_long_is_ended_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(time_limits.SECONDS, "hold", 0.3)
    with offices.office() as office:

        async def story() -> None:
            with pytest.raises(WorkerFailed, match="hold did not finish within"):
                await Held(tmp_path / "1", office, stubborn=True).task

        office.run(story())
        assert office.do("echo")["agent"] is None


def test_work_without_a_limit_that_takes_long_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limits, "SLOW", 0.05)
    with offices.office() as office:

        async def story() -> None:
            held = Held(tmp_path / "1", office, ADA)
            await until_async(lambda: any(kind == "worker.slow" for kind, _ in office.events))
            held.let_go()
            await held.task

        office.run(story())
        (fields,) = [fields for kind, fields in office.events if kind == "worker.slow"]
        assert (fields["operation"], fields["agent"]) == ("hold", ADA)


def test_work_that_was_cancelled_and_goes_on_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "CANCEL_WITHIN", 0.05)
    with offices.office() as office:

        async def story() -> None:
            held = Held(tmp_path / "1", office, ADA, stubborn=True)
            await held.has_begun()
            office.workers.cancel(ADA)
            with pytest.raises(Cancelled):
                await held.task

        office.run(story())


# The end of the service -----------------------------------------------------------------------------------------


def test_a_service_that_stops_lets_a_capture_end(tmp_path: Path) -> None:
    with offices.office("--seen-through", "hold") as office:

        async def story() -> None:
            held = Held(tmp_path / "1", office, ADA, full=True)
            await held.has_begun()
            stopping = asyncio.ensure_future(office.workers.stop(patience()))
            with pytest.raises(Cancelled):
                await office.work("echo")
            held.let_go()
            assert await held.task == {"full": True}
            await stopping
            assert office.workers.pids == []

        office.run(story())


def test_a_service_that_stops_ends_other_work_at_its_next_safe_point(tmp_path: Path) -> None:
    with offices.office() as office:

        async def story() -> None:
            held = Held(tmp_path / "1", office, ADA)
            waiting = Held(tmp_path / "2", office, BOB)
            await held.has_begun()
            await office.workers.stop(patience())
            for each in (held, waiting):
                with pytest.raises(Cancelled):
                    await each.task

        office.run(story())


def test_a_service_that_stops_waits_only_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "_END_WITHIN", 0.1)
    with offices.office() as office:

        async def story() -> None:
            held = Held(tmp_path / "1", office, ADA, stubborn=True)
            await held.has_begun()
            await office.workers.stop(0.1)
            with pytest.raises(Cancelled):
                await held.task

        office.run(story())


def test_whoever_is_no_longer_waited_for_ends_by_itself(tmp_path: Path) -> None:
    with offices.office() as office:

        async def story() -> None:
            held = Held(tmp_path / "1", office, ADA)
            await held.has_begun()
            held.task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await held.task
            assert not office.workers.busy
            await until_async(lambda: not office.workers.pids)

        office.run(story())


@pytest.mark.parametrize(
    "line", ["'[' * 200_000", "'{\"a\":' * 100_000 + '1' + '}' * 100_000", '\'{"type": "no such"}\'']
)
def test_a_worker_that_says_what_nobody_understands_is_ended_and_its_work_fails(line: str) -> None:
    """This includes messages nested too deeply to decode: no caller may wait forever for an answer that has arrived."""
    ready = worker_messages.encode_message(WorkerReady(1, read_release())).decode().strip()
    program = (
        f"import sys; print({ready!r}, flush=True); sys.stdin.readline(); print({line}, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program]
    with offices.office(command=command) as office, pytest.raises(WorkerFailed, match="an invalid message"):
        office.do("standing", ADA)
