"""Agents of folder profiles as a user has them: protected, captured, lost, brought back, moved to another runtime."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.adapters import openclaw_workspaces
from support.adapters.profile_installs import INSTALLS, KEY, PEBBLE, make_pebble
from support.adapters.zeroclaw_made import make_zeroclaw
from support.cli.cli_client import run

_OF_HERMES = ("cron/jobs.json", "logs/", "memories/MEMORY.md.lock", "state.db")
"""Jobs and sessions are captured on request only."""

_OF_CLAUDE_CODE = (".last-cleanup", "backups/", "projects/-srv-ada-boats/0123.jsonl")
"""Transcripts are captured on request only."""


_OF_GEMINI = ("tmp/project/chats/", "tmp/project/.project_root")
"""Sessions, and a file that the program makes again."""

_OF_CODEX = ("sessions/", "installation_id", "skills/.system/")
"""State of the machine, and what comes with the program."""


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _contains(folder: Path, secret: str) -> list[str]:
    return [name for name, data in _files(folder).items() if secret.encode() in data]


@pytest.mark.parametrize("name", INSTALLS)
def test_an_agent_of_a_profile_comes_back_byte_for_byte_with_its_credentials(isolated_home: Path, name: str) -> None:
    made = INSTALLS[name](isolated_home)
    added = run("agents", "add", made.workspace, "--runtime", name)
    assert _contains(isolated_home / ".local", KEY) == [], "a credential lies in the vault in clear"
    before = _files(made.workspace)
    around = {path: path.read_bytes() for path in made.workspace.parent.iterdir() if path.is_file()}
    shutil.rmtree(made.workspace)
    for path in around:
        path.unlink()
    words = ("--to", made.workspace, "--with-credentials", "--adopt", "--yes")
    state = ("--state-dir", made.workspace.parent) if name in ("nanobot", "picoclaw") else ()
    run("restore", added["id"], *words, *state)
    left_out = (".trash/", ".obsidian/workspace.json", *_OF_GEMINI, *_OF_HERMES, *_OF_CODEX, *_OF_CLAUDE_CODE)
    assert _files(made.workspace) == {file: data for file, data in before.items() if not file.startswith(left_out)}
    captured = {path: data for path, data in around.items() if path.name == "config.json"}
    assert {path: path.read_bytes() for path in captured} == captured
    assert run("sync")["agents"][0]["sequence"] == 0, "the restored agent differs from the captured one"


def test_each_agent_is_named_correctly_on_a_machine_that_has_all_runtimes(isolated_home: Path) -> None:
    homes = {name: make(isolated_home).workspace for name, make in INSTALLS.items() if name != "markdown"}
    homes["openclaw"] = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw").workspace
    homes["zeroclaw"] = make_zeroclaw(isolated_home, "0.8.3").workspace
    found = {(each["runtime"], Path(each["workspace"])) for each in run("agents", "discover")["found"]}
    assert homes.items() <= found
    assert {runtime for runtime, _ in found} == homes.keys()
    assert {runtime for runtime, workspace in found if workspace not in homes.values()} <= {"openclaw"}


def test_a_profile_written_from_the_page_works_as_a_runtime(isolated_home: Path, tmp_path: Path) -> None:
    workspace = make_pebble(isolated_home)
    assert len(PEBBLE.splitlines()) < 60
    (tmp_path / "pebble.toml").write_text(PEBBLE)
    tried = run("profiles", "test", tmp_path / "pebble.toml", workspace)
    assert tried["recognised"] and tried["problems"] == []
    profiles = _home(isolated_home) / "profiles"
    profiles.mkdir()
    shutil.copy(tmp_path / "pebble.toml", profiles)
    assert [each["runtime"] for each in run("agents", "discover")["found"]] == ["pebble"]
    added = run("agents", "add", workspace)
    records = run("records", "list", added["id"])["records"]
    assert sorted(each["snippet"] for each in records) == ["Likes green tea.", "The red boat lies in the harbour."]
    assert _contains(isolated_home / ".local", KEY) == []
    config = workspace.parent / "pebble.yaml"
    config.write_text(config.read_text().replace("last_start: 1", "last_start: 2"))
    assert run("sync")["agents"][0]["sequence"] == 0, "a volatile value made a sequence"


def _home(user_home: Path) -> Path:
    [vaults] = user_home.rglob("vault")
    return vaults.parent


@pytest.mark.parametrize("runtime", INSTALLS)
def test_an_agent_moves_to_a_profile_and_back_and_is_the_same(isolated_home: Path, runtime: str) -> None:
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    added = run("agents", "add", state.workspace)
    run("restore", added["id"], "--to", isolated_home / "copy", "--yes")
    before = _files(isolated_home / "copy")
    memories = _memories(added["id"])
    there = isolated_home / "there" / "workspace"
    run("restore", added["id"], "--runtime", runtime, "--to", there, "--adopt", "--yes")
    run("sync")
    assert memories <= _memories(added["id"]), "a memory was lost on the way"
    back = isolated_home / "back" / "workspace"
    report = run("restore", added["id"], "--runtime", "openclaw", "--to", back, "--adopt", "--yes")
    found = _files(back)
    differing = {file for file in before if found.get(file) != before[file]}
    assert differing <= _NOTES_IN_A_FOLDER_OF_NOTES
    omitted = {name for fate in report["fates"] if fate["outcome"] == "omitted" for name in fate["names"]}
    assert not differing or f"raw/{runtime}/{_NOTE}" in omitted


_NOTE = "reports/lighthouse offer.md"
_NOTES_IN_A_FOLDER_OF_NOTES = {_NOTE, "reports/latest.md"}
"""A file of OpenClaw that is a note, and so a memory, in a folder of notes; and a link to it."""


def _memories(agent: str) -> set[str]:
    return {each["snippet"] for each in run("records", "list", agent)["records"]}


def test_a_database_in_use_is_captured_with_what_lies_in_its_log(isolated_home: Path) -> None:
    made = INSTALLS["codex"](isolated_home)
    with closing(sqlite3.connect(made.workspace / "goals_1.sqlite")) as connection:
        connection.execute("pragma journal_mode=wal")
        connection.execute("insert into thread_goals values ('t2', 'Find the anchor.')")
        connection.commit()
        added = run("agents", "add", made.workspace)
    there = isolated_home / "copy"
    run("restore", added["id"], "--to", there, "--yes", "--with-credentials")
    with closing(sqlite3.connect(there / "goals_1.sqlite")) as copy:
        assert copy.execute("select objective from thread_goals order by 1").fetchall() == [
            ("Find the anchor.",),
            ("Paint the boat.",),
        ]
