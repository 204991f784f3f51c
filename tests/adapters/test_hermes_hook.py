"""The plugin of Hermes that reports the end of a session: its plan for each configuration, and what the plugin does."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import HookUnavailable
from lifeboat_adapters.hermes import ADAPTER
from lifeboat_adapters.hermes.hook import enabled_plugins, hook_planning
from lifeboat_adapters.hermes.hook.enabled_plugins import NotEditable
from lifeboat_adapters.session_hook_plan import HookOrder, HookPlan
from support.waiting import until

AGENT = "01990000-0000-7000-8000-000000000001"
MODEL = "# My settings\nmodel:\n  default: mock-1   # the model\n"
LISTED = f"{MODEL}plugins:\n  # mine\n  enabled:\n    - boat   # the boat\n  disabled: []\n"
CONFIGS = [
    "",
    MODEL,
    MODEL.rstrip("\n"),
    LISTED,
    f"{MODEL}plugins:\n  enabled: [boat, ferry]\nlast: 1\n",
    f"{MODEL}plugins:\n  enabled: []\nlast: 1\n",
    f"{MODEL}plugins:\n  disabled:\n  - ferry\nlast: 1\n",
    f"{MODEL}plugins:\n  enabled:\n  disabled: []\nlast: 1\n",
    f"{MODEL}plugins:\n  enabled:\n  - boat\n  entries:\n    boat:\n      hooks:\n      - lifeboat\n",
]


@pytest.mark.parametrize("text", CONFIGS)
def test_one_entry_is_added_and_removed_and_everything_else_stays(text: str) -> None:
    before = yaml.safe_load(text) or {}
    made, added = enabled_plugins.add_enabled_plugin(text, "lifeboat")
    values = yaml.safe_load(made)
    known = (before.get("plugins") or {}).get("enabled") or []
    assert sorted(values["plugins"]["enabled"]) == sorted([*known, "lifeboat"])
    assert {**before, "plugins": None} == {**values, "plugins": None}
    assert all(line in made for line in text.splitlines() if "#" in line)
    assert enabled_plugins.remove_enabled_plugin(made, "lifeboat", added) == (text, added)


def test_an_entry_in_a_text_that_hermes_wrote_again_is_removed_as_well() -> None:
    made, added = enabled_plugins.add_enabled_plugin(LISTED, "lifeboat")
    written = yaml.safe_dump(yaml.safe_load(made))
    left, shown = enabled_plugins.remove_enabled_plugin(written, "lifeboat", added)
    assert yaml.safe_load(left) == yaml.safe_load(LISTED)
    assert shown.strip() == "- lifeboat"


@pytest.mark.parametrize("behind", ["  - boat\n", "  entries:\n    boat: 1\n", "  disabled:\n  - ferry\n"])
@pytest.mark.parametrize("text", ["", MODEL])
def test_what_the_user_added_behind_the_entry_stays_where_it_was(text: str, behind: str) -> None:
    made, added = enabled_plugins.add_enabled_plugin(text, "lifeboat")
    values = yaml.safe_load(made + behind)
    left, _ = enabled_plugins.remove_enabled_plugin(made + behind, "lifeboat", added)
    values["plugins"]["enabled"].remove("lifeboat")
    found = yaml.safe_load(left)
    found["plugins"]["enabled"] = found["plugins"]["enabled"] or []
    assert found == values
    again, _ = enabled_plugins.add_enabled_plugin(left, "lifeboat")
    assert "lifeboat" in yaml.safe_load(again)["plugins"]["enabled"]


@pytest.mark.parametrize("text", ["plugins: {enabled: [boat]}\n", "plugins:\n  enabled: boat\n", "- 1\n", "a: [\n"])
def test_a_text_that_cannot_be_edited_in_one_place_is_refused(text: str) -> None:
    with pytest.raises(NotEditable):
        enabled_plugins.add_enabled_plugin(text, "lifeboat")


class Home:
    """A home of Hermes with a configuration."""

    def __init__(self, folder: Path, text: str | None = LISTED) -> None:
        self.path = folder / ".hermes"
        self.path.mkdir()
        (self.path / "SOUL.md").write_text("Be kind.\n")
        self.config = self.path / "config.yaml"
        if text is not None:
            self.config.write_text(text)
        self.program = folder / "lifeboat"
        self.program.write_text(f'#!/bin/sh\necho "$* ${{LIFEBOAT_HOME-usual}}" >> {folder}/told\n')
        self.program.chmod(0o755)
        self.installation = Installation("hermes", self.path, "default", "Hermes Agent")
        self.order = HookOrder(AGENT, (str(self.program),))
        self.folder = self.path / "plugins" / "lifeboat"

    def carry_out(self, plan: HookPlan) -> None:
        """Do what the core would do."""
        for path, data in plan.write.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for path, edit in plan.edit.items():
            assert (path.read_bytes() if path.exists() else None) == edit.before
            if edit.after is None:
                path.unlink()
            else:
                path.write_bytes(edit.after)
        for path in plan.remove:
            path.rmdir() if path.is_dir() else path.unlink()

    def install(self) -> None:
        self.carry_out(hook_planning.HermesHook().install(self.installation, self.order))

    def problem(self) -> str:
        return hook_planning.HermesHook().problem(self.installation, self.order)

    def tree(self) -> dict[str, bytes | None]:
        return {
            path.relative_to(self.path).as_posix(): path.read_bytes() if path.is_file() else None
            for path in self.path.rglob("*")
        }


@pytest.mark.parametrize("text", [None, MODEL, LISTED])
def test_the_plugin_comes_and_goes_without_a_trace(tmp_path: Path, text: str | None) -> None:
    home = Home(tmp_path, text)
    before = home.tree()
    home.install()
    assert home.problem() == ""
    assert hook_planning.HermesHook().install(home.installation, home.order).empty
    (home.folder / "__pycache__").mkdir()
    (home.folder / "__pycache__" / "__init__.cpython-311.pyc").write_bytes(b"code")
    home.carry_out(hook_planning.HermesHook().remove(home.installation, home.order))
    assert home.tree() == before
    assert hook_planning.HermesHook().remove(home.installation, home.order).empty


def test_an_empty_plugins_folder_of_the_user_stays(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (home.path / "plugins").mkdir()
    home.install()
    home.carry_out(hook_planning.HermesHook().remove(home.installation, home.order))
    assert (home.path / "plugins").is_dir()


def _disable(home: Home) -> None:
    home.config.write_text("plugins:\n  enabled:\n  - lifeboat\n  disabled:\n  - lifeboat\n")


PROBLEMS: dict[str, tuple[Callable[[Home], Any], str]] = {
    "no plugin": (lambda home: (home.folder / "lifeboat.json").unlink(), "no Lifeboat hook is installed"),
    "another text": (
        lambda home: (home.folder / "__init__.py").write_text("pass\n"),
        "another release of Lifeboat, or was changed",
    ),
    "no program": (lambda home: home.program.unlink(), "which no longer exists"),
    "not listed": (lambda home: home.config.write_text(MODEL), "not enabled in config.yaml"),
    "disabled": (_disable, "not enabled in config.yaml"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_each_reason_why_nothing_is_reported_is_found(tmp_path: Path, name: str) -> None:
    change, said = PROBLEMS[name]
    home = Home(tmp_path)
    home.install()
    change(home)
    assert said in home.problem()


def test_a_plugin_of_this_name_that_is_not_lifeboats_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.folder.mkdir(parents=True)
    (home.folder / "__init__.py").write_text("mine\n")
    with pytest.raises(HookUnavailable, match="Lifeboat did not write it"):
        home.install()
    assert hook_planning.HermesHook().remove(home.installation, home.order).empty


def test_a_plugin_that_the_user_disabled_is_not_enabled(tmp_path: Path) -> None:
    home = Home(tmp_path)
    _disable(home)
    with pytest.raises(HookUnavailable, match="the plugin lifeboat is disabled in"):
        home.install()


def test_a_configuration_that_is_not_yaml_is_refused_by_name(tmp_path: Path) -> None:
    home = Home(tmp_path, "a: [\n")
    with pytest.raises(HookUnavailable, match=r"config\.yaml: the file is not valid YAML"):
        home.install()


def test_the_plugin_is_not_captured() -> None:
    reason = ADAPTER.exclusion("raw/hermes/plugins/lifeboat", is_folder=True)
    assert (
        reason
        == "Lifeboat's own hook, which is not copied between machines. To install it on a machine: lifeboat agents hook"
    )
    assert ADAPTER.exclusion("raw/hermes/plugins/boat", is_folder=True) is None


class Plugins:
    """What Hermes gives a plugin."""

    def __init__(self) -> None:
        self.hooks: dict[str, Callable[..., None]] = {}

    def register_hook(self, name: str, hook: Callable[..., None]) -> None:
        self.hooks[name] = hook


def _load(home: Home) -> Plugins:
    spec = importlib.util.spec_from_file_location("hermes_plugin_lifeboat", home.folder / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plugins = Plugins()
    module.register(plugins)
    return plugins


def _told(home: Home) -> list[str]:
    told = home.program.with_name("told")
    return told.read_text().splitlines() if told.exists() else []


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path)
    made.install()
    source = made.folder / "__init__.py"
    source.write_text(source.read_text().replace("_QUIET_SECONDS = 5", "_QUIET_SECONDS = 1.5"))
    monkeypatch.setenv("LIFEBOAT_HOME", "/srv/another")
    return made


def test_sessions_that_end_together_cause_one_capture_in_the_background(home: Home) -> None:
    hooks = _load(home).hooks
    for _ in range(3):
        hooks["on_session_finalize"](session_id="1", reason="shutdown")
    assert _told(home) == []
    assert until(lambda: _told(home), "a capture") == [f"sync {AGENT} --unless-paused --background usual"]


def test_only_a_one_shot_run_reports_the_end_of_a_turn(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    note = home.folder / "lifeboat.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "home": "/srv/home of ada"}))
    started: list[Any] = []
    hooks = _load(home).hooks
    monkeypatch.setattr("subprocess.Popen", lambda *words, **_: started.append(words))
    monkeypatch.setattr(sys, "argv", ["hermes", "chat"])
    hooks["on_session_end"](completed=True)
    assert started == []
    monkeypatch.undo()
    monkeypatch.setattr(sys, "argv", ["hermes", "-z", "Good morning"])
    hooks["on_session_end"](completed=True)
    assert until(lambda: _told(home), "a capture") == [f"sync {AGENT} --unless-paused --background /srv/home of ada"]


def test_a_plugin_that_cannot_start_anything_is_silent(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    hooks = _load(home).hooks
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    hooks["on_session_finalize"]()
    assert _told(home) == []
