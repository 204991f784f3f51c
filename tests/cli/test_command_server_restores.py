"""A restore for a dashboard while one of the processes ends: the files are all old or all new, and no lock stays."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.errors import CommandLost, WorkerFailed
from lifeboat_daemon.control.command_runner import CommandProgress, CommandRunner
from support import preloaded
from support.cli import command_program
from support.patience import patience
from support.preloaded import script
from support.waiting import until_async

OLD, NEW = "# Memory\n\n## Tea\n\nGreen tea.\n", "# Memory\n\n## Tea\n\nBlack tea.\n"
RESTORE = ("restore", "Juniper", "--at", "0", "--yes", "--no-reindex")


class Place:
    """An agent `Juniper` with two sequences, the second of which is in its workspace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "user" / ".openclaw" / "workspace"
        self.pause = folder / "pause"
        self.pause.mkdir()
        self.workspace.mkdir(parents=True)
        (self.workspace / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
        self.memory = self.workspace / "MEMORY.md"
        self.memory.write_text(OLD)

    @asynccontextmanager
    async def commands(self, step: CrashPoint | None = None) -> AsyncIterator[CommandRunner]:
        around = {**os.environ, "LIFEBOAT_HOME": str(self.folder / "home"), "HOME": str(self.folder / "user")}
        options = () if step is None else ("--pause-at", step.value, str(self.pause))
        made = CommandRunner(around, server=(*command_program.COMMAND, *options))
        with preloaded.forking_of({command_program.COMMAND: script(command_program.__file__)}):
            try:
                yield made
            finally:
                await made.close()

    async def live(self) -> None:
        async with self.commands() as made:
            await made.run("agents", "add", str(self.workspace), "--name", "Juniper")
            self.memory.write_text(NEW)
            await made.run("sync")

    async def reached(self) -> None:
        await until_async((self.pause / "begun").exists)

    @property
    def child(self) -> int:
        return int((self.pause / "pid").read_text())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, patience()))


def test_it_says_how_far_it_is(place: Place) -> None:
    heard: list[CommandProgress] = []

    async def story() -> None:
        await place.live()
        async with place.commands() as made:
            assert (await made.run(*RESTORE, tell=heard.append)).document["sequence"] == 0

    run(story())
    assert place.memory.read_text() == OLD
    assert heard[0].text == "Restoring Juniper"
    assert heard[-1].text == "Capturing the restored workspace"


def test_one_that_is_cancelled_while_it_is_prepared_changes_nothing(place: Place) -> None:
    async def story() -> None:
        await place.live()
        async with place.commands(CrashPoint.RESTORE_STAGED) as made:
            task = asyncio.create_task(made.run(*RESTORE))
            await place.reached()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert place.memory.read_text() == NEW
            assert (await made.run("verify", "Juniper")).status == 0  # Its lock is free.

    run(story())


def test_one_that_is_cancelled_while_it_moves_files_is_done_to_its_end(place: Place) -> None:
    async def story() -> None:
        await place.live()
        async with place.commands(CrashPoint.RESTORE_MOVED_IN) as made:
            task = asyncio.create_task(made.run(*RESTORE))
            await place.reached()
            task.cancel()
            await asyncio.sleep(0)  # Now the request to stop is on its way.
            assert not task.done()
            (place.pause / "go").touch()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert place.memory.read_text() == OLD
            assert (await made.run("verify", "Juniper")).status == 0

    run(story())


@pytest.mark.parametrize(
    ("step", "left"),
    [(CrashPoint.RESTORE_STAGED, NEW), (CrashPoint.RESTORE_MOVED_ASIDE, OLD), (CrashPoint.RESTORE_MOVED_IN, OLD)],
)
def test_one_that_is_killed_is_dropped_or_finished_by_the_next_command(
    place: Place, step: CrashPoint, left: str
) -> None:
    async def story() -> None:
        await place.live()
        async with place.commands(step) as made:
            task = asyncio.create_task(made.run(*RESTORE))
            await place.reached()
            os.kill(place.child, signal.SIGKILL)
            with pytest.raises(WorkerFailed, match="SIGKILL"):
                await task
            said = await made.run("status")
            assert any("restore" in note for note in said.notes)
            assert place.memory.read_text() == left
            assert (await made.run("verify", "Juniper")).status == 0

    run(story())


def test_one_goes_on_when_the_server_is_killed(place: Place) -> None:
    async def story() -> None:
        await place.live()
        async with place.commands(CrashPoint.RESTORE_MOVED_IN) as made:
            task = asyncio.create_task(made.run(*RESTORE))
            await place.reached()
            assert made._starting is not None
            psutil.Process(made._starting.result().pid).kill()
            with pytest.raises(CommandLost):
                await task
            child = psutil.Process(place.child)
            (place.pause / "go").touch()
            await until_async(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
            assert place.memory.read_text() == OLD
            assert (await made.run("verify", "Juniper")).status == 0

    run(story())


# Other work that must not be interrupted ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step", [CrashPoint.PURGE_SWEPT, CrashPoint.PURGE_UNDO_EMPTIED, CrashPoint.PURGE_RECEIPT_WRITTEN]
)
def test_a_purge_that_is_cancelled_is_finished_by_the_next_command(place: Place, step: CrashPoint) -> None:
    async def story() -> None:
        await place.live()
        async with place.commands(step) as made:
            task = asyncio.create_task(made.run("purge", "Juniper", "--text-stdin", "--yes", text="Green tea"))
            await place.reached()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await made.run("status")
            (receipt,) = (await made.run("receipts", "list")).document["receipts"]
            assert receipt["done"]
            assert (await made.run("restore", "Juniper", "--at", "0", "--to", str(place.folder / "old"))).status == 0
            assert "Green tea" not in (place.folder / "old" / "MEMORY.md").read_text()
            assert (await made.run("verify", "Juniper", "--whole")).status == 0

    run(story())


def test_an_adoption_that_is_cancelled_can_be_asked_for_again(place: Place, tmp_path: Path) -> None:
    async def story() -> None:
        await place.live()
        async with place.commands(CrashPoint.ADOPT_EPOCH_RAISED) as made:
            await made.run("remote", "add", "stick", f"file://{tmp_path}/stick", "--plain")
            await made.run("sync")
            task = asyncio.create_task(made.run("agents", "adopt", "Juniper", "--yes"))
            await place.reached()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await made.run("agents", "adopt", "Juniper", "--yes")).document["name"] == "Juniper"
            assert (await made.run("verify", "Juniper")).status == 0

    run(story())
