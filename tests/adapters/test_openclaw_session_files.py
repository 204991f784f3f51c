"""Transcripts stored as files: of 2026.2, not imported yet, or archived."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from backports import zstd

from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.openclaw import ADAPTER, openclaw_paths
from support.adapters import openclaw_workspaces as workspaces

FILES = openclaw_paths.SESSION_FILES


def sessions(made: workspaces.StateFolder) -> Path:
    folder = made.folder / "agents/main/sessions"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def rows(made: workspaces.StateFolder, agent: str = "main", *, transcripts: bool = True) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    installed = ADAPTER.locate(made.workspaces[agent], {}, made.folder.parent)
    for row in ADAPTER.databases.rows(installed, transcripts=transcripts):
        if row.path.startswith(FILES):
            found.setdefault(row.path.removeprefix(FILES), []).append(row.values)
    return found


@pytest.fixture
def old(tmp_path: Path) -> workspaces.StateFolder:
    made = workspaces.make_state_dir(tmp_path / ".openclaw", layout=workspaces.OLD)
    folder = sessions(made)
    (folder / "s-1.jsonl").write_text('{"type":"session","id":"s-1"}\n{"type":"message","text":"tide"}\nhalf a li')
    (folder / "sessions.json").write_text(json.dumps({"agent:main:main": {"sessionId": "s-1"}}))
    return made


def test_transcripts_of_february_are_read_on_request_line_by_line(old: workspaces.StateFolder) -> None:
    assert rows(old, transcripts=False) == {}
    assert rows(old) == {
        "s-1.jsonl": [{"type": "session", "id": "s-1"}, {"type": "message", "text": "tide"}, {"line": "half a li"}],
        "sessions.jsonl": [{"session_key": "agent:main:main", "entry": {"sessionId": "s-1"}}],
    }
    assert rows(old, "rover") == {}


def test_each_transcript_is_a_conversation_with_its_entry_and_the_newest_is_read_first(
    old: workspaces.StateFolder,
) -> None:
    for name, moment in (("s-0", 3), ("s-2", 1), ("s-1", 2)):
        path = sessions(old) / f"{name}.jsonl"
        path.write_text('{"type":"session"}\n')
        os.utime(path, (moment, moment))
    index = {"a": {"sessionId": "s-1"}, "b": {"sessionId": "s-0"}, "c": {"sessionId": "lost"}, "d": "broken"}
    (sessions(old) / "sessions.json").write_text(json.dumps(index))
    installed = ADAPTER.locate(old.workspace, {}, old.folder.parent)
    found = [row for row in ADAPTER.databases.rows(installed, transcripts=True) if row.conversation]
    assert [(row.conversation, row.path.removeprefix(FILES)) for row in found] == [
        *(("s-0", name) for name in ("sessions.jsonl", "s-0.jsonl")),
        *(("s-1", name) for name in ("sessions.jsonl", "s-1.jsonl")),
        ("s-2", "s-2.jsonl"),
        *((name, "sessions.jsonl") for name in ("lost", "d")),
    ]


def test_a_transcript_is_watched(old: workspaces.StateFolder) -> None:
    installed = ADAPTER.locate(old.workspace, {}, old.folder.parent)
    assert sessions(old) / "s-1.jsonl" in ADAPTER.databases.files(installed)


def test_a_transcript_in_cold_storage_is_unfolded(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    cold = sessions(made) / "cold/abc.jsonl.zst"
    cold.parent.mkdir()
    cold.write_bytes(zstd.compress(b'{"type":"message","text":"of last year"}\n'))
    assert rows(made) == {"cold/abc.jsonl": [{"type": "message", "text": "of last year"}]}
    cold.write_bytes(b"damaged")
    with pytest.raises(RuntimeDatabaseError, match=r"abc\.jsonl\.zst"):
        rows(made)


def test_an_index_that_is_half_written_is_an_error(old: workspaces.StateFolder) -> None:
    (sessions(old) / "sessions.json").write_text('{"agent:main')
    with pytest.raises(RuntimeDatabaseError, match=r"sessions\.json"):
        rows(old)


def test_transcripts_whose_folder_is_gone_are_no_deletion_and_one_that_was_deleted_is(
    old: workspaces.StateFolder, tmp_path: Path
) -> None:
    installed = ADAPTER.locate(old.workspace, {}, tmp_path)
    (sessions(old) / "s-1.jsonl").unlink()
    assert ADAPTER.databases.unreadable_rows(installed, f"{FILES}s-1.jsonl", b"") == ""
    (sessions(old) / "sessions.json").unlink()
    sessions(old).rmdir()
    assert "sessions does not exist" in ADAPTER.databases.unreadable_rows(installed, f"{FILES}s-1.jsonl", b"")
