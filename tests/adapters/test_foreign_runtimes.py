"""Homes of runtimes without an adapter are refused by name. They are laid out as their releases make them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.errors import AdapterError, NotAWorkspace
from support.adapters import openclaw_workspaces as workspaces
from support.alf.raising import raises_code

_HERMES_AUTH = json.dumps({"version": 1, "credential_pool": {"openrouter": []}})
_NANOBOT_CONFIG = json.dumps({"agents": {"defaults": {"botName": "nanobot"}}, "providers": {}})
_PERSONA = ("SOUL.md", "AGENTS.md", "USER.md", "HEARTBEAT.md", "memory/MEMORY.md")

HOMES: dict[str, tuple[str, str, Mapping[str, str]]] = {
    "Hermes Agent after a turn": (
        "Hermes Agent",
        "data",
        {"SOUL.md": "x", "memories/MEMORY.md": "one", "state.db": "", "config.yaml": "", "auth.json": _HERMES_AUTH},
    ),
    "Hermes Agent before its first turn": (
        "Hermes Agent",
        "data",
        {"SOUL.md": "x", "pairing/x": "", "sandboxes/x": "", "audio_cache/x": "", "memory/a.md": ""},
    ),
    "Hermes Agent with a login alone": ("Hermes Agent", "data", {"SOUL.md": "x", "auth.json": _HERMES_AUTH}),
    "Hermes Agent, a profile": ("Hermes Agent", ".hermes/profiles/rover", {"SOUL.md": "x", "memory/a.md": ""}),
    "Hermes Agent by its folder": ("Hermes Agent", ".hermes", {"SOUL.md": "x", "USER.md": "x"}),
    "nanobot": ("nanobot", "bot/workspace", {**dict.fromkeys(_PERSONA, "x"), "../config.json": _NANOBOT_CONFIG}),
    "nanobot, moved": ("nanobot", "data", {**dict.fromkeys(_PERSONA, "x"), "memory/history.jsonl": "{}"}),
    "PicoClaw": ("PicoClaw", ".picoclaw/workspace", dict.fromkeys(_PERSONA, "x")),
    "PicoClaw, moved": ("PicoClaw", "data", {**dict.fromkeys(_PERSONA, "x"), "memory/202611/20261124.md": "x"}),
    "nanobot or PicoClaw": (
        "nanobot or PicoClaw",
        "bot/workspace",
        {**dict.fromkeys(_PERSONA, "x"), "../config.json": '{"agents": {"defaults": {}}}'},
    ),
    "Codex CLI": ("Codex CLI", "codex", {"AGENTS.md": "x", "state_5.sqlite": "", "memories/MEMORY.md": "x"}),
    "Codex CLI with a login alone": ("Codex CLI", "codex", {"AGENTS.md": "x", "auth.json": '{"OPENAI_API_KEY": "x"}'}),
    "Claude Code": ("Claude Code", ".claude", {"CLAUDE.md": "x", "MEMORY.md": "x", "USER.md": "x"}),
    "Gemini CLI": ("Gemini CLI", ".gemini", {"GEMINI.md": "x", "MEMORY.md": "x", "USER.md": "x"}),
    "opencode": ("opencode", "opencode", {"AGENTS.md": "x", "USER.md": "x"}),
}


def _make(folder: Path, files: Mapping[str, str]) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


DESCRIBED = {
    "Codex CLI": "codex",
    "Hermes Agent": "hermes",
    "nanobot": "nanobot",
    "PicoClaw": "picoclaw",
    "Gemini CLI": "gemini",
    "opencode": "opencode",
    "Claude Code": "claude-code",
}
"""The runtimes among them that a shipped profile describes."""


@pytest.mark.parametrize("home", [home for home, (title, _, _) in HOMES.items() if title in DESCRIBED])
def test_the_home_of_a_described_runtime_is_recognised(tmp_path: Path, home: str) -> None:
    title, name, files = HOMES[home]
    folder = _make(tmp_path / name, files)
    assert adapter_registry.recognise_workspace(folder).runtime == DESCRIBED[title]


def test_a_home_that_two_runtimes_could_have_made_is_taken_when_one_is_named(tmp_path: Path) -> None:
    _, name, files = HOMES["nanobot or PicoClaw"]
    folder = _make(tmp_path / name, files)
    with pytest.raises(NotAWorkspace) as raised:
        adapter_registry.recognise_workspace(folder)
    assert raised.value.fix == f"lifeboat agents add --runtime nanobot {folder}"
    for runtime in ("nanobot", "picoclaw"):
        assert adapter_registry.load_adapter(runtime).locate(folder, {}, tmp_path / "user").runtime == runtime


@pytest.mark.parametrize("home", [home for home, (title, _, _) in HOMES.items() if title not in DESCRIBED])
def test_the_home_of_another_runtime_is_refused_by_name(tmp_path: Path, home: str) -> None:
    runtime, name, files = HOMES[home]
    folder = _make(tmp_path / name, files)
    with pytest.raises(NotAWorkspace, match=rf"belongs to the runtime {runtime} \("):
        adapter_registry.recognise_workspace(folder)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("runtime", ["openclaw", "zeroclaw"])
def test_naming_a_runtime_does_not_make_it_that_runtimes(tmp_path: Path, home: str, runtime: str) -> None:
    _, name, files = HOMES[home]
    folder = _make(tmp_path / name, files)
    with pytest.raises(AdapterError) as raised:
        adapter_registry.load_adapter(runtime).locate(folder, {}, tmp_path / "user")
    assert isinstance(raised.value, NotAWorkspace)


def test_a_workspace_that_openclaw_names_is_its_own_whatever_else_lies_in_it(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    _make(made.workspace / "memories", {"MEMORY.md": "x"})
    (made.workspace / "auth.json").write_text(_HERMES_AUTH)
    assert adapter_registry.recognise_workspace(made.workspace).runtime == "openclaw"
    assert adapter_registry.load_adapter("openclaw").locate(made.workspace, {}, tmp_path).state_dir == made.folder


def test_a_mark_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    folder = _make(tmp_path / "data", {"SOUL.md": "x", "USER.md": "x", "auth.json": "{" * 100_000})
    assert adapter_registry.recognise_workspace(folder).runtime == "openclaw"


def test_the_refusal_has_a_code(tmp_path: Path) -> None:
    folder = _make(tmp_path / ".letta", {"SOUL.md": "x", "USER.md": "x"})
    with raises_code(NotAWorkspace.FOREIGN) as raised:
        adapter_registry.recognise_workspace(folder)
    assert raised.value.code == "foreign_workspace"
