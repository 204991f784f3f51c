"""A hook that lies in a settings file of the runtime: the file is changed in one place, keeps its mode, and a plan made
from other bytes changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lifeboat_adapters.contract import HookSupport, Installation
from lifeboat_adapters.folder.folder_adapter import FolderAdapter
from lifeboat_adapters.session_hook_plan import HookEdit, HookOrder, HookPlan, HookStep
from lifeboat_core.agents import session_hook_setup
from lifeboat_core.agents.agent import find_agent
from lifeboat_core.errors import HookFailed
from lifeboat_core.home.context import Context
from support.cli.cli_client import run

SETTINGS, WITH_HOOK = b'{"token": "obvious-fake-0123456789"}\n', b'{"token": "obvious-fake-0123456789", "hook": 1}\n'


@dataclass
class SettingsHook(HookSupport):
    """A hook that is one value of a settings file of the workspace."""

    steps: tuple[HookStep, ...] = ()
    stale: bool = False

    def install(self, installation: Installation, order: HookOrder) -> HookPlan:
        return self._plan(installation, WITH_HOOK)

    def remove(self, installation: Installation, order: HookOrder) -> HookPlan:
        return self._plan(installation, SETTINGS)

    def _plan(self, installation: Installation, wanted: bytes) -> HookPlan:
        path = installation.workspace / "settings.json"
        found = path.read_bytes()
        if found == wanted:
            return HookPlan()
        edit = HookEdit(b"{}" if self.stale else found, wanted, '"hook": 1')
        return HookPlan(edit={path: edit}, steps=self.steps)

    def problem(self, installation: Installation, order: HookOrder) -> str:
        return ""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "note.md").write_text("# Boat\n\nBoat 17 lies at the pier.\n")
    path = notes / "settings.json"
    path.write_bytes(SETTINGS)
    path.chmod(0o640)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "lifeboat"))
    run("agents", "add", notes, "--runtime", "markdown", "--name", "Notes")
    yield path


@pytest.fixture
def hook(settings: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsHook:
    made = SettingsHook()
    monkeypatch.setattr(FolderAdapter, "hook", made)
    return made


def test_a_settings_file_is_changed_and_changed_back_and_keeps_its_mode(settings: Path, hook: SettingsHook) -> None:
    assert run("agents", "hook", "Notes")["changed"] is True
    assert settings.read_bytes() == WITH_HOOK
    assert run("agents", "hook", "Notes", "--remove")["changed"] is True
    assert (settings.read_bytes(), settings.stat().st_mode & 0o777) == (SETTINGS, 0o640)


def test_only_the_changed_part_of_a_settings_file_is_shown(settings: Path, hook: SettingsHook) -> None:
    shown = run("agents", "hook", "Notes", "--show")
    assert (shown["edits"], shown["files"]) == ([{"path": str(settings), "content": '"hook": 1'}], [])
    assert settings.read_bytes() == SETTINGS


def test_a_plan_that_was_made_from_other_bytes_changes_nothing(settings: Path, hook: SettingsHook) -> None:
    hook.stale = True
    context = Context.open()
    with pytest.raises(HookFailed, match="changed in the meantime"):
        session_hook_setup.install_hook(context, find_agent(context, "Notes"))
    assert settings.read_bytes() == SETTINGS


def test_a_failed_command_leaves_the_settings_file_as_it_was(settings: Path, hook: SettingsHook) -> None:
    hook.steps = (HookStep(("/bin/false",)),)
    assert run("agents", "hook", "Notes", expect=1)["error"]["code"] == "hook_failed"
    assert settings.read_bytes() == SETTINGS
