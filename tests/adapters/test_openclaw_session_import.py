"""Sessions of an archive as files that OpenClaw imports when it repairs itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.openclaw import ADAPTER, openclaw_paths
from lifeboat_adapters.openclaw.restore.session_import import EVENTS, NODES, WINDOWS
from support.adapters import openclaw_workspaces as workspaces

Json = dict[str, object]


def lines(*rows: Json) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


TABLES = {
    NODES: lines({"session_key": "agent:main:main", "entry_json": json.dumps({"sessionId": "s-1", "updatedAt": 5})}),
    WINDOWS: lines({"session_id": "s-1"}),
    EVENTS: lines(
        {"session_id": "s-1", "seq": 10, "event_json": '{"text":"second"}'},
        {"session_id": "s-1", "seq": 9, "event_json": '{"text":"first"}'},
        {"session_id": "../../evil", "seq": 1, "event_json": "{}"},
        {"session_id": "s-1", "seq": 11, "event_zstd": {"base64": "KLUv/QA="}},
    ),
}


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    state = tmp_path / "state"
    return Installation(
        *("openclaw", tmp_path / "ws", "main", "Ada"),
        state_dir=state,
        layout="2026.9",
        program=Path("/invented/openclaw"),
    )


def test_each_session_is_a_file_with_its_events_in_order_beside_an_index(here: Installation) -> None:
    (delivery,) = ADAPTER.databases.session_deliveries(here, TABLES)
    assert delivery.command == ("/invented/openclaw", "doctor", "--fix", "--non-interactive")
    assert delivery.environment == {"OPENCLAW_STATE_DIR": str(here.state_dir)}
    folder = Path(str(here.state_dir)) / "agents/main/sessions"
    assert {path.relative_to(folder).as_posix(): data for path, data in delivery.files} == {
        "s-1.jsonl": b'{"text":"first"}\n{"text":"second"}\n',
        "sessions.json": json.dumps({"agent:main:main": {"sessionId": "s-1", "updatedAt": 5}}).encode(),
    }
    assert set(delivery.places.values()) == {"s-1"}


def test_transcripts_of_february_are_taken_over_as_they_were(here: Installation) -> None:
    tables = {
        f"{openclaw_paths.SESSION_FILES}s-2.jsonl": lines({"type": "session"}, {"line": "half a li"}),
        f"{openclaw_paths.SESSION_FILES}sessions.jsonl": lines({"session_key": "k", "entry": {"sessionId": "s-2"}}),
        f"{openclaw_paths.SESSION_FILES}cold/abc.jsonl": lines({"type": "session"}),
    }
    (delivery,) = ADAPTER.databases.session_deliveries(here, tables)
    assert {path.name: data for path, data in delivery.files} == {
        "s-2.jsonl": b'{"type": "session"}\nhalf a li\n',
        "sessions.json": b'{"k": {"sessionId": "s-2"}}',
    }


def test_sessions_that_are_there_are_not_taken_over_again(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    installed = ADAPTER.locate(made.workspace, {}, tmp_path)
    there = lines({"session_id": "session-1", "seq": 1, "event_json": "{}"})
    assert ADAPTER.databases.session_deliveries(installed, {EVENTS: there}) == []


def test_without_the_program_and_in_an_older_release_the_reason_is_said(here: Installation) -> None:
    (without,) = ADAPTER.databases.session_deliveries(replace(here, program=None), TABLES)
    (older,) = ADAPTER.databases.session_deliveries(replace(here, layout="2026.2"), TABLES)
    assert "not on PATH" in str(without.reason) and "no command" in str(older.reason)
    assert without.command == older.command == ()


def test_what_did_not_arrive_is_told(here: Installation) -> None:
    (delivery,) = ADAPTER.databases.session_deliveries(here, TABLES)
    assert delivery.find_undelivered(here, delivery).keys() == delivery.places.keys()
