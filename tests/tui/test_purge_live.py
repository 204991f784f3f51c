"""The purge wizard with a real home, daemon and remote: complete purges by keys, and processes killed on the way."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Button

from lifeboat_core.agents import manage_agents
from lifeboat_core.home.context import Context
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_tui.link import LinkStage
from lifeboat_tui.screens.purge.purge_wizard import PROOF, PurgeWizard
from support.adapters.openclaw_workspaces import make_workspace
from support.cli.cli_client import run
from support.core.invariants import always, what_was_purged_is_gone
from support.core.machines import Machine
from support.core.purged import SCANNER, TEXT
from support.daemon.serving import Daemon, serving
from support.endpoint.endpoint_servers import running_endpoint
from support.tui.live import live, shows
from support.tui.pilots import notes, text_of, until
from support.tui.purging import fill

pytestmark = pytest.mark.anyio


@pytest.fixture
def stick(tmp_path: Path) -> Path:
    """Return a remote in a directory that also holds the text, which ada has learned."""
    workspace, stick = tmp_path / "workspace", tmp_path / "stick"
    make_workspace(workspace)
    run("agents", "add", workspace, "--name", "ada")
    stick.mkdir()
    run("remote", "add", "stick", stick.as_uri())
    memory = workspace / "MEMORY.md"
    for day in range(2):
        memory.write_text(f"{memory.read_text()}\n## Day {day}\n\n{TEXT} It is day {day}.\n")
        run("sync")
    return stick


def wizard(pilot: Pilot[None]) -> PurgeWizard:
    found = pilot.app.screen
    assert isinstance(found, PurgeWizard)
    return found


def nothing_shows(pilot: Pilot[None]) -> None:
    """Check that the text is neither on the screen nor in a notification nor in the clipboard."""
    seen = pilot.app.export_screenshot() + text_of(pilot) + " ".join(notes(pilot)) + pilot.app.clipboard
    assert SCANNER.text(seen, "the screen") == []


async def look(pilot: Pilot[None]) -> None:
    """Carry out the first step up to the preview."""
    await until(
        pilot, lambda: isinstance(pilot.app.screen, PurgeWizard) and wizard(pilot).lifeboat.status, "the wizard"
    )
    await fill(pilot, "text", TEXT)
    nothing_shows(pilot)
    await pilot.press("enter")
    await shows(pilot, "will be purged")
    nothing_shows(pilot)


async def say_the_words(pilot: Pilot[None]) -> None:
    await pilot.press("ctrl+n")
    await shows(pilot, "Type  purge ")
    await fill(pilot, "phrase", f"purge {wizard(pilot)._plan.versions}")  # type: ignore[union-attr]
    nothing_shows(pilot)
    wizard(pilot).query_one("#go", Button).focus()
    await pilot.press("D")


async def ends(pilot: Pilot[None]) -> str:
    """Wait until the last step has finished, and return its text."""
    await until(pilot, lambda: wizard(pilot)._step == PROOF and not wizard(pilot).is_at_work, "the end")
    await until(
        pilot, lambda: not [each for each in pilot.app.workers if each.group in ("purge", "look-into")], "its workers"
    )
    nothing_shows(pilot)
    return str(wizard(pilot).query_one("#proof-text").render())


def is_gone(stick: Path) -> None:
    context = Context.open()
    (agent,) = manage_agents.list_agents(context)
    what_was_purged_is_gone(context, agent, SCANNER, stick)
    always(context, agent)


async def test_a_whole_purge_by_keys_leaves_nothing_of_it_anywhere(stick: Path, tmp_path: Path) -> None:
    with serving(Context.open()):
        async with live(screen="purge", agent="ada") as pilot:
            await look(pilot)
            await pilot.press("w")
            await shows(pilot, "The text is also removed from these files")
            await say_the_words(pilot)
            said = await ends(pilot)
            assert "Purged:" in said and "0 matches" in said and "stick: done" in said and "receipt is valid" in said
            assert "Removed from the workspace: MEMORY.md" in said
            assert wizard(pilot)._text == ""
    is_gone(stick)
    assert SCANNER.folders(tmp_path / "workspace") == []
    assert (
        SCANNER.text((tmp_path / "daemon.out").read_text() if (tmp_path / "daemon.out").exists() else "", "log") == []
    )
    assert run("receipts", "list")["receipts"][0]["done"] is True


async def test_a_daemon_that_is_killed_in_the_preview_and_in_the_purge_changes_nothing(stick: Path) -> None:
    daemon = Daemon(Context.open()).start()
    try:
        async with live(screen="purge", agent="ada") as pilot:
            await until(pilot, lambda: wizard(pilot).link.connection.stage is LinkStage.UP, "the connection")
            await look(pilot)
            daemon.kill()
            await shows(pilot, "The daemon is not running")
            daemon = Daemon(Context.open()).start()
            await until(pilot, lambda: wizard(pilot).link.connection.stage is LinkStage.UP, "the connection")
            await say_the_words(pilot)
            daemon.kill()
            said = await ends(pilot)
            assert "Purged:" in said and "stick: done" in said
    finally:
        daemon.kill()
    is_gone(stick)


async def test_commands_that_are_killed_in_the_purge_are_told_of_honestly(stick: Path) -> None:
    async with live(screen="purge", agent="ada") as pilot:
        await look(pilot)
        server = wizard(pilot).link._commands._starting.result()  # type: ignore[attr-defined]
        await say_the_words(pilot)
        await until(pilot, lambda: wizard(pilot).is_at_work or wizard(pilot)._receipt, "the beginning")
        os.kill(server.pid, signal.SIGKILL)
        said = await ends(pilot)
        told = [each for each in ("Purged:", "now complete on this machine", "may still be running") if each in said]
        assert len(told) == 1, said
        gone = bool(run("receipts", "list")["receipts"])
        assert gone or told == ["may still be running"]
    if gone:
        run("sync")  # the remote is told now about the purge that was cut off before
        is_gone(stick)


async def test_a_purge_that_is_stopped_is_all_or_nothing_and_says_which(stick: Path) -> None:
    async with live(screen="purge", agent="ada") as pilot:
        await look(pilot)
        await say_the_words(pilot)
        await until(pilot, lambda: wizard(pilot).is_at_work or wizard(pilot)._receipt, "the beginning")
        await pilot.press("c")
        said = await ends(pilot)
        gone = bool(run("receipts", "list")["receipts"])
        assert not gone or "stick: " in said, said
        assert ("Nothing was purged" in said) is not gone, said
    if gone:
        run("sync")  # the remote is told now about the purge that was cut off before
        is_gone(stick)


async def test_at_an_endpoint_it_happens_at_once_with_the_second_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_endpoint(tmp_path / "served") as endpoint:
        ada = Machine(tmp_path / "machine")
        ada.add(name="ada")
        ada.write("MEMORY.md", f"# Memory\n\n## Passport\n\n{TEXT}\n")
        ada.add_remote("boat", endpoint.url, token=endpoint.token, pin=endpoint.pin)
        ada.capture_and_push("boat")
        with contextlib.closing(Endpoint.open(endpoint.data)) as data:
            tenant = data.control.tenants()[0]
            token = data.control.add_token(tenant.id, "owner", frozenset({"purge"}), None)[1]
        monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "machine/home"))
        async with live(screen="purge", agent="ada") as pilot:
            await look(pilot)
            await shows(
                pilot,
                "Remote boat: the purge is applied after 24 hours, or immediately with the endpoint's token",
            )
            await pilot.press("ctrl+n")
            await shows(pilot, "The endpoint boat")
            await fill(pilot, "token-0", token)
            await fill(pilot, "phrase", f"purge {wizard(pilot)._plan.versions}")  # type: ignore[union-attr]
            wizard(pilot).query_one("#go", Button).focus()
            await pilot.press("D")
            said = await ends(pilot)
            assert "boat: done" in said and "boat: waiting" not in said
            assert token not in pilot.app.export_screenshot() + said
        assert all(token.encode() not in file.read_bytes() for file in files_below(tmp_path / "machine/home"))


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
