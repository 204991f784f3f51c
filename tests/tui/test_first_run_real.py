"""Both purposes of the first run against real commands, each in its own process as from a shell."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_daemon.control import error_documents
from lifeboat_daemon.control.command_runner import CommandAnswer
from lifeboat_tui.dashboard_app import DashboardOptions, LifeboatApp
from lifeboat_tui.link import LinkStage, LinkStatus, Tell
from lifeboat_tui.screens.dashboard_screen import DashboardScreen
from support import preloaded
from support.adapters.openclaw_workspaces import make_state_dir
from support.cli.cli_client import run
from support.daemon.fake_systemctl import FakeSystemctl
from support.patience import patience
from support.tui.first_run_home import WAYS, driven
from support.tui.pilots import text_of, until

if sys.platform != "linux":
    pytest.skip("its service is one of systemd", allow_module_level=True)


class ShellLink:
    """Link to real commands without a daemon."""

    connection = LinkStatus(LinkStage.DOWN)
    is_demo = False

    def now(self) -> datetime:
        return datetime.now(UTC)

    def remembered(self) -> JsonObject | None:
        return None

    async def status(self) -> JsonObject:
        return (await self.run("status")).document

    async def run(self, *words: str, text: str = "", tell: Tell | None = None) -> CommandAnswer:
        said = await self.run_text(*words, "--json", text=text)
        document = json.loads(said.text or "{}")
        if "error" in document and said.status:
            raise error_documents.rebuild_error(document["error"])
        return CommandAnswer(said.status, document, notes=said.notes)

    async def run_text(self, *words: str, text: str = "") -> CommandAnswer:
        ended = await asyncio.to_thread(
            preloaded.run, words, input=text, capture_output=True, text=True, timeout=patience()
        )
        return CommandAnswer(ended.returncode, {}, ended.stdout, tuple(ended.stderr.splitlines()))

    async def events(self) -> AsyncIterator[JsonObject]:
        return
        yield {}

    async def close(self) -> None:
        pass


async def settled(pilot: Pilot[None]) -> None:
    """Wait until every command has ended and its answer is drawn."""
    for _ in range(2):
        await pilot.pause(0.05)
        await until(
            pilot, lambda: not any(each.is_running and each.group != "follow" for each in pilot.app.workers), "the end"
        )


async def press(pilot: Pilot[None], *keys: str) -> None:
    for each in keys:
        await pilot.press(each)
        await settled(pilot)


async def choose(pilot: Pilot[None], way: str) -> None:
    await press(pilot, *["down"] * list(WAYS).index(way), "enter")


async def fill(pilot: Pilot[None], name: str, text: str) -> None:
    pilot.app.screen.query_one(f"#{name}", Input).value = text
    await pilot.pause()


@pytest.fixture(autouse=True)
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSystemctl]:
    made = FakeSystemctl(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.path)
    yield made


@pytest.fixture
def workspace(isolated_home: Path) -> Path:
    return make_state_dir(isolated_home / ".openclaw").workspace


@driven
async def _protect(stick: Path) -> None:
    async with LifeboatApp(ShellLink(), DashboardOptions(screen="setup")).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await choose(pilot, "protect")
        await press(pilot, "enter")
        assert ". It is stored in: a file" in " ".join(text_of(pilot).split())
        await press(pilot, "ctrl+n", "w")
        words = re.findall(r"\d+\. ([a-z]+)", text_of(pilot))
        assert words == Context.open().keys().user_key().words()
        await press(pilot, "ctrl+n")
        for number, place in enumerate(re.findall(r"Word (\d+)", text_of(pilot))):
            await fill(pilot, f"answer-{number}", words[int(place) - 1])
        pilot.app.screen.query_one("#answer-2", Input).focus()
        await press(pilot, "enter")
        await fill(pilot, "address", str(stick))
        await press(pilot, "ctrl+n")
        assert "their times and their sizes can be read" in " ".join(text_of(pilot).split())
        await press(pilot, "ctrl+n", "ctrl+n")
        assert "Your agents are protected." in text_of(pilot)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, DashboardScreen)


def test_from_nothing_to_protected_by_keys_alone(workspace: Path, tmp_path: Path, systemctl: FakeSystemctl) -> None:
    _protect(tmp_path / "stick")
    document = run("setup")
    assert document["next"] is None and systemctl.has("enabled")
    assert {one["name"] for one in run("agents", "list")["agents"]} == {"Juniper", "Rover"}


@driven
async def _bring_back(stick: Path, words: list[str]) -> None:
    async with LifeboatApp(ShellLink(), DashboardOptions(screen="setup")).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await choose(pilot, "return")
        pilot.app.screen.query_one("#address", Input).value = str(stick)
        await press(pilot, "ctrl+n")
        pilot.app.screen.query_one("#words", Input).value = " ".join(words)
        await press(pilot, "ctrl+n")
        assert "Juniper" in text_of(pilot)
        await press(pilot, "enter")
        assert ".openclaw/workspace" in pilot.app.screen.query_one("#folder", Input).value
        await press(pilot, "ctrl+n")
        assert ", will be restored to" in text_of(pilot)
        await pilot.press("enter")
        await _take_over(pilot)
        await settled(pilot)
        assert "of Juniper was restored to" in text_of(pilot)


async def _take_over(pilot: Pilot[None]) -> None:
    """Confirm the take-over from a machine that wrote a moment ago by typing its name."""
    question = re.compile(r"Type\s+(\S+)\s+to continue")
    await until(pilot, lambda: question.search(text_of(pilot)), "the question")
    machine = question.search(text_of(pilot))
    assert machine is not None
    pilot.app.screen.query_one("#phrase", Input).value = machine[1]
    await pilot.pause()
    await pilot.click("#yes")


def test_an_agent_is_brought_back_by_keys_alone(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("agents", "add", workspace)
    run("remote", "add", "stick", (tmp_path / "stick").as_uri())
    run("sync")
    words, kept = Context.open().keys().user_key().words(), (workspace / "MEMORY.md").read_bytes()
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    for name, value in (("HOME", other), ("USERPROFILE", other), ("LIFEBOAT_HOME", other / "lifeboat")):
        monkeypatch.setenv(name, str(value))
    _bring_back(tmp_path / "stick", words)
    assert Path(os.environ["HOME"], ".openclaw/workspace/MEMORY.md").read_bytes() == kept
    assert [one["name"] for one in run("agents", "list")["agents"]] == ["Juniper"]
