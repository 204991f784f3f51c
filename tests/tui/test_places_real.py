"""Keys, remotes and settings against real commands of the command server, without a daemon."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from lifeboat_core.home.context import Context
from lifeboat_daemon.control.command_runner import CommandRunner
from lifeboat_daemon.control.home_access import HomeAccess
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores.store_kinds import StoreKind
from lifeboat_tui.dashboard_app import DashboardOptions, LifeboatApp
from lifeboat_tui.link.live_link import LiveLink
from lifeboat_tui.screens.keys.keys_screen import KeysScreen
from lifeboat_tui.screens.keys.recovery_words_dialogs import ProveWordsDialog, RecoveryWordsScreen
from lifeboat_tui.screens.remotes.remotes_screen import RemotesScreen
from lifeboat_tui.screens.settings_screen import SettingsScreen
from lifeboat_tui.widgets.command_progress import OutcomeScreen
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog, ConfirmDialog, TextDialog
from support.tui.pilots import notes, text_of, until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the command server starts too slowly"),
]
PASSPHRASE = "a boat under the bridge"


@contextlib.asynccontextmanager
async def live(screen: str) -> AsyncIterator[Pilot[None]]:
    """Run the dashboard for the home of the environment."""
    app = LifeboatApp(LiveLink(HomeAccess(), CommandRunner(os.environ)), DashboardOptions(screen=screen))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        yield pilot


async def answer(pilot: Pilot[None], kind: type, **fields: str) -> None:
    """Wait for a dialog, fill it in, and press its button."""
    await until(pilot, lambda: isinstance(pilot.app.screen, kind))
    dialog = pilot.app.screen
    for field, text in fields.items():
        dialog.query_one(f"#{field}", Input).value = text
    await pilot.pause()
    dialog.query_one("#yes", Button).press()
    await until(pilot, lambda: pilot.app.screen is not dialog)


@pytest.fixture
def wrapped(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """Return a home whose key is wrapped with a passphrase."""
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", PASSPHRASE)
    Context.open().keys().ensure(StoreKind.PASSPHRASE)
    monkeypatch.delenv("LIFEBOAT_PASSPHRASE")
    return Context.open()


async def test_the_words_of_a_locked_key_are_seen_proven_and_replaced(
    wrapped: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with live("keys") as pilot:
        await until(pilot, lambda: "your key" in text_of(pilot))
        await pilot.press("w")
        await answer(pilot, ConfirmDialog, phrase="reveal")
        await answer(pilot, TextDialog, answer=PASSPHRASE)
        await until(pilot, lambda: isinstance(pilot.app.screen, RecoveryWordsScreen))
        words = pilot.app.screen._words.copy()  # type: ignore[attr-defined]
        assert UserKey.from_words(" ".join(words)).key_id == wrapped.keys().public.key_id
        await pilot.press("x")
        await until(pilot, lambda: isinstance(pilot.app.screen, KeysScreen))
        await pilot.press("p")
        await answer(pilot, TextDialog, answer=PASSPHRASE)  # the screen locked the key again
        await until(pilot, lambda: isinstance(pilot.app.screen, ProveWordsDialog))
        places = pilot.app.screen.places  # type: ignore[attr-defined]
        await answer(pilot, ProveWordsDialog, **{f"word-{place}": words[place - 1] for place in places})
        await until(
            pilot, lambda: "The words that you typed are correct: you have the words of your key." in notes(pilot)
        )
        await pilot.press("o")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
        await pilot.press("enter")
        await answer(pilot, TextDialog, answer=str(tmp_path / "words"))
        await until(pilot, lambda: "passphrase" in text_of(pilot))
        await answer(pilot, TextDialog, answer=PASSPHRASE)
        await answer(pilot, ConfirmDialog, phrase="replace the key")
        await until(pilot, lambda: isinstance(pilot.app.screen, OutcomeScreen))
    new = UserKey.from_words((tmp_path / "words").read_text())
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", PASSPHRASE)
    assert Context.open().keys().user_key().key_id == new.key_id


async def test_a_folder_is_looked_at_added_tried_out_and_removed(isolated_home: Path, tmp_path: Path) -> None:
    (tmp_path / "stick").mkdir()
    Context.open().keys().ensure(StoreKind.FILE)
    async with live("remotes") as pilot:
        await until(pilot, lambda: "If this disk fails, your agents are lost." in text_of(pilot))
        await pilot.press("a")
        await pilot.pause()
        form = pilot.app.screen
        form.query_one("#name", Input).value = "stick"
        form.query_one("#address", Input).value = str(tmp_path / "stick")
        await pilot.press("enter")
        await until(pilot, lambda: "folder is encrypted." in text_of(pilot) and isinstance(pilot.app.focused, Button))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, RemotesScreen) and "● ok" in text_of(pilot))
        await pilot.press("t")
        await until(pilot, lambda: "stick passed" in text_of(pilot))
        await pilot.press("escape", "x")
        await answer(pilot, ConfirmDialog, phrase="stick")
        await until(pilot, lambda: "If this disk fails, your agents are lost." in text_of(pilot))


async def test_a_setting_is_tried_out_kept_and_taken_back(isolated_home: Path) -> None:
    async with live("settings") as pilot:
        await until(pilot, lambda: "cadence" in text_of(pilot))
        screen = pilot.app.screen
        assert isinstance(screen, SettingsScreen) and screen.table.select("retention.daily")
        await pilot.press("e")
        await answer(pilot, TextDialog, answer="soon")
        await until(pilot, lambda: "The value is not valid" in text_of(pilot))
        await answer(pilot, TextDialog, answer="60d")
        await until(pilot, lambda: "60d" in text_of(pilot))
        assert Context.open().config().get("retention.daily", None).written == "60d"
        await until(pilot, lambda: screen.why_not("default") is None)
        await pilot.press("x")
        await until(pilot, lambda: screen.why_not("default") is not None)
        assert Context.open().config().get("retention.daily", None).written == "90d"
