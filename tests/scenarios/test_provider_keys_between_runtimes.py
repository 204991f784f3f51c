"""Keys of model providers that move with an agent from OpenClaw into a runtime that reads them from a `.env` file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from support.adapters import openclaw_workspaces
from support.adapters.profile_installs import make_nanobot, write_files
from support.cli.cli_client import run

OPENROUTER, GEMINI = "sk-or-v1-invented-0001", "AIza-invented-0002"
WEATHER = "weather-invented-0003"
MOVING = ("--adopt", "--yes")


@pytest.fixture
def agent(isolated_home: Path) -> str:
    """Return an agent of OpenClaw with two keys of providers and a key of a skill."""
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    (isolated_home / ".openclaw" / ".env").write_text(
        f"OPENROUTER_API_KEY={OPENROUTER}\nGEMINI_API_KEY={GEMINI}\nWEATHER_API_KEY={WEATHER}\n"
    )
    return str(run("agents", "add", state.workspace)["id"])


def _fates(report: JsonObject) -> dict[str, tuple[str, str | None]]:
    """Return outcome and reason of the three keys by the last word of their labels."""
    names = ("OPENROUTER_API_KEY", "GEMINI_API_KEY", "WEATHER_API_KEY")
    found = {fate["label"].rpartition(": ")[2]: fate for fate in report["credential_details"]}
    return {name: (found[name]["outcome"], found[name]["reason"]) for name in names}


def test_hermes_gets_the_keys_of_its_services_and_the_others_are_named(agent: str, isolated_home: Path) -> None:
    home = isolated_home / ".hermes"
    report = run("restore", agent, "--runtime", "hermes", "--to", home, "--with-credentials", *MOVING)
    lines = (home / ".env").read_text().splitlines()
    assert sorted(lines) == [f"GEMINI_API_KEY={GEMINI}", f"OPENROUTER_API_KEY={OPENROUTER}"]
    assert (home / ".env").stat().st_mode & 0o777 == 0o600
    assert _fates(report) == {
        "OPENROUTER_API_KEY": ("injected", None),
        "GEMINI_API_KEY": ("injected", None),
        "WEATHER_API_KEY": ("skipped", "hermes cannot store this credential"),
    }
    run("sync")
    sealed = [path for path in isolated_home.rglob("*") if path.is_file() and path.name != ".env"]
    kept = [path for path in sealed if OPENROUTER.encode() in path.read_bytes()]
    assert kept == [], "the key lies in a file in plain text"


def test_a_key_that_hermes_has_is_never_replaced(agent: str, isolated_home: Path) -> None:
    home = isolated_home / ".hermes"
    there = "# mine\nOPENROUTER_API_KEY=sk-or-mine\nEDITOR=nano"
    write_files(home, {".env": there, "config.yaml": "model: {}\n", "SOUL.md": "You are Ada.\n"})
    report = run("restore", agent, "--runtime", "hermes", "--to", home, "--with-credentials", *MOVING)
    assert (home / ".env").read_text() == f"{there}\nGEMINI_API_KEY={GEMINI}\n"
    fates = _fates(report)
    assert fates["GEMINI_API_KEY"] == ("injected", None)
    assert fates["OPENROUTER_API_KEY"][0] == "skipped"
    assert "was not replaced" in str(fates["OPENROUTER_API_KEY"][1])
    run("undo", agent)
    assert (home / ".env").read_text() == there


def test_no_key_is_written_unless_credentials_are_asked_for(agent: str, isolated_home: Path) -> None:
    home = isolated_home / ".hermes"
    run("restore", agent, "--runtime", "hermes", "--to", home, *MOVING)
    assert not (home / ".env").exists()


def test_keys_join_the_env_file_that_the_agent_had_among_its_own_files(isolated_home: Path) -> None:
    workspace = make_nanobot(isolated_home).workspace
    write_files(workspace, {".env": f"MAP_API_KEY={WEATHER}\n"})
    config = {"providers": {"openrouter": {"apiKey": OPENROUTER}, "anthropic": {"apiKey": ""}}}
    write_files(workspace.parent, {"config.json": json.dumps(config)})
    added = run("agents", "add", workspace, "--runtime", "nanobot")
    home = isolated_home / ".hermes"
    report = run("restore", added["id"], "--runtime", "hermes", "--to", home, "--with-credentials", *MOVING)
    assert (home / ".env").read_text() == f"MAP_API_KEY={WEATHER}\nOPENROUTER_API_KEY={OPENROUTER}\n"
    assert {fate["outcome"] for fate in report["credential_details"]} == {"injected"}


def test_a_restore_of_hermes_itself_adds_no_key_of_its_time_in_openclaw(agent: str, isolated_home: Path) -> None:
    home = isolated_home / ".hermes"
    run("restore", agent, "--runtime", "hermes", "--to", home, *MOVING)
    run("sync")
    copy = isolated_home / "copy"
    run("restore", agent, "--to", copy, "--with-credentials", "--yes")
    assert not (copy / ".env").exists()


def test_a_profile_that_names_variables_gets_the_keys_of_its_services(agent: str, isolated_home: Path) -> None:
    home = isolated_home / ".gemini"
    report = run("restore", agent, "--runtime", "gemini", "--to", home, "--with-credentials", *MOVING)
    assert (home / ".env").read_text() == f"GEMINI_API_KEY={GEMINI}\n"
    fates = _fates(report)
    assert fates["GEMINI_API_KEY"] == ("injected", None)
    assert fates["OPENROUTER_API_KEY"] == ("skipped", "gemini cannot store this credential")


def test_an_agent_without_a_persona_is_captured_after_its_move_to_openclaw(isolated_home: Path) -> None:
    home, there = isolated_home / ".hermes", isolated_home / "there" / "workspace"
    write_files(home, {"memories/MEMORY.md": "The boat lies at the pier.", "config.yaml": "model: {}\n"})
    added = run("agents", "add", home, "--runtime", "hermes")
    run("restore", added["id"], "--runtime", "openclaw", "--to", there, *MOVING)
    assert run("sync")["agents"][0]["outcome"] == "unchanged"
    note = there / "MEMORY.md"
    note.write_text(note.read_text() + "\n## Crew\n\nThe pilot answers on channel nine.\n")
    assert run("sync")["agents"][0]["outcome"] == "captured"
    note.unlink()
    assert run("sync", expect=1)["agents"][0]["outcome"] == "root_missing", "an emptied workspace counts as deleted"


def test_a_runtime_with_keys_in_json_gets_the_keys_of_its_services(agent: str, isolated_home: Path) -> None:
    home = isolated_home / ".config" / "opencode"
    there = (
        '{\n  // mine\n  "model": "google/x",\n  "provider": {"openrouter": {"options": {"apiKey": "sk-or-mine"}}}\n}\n'
    )
    write_files(home, {"opencode.json": there})
    report = run("restore", agent, "--runtime", "opencode", "--to", home, "--with-credentials", *MOVING)
    text = (home / "opencode.json").read_text()
    assert "// mine" in text and "sk-or-mine" in text and OPENROUTER not in text
    assert f'"google": {{"options": {{"apiKey": "{GEMINI}"}}}}' in " ".join(text.split())
    assert _fates(report) == {
        "OPENROUTER_API_KEY": ("skipped", "the credential already exists and was not replaced"),
        "GEMINI_API_KEY": ("injected", None),
        "WEATHER_API_KEY": ("skipped", "opencode cannot store this credential"),
    }
    run("sync")
    assert not [path for path in _kept_by_lifeboat(isolated_home) if GEMINI.encode() in path.read_bytes()]
    back = isolated_home / "back" / ".openclaw"
    run("restore", agent, "--runtime", "openclaw", "--to", back / "workspace", "--with-credentials", *MOVING)
    assert f"GEMINI_API_KEY={GEMINI}" in (back / ".env").read_text()


def _kept_by_lifeboat(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and "vault" in path.parts]


def test_a_runtime_with_keys_around_its_workspace_gets_them_there(agent: str, isolated_home: Path) -> None:
    home = isolated_home / ".nanobot"
    report = run("restore", agent, "--runtime", "nanobot", "--to", home / "workspace", "--with-credentials", *MOVING)
    keys = {"openrouter": {"apiKey": OPENROUTER}, "gemini": {"apiKey": GEMINI}}
    assert json.loads((home / "config.json").read_text()) == {"providers": keys}
    assert (home / "config.json").stat().st_mode & 0o777 == 0o600
    assert _fates(report)["OPENROUTER_API_KEY"] == _fates(report)["GEMINI_API_KEY"] == ("injected", None)


def test_codex_gets_the_key_of_openai_and_keeps_its_login(isolated_home: Path) -> None:
    home = isolated_home / ".codex"
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    (state.workspace.parent / ".env").write_text(f"OPENAI_API_KEY={OPENROUTER}\n")
    login = {"auth_mode": "chatgpt", "tokens": {"access_token": "invented"}, "OPENAI_API_KEY": None}
    write_files(home, {"auth.json": json.dumps(login), "AGENTS.md": "Steer.\n"})
    added = run("agents", "add", state.workspace)["id"]
    run("restore", added, "--runtime", "codex", "--to", home, "--with-credentials", *MOVING)
    assert json.loads((home / "auth.json").read_text()) == {**login, "OPENAI_API_KEY": OPENROUTER}


@pytest.mark.parametrize("runtime", ["markdown", "obsidian", "picoclaw", "goose", "claude-code", "nanobot", "opencode"])
def test_every_credential_without_a_place_is_named_with_its_reason(
    agent: str, isolated_home: Path, runtime: str
) -> None:
    there = isolated_home / "there" / "workspace"
    report = run("restore", agent, "--runtime", runtime, "--to", there, "--with-credentials", *MOVING)
    fates = report["credential_details"]
    assert len({fate["label"] for fate in fates}) == len(fates) >= 3
    assert all(fate["reason"] for fate in fates if fate["outcome"] != "injected")
    why = str(_fates(report)["WEATHER_API_KEY"][1])
    assert why == f"{runtime} cannot store this credential" or (runtime == "nanobot" and "--state-dir" in why)
