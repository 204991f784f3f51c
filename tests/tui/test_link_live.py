"""The dashboard with a real daemon: pushed events, and a daemon that starts, stops and is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_tui.dashboard_app import LifeboatApp
from lifeboat_tui.link import LinkStage
from support.adapters.openclaw_workspaces import make_workspace
from support.cli import cli_client
from support.daemon.serving import Daemon, serving
from support.tui.live import live, shows
from support.tui.pilots import notes, text_of, until
from support.waiting import until_async

pytestmark = pytest.mark.anyio
run = cli_client.run


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    make_workspace(folder)
    run("agents", "add", folder, "--name", "ada")
    return folder


async def test_without_a_daemon_everything_is_shown_and_the_key_that_starts_it_is_named(workspace: Path) -> None:
    async with live() as pilot:
        await shows(pilot, "The daemon is not running")
        await shows(pilot, "Press S to start the daemon")
        await shows(pilot, "ada")
        await shows(pilot, "capture")


async def test_a_change_in_the_workspace_is_on_the_screen_by_itself(workspace: Path) -> None:
    with serving(Context.open()):
        async with live() as pilot:
            await shows(pilot, "sequence 0, ")
            (workspace / "MEMORY.md").write_text("# Memory\n\nSomething new that is worth keeping.\n")
            await shows(pilot, "sequence 1, ")
            await shows(pilot, "sequence 1:")


async def test_a_killed_daemon_is_said_commands_go_on_and_a_new_one_is_found(workspace: Path) -> None:
    context = Context.open()
    daemon = Daemon(context).start()
    try:
        async with live() as pilot:
            app = pilot.app
            assert isinstance(app, LifeboatApp)
            await until(pilot, lambda: app.link.connection.stage is LinkStage.UP, "the connection")
            await shows(pilot, "sequence 0, ")
            daemon.kill()
            await shows(pilot, "The daemon is not running since")
            await pilot.press("v")
            await until(pilot, lambda: any("sequence 0 verified" in note for note in notes(pilot)), "verify")
            daemon.start()
            await until(pilot, lambda: app.link.connection.stage is LinkStage.UP, "the new daemon")
            await until(pilot, lambda: "is not running" not in text_of(pilot), "the banner to go")
    finally:
        daemon.kill()


async def test_s_starts_the_daemon(workspace: Path) -> None:
    async with live() as pilot:
        app = pilot.app
        assert isinstance(app, LifeboatApp)
        await shows(pilot, "Press S to start the daemon")
        await pilot.press("S")
        await until(pilot, lambda: app.link.connection.stage is LinkStage.UP, "the daemon")
        pid = app.link.connection.pid
        assert pid is not None
    run("daemon", "stop")


async def test_a_daemon_that_hangs_does_not_hang_the_dashboard(workspace: Path) -> None:
    with serving(Context.open()) as daemon:
        async with live() as pilot:
            await shows(pilot, "sequence 0, ")
            os.kill(daemon.pid, signal.SIGSTOP)
            try:
                await pilot.press("question_mark")
                await shows(pilot, "Help: dashboard")
                await pilot.press("escape", "v")
                await until(pilot, lambda: any("verified" in note for note in notes(pilot)), "verify")
            finally:
                os.kill(daemon.pid, signal.SIGCONT)


async def test_the_next_dashboard_paints_what_the_last_one_saw(workspace: Path) -> None:
    async with live() as pilot:
        await shows(pilot, "ada")
    async with live() as pilot:
        assert "old information; waiting" in text_of(pilot) or "ada" in text_of(pilot)


async def test_closing_the_dashboard_leaves_no_process_behind(workspace: Path) -> None:
    async with live() as pilot:
        await shows(pilot, "capture")
    await until_async(lambda: not [pid for pid in _children() if b"command_server" in _command(pid)])


def _children() -> list[int]:
    return [int(each) for each in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
