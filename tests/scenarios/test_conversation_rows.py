"""Conversations of OpenClaw and ZeroClaw, in databases and in files: captured up to a limit, purged, searched for
secrets."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lifeboat_core.agents import manage_agents
from lifeboat_core.home.context import Context
from support.adapters import openclaw_workspaces, zeroclaw_installs
from support.cli.cli_client import run

ENV_KEY = "obvious-fake-key-0123456789"
FIRST = 1_795_000_000
"""The time of the oldest conversation. Each is a day newer than the one before."""


class Kind(NamedTuple):
    """How an installation is made, and how its runtime adds a message to a conversation."""

    make: Callable[[Path], Path]
    say: Callable[[Path, int, str], None]


class Talk(NamedTuple):
    """An agent with the conversations `talk-0`, `talk-1` and `talk-2`, the last one the newest."""

    workspace: Path
    agent: str
    say: Callable[[int, str], None]


def _execute(path: Path, *statements: tuple[str, tuple[Any, ...]]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement, values in statements:
            connection.execute(statement, values)


def _append(path: Path, number: int, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        stream.write(json.dumps({"type": "message", "text": text}) + "\n")
    os.utime(path, (FIRST + number * 86_400, FIRST + number * 86_400 + path.stat().st_size / 1e6))


def _make_openclaw(home: Path) -> Path:
    made = openclaw_workspaces.make_state_dir(home / ".openclaw")
    events = "INSERT INTO session_nodes VALUES (?, ?, '{}')"
    nodes = "CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT)"
    clear = [(f"DELETE FROM {table}", ()) for table in ("transcript_events", "session_windows")]
    # The order of the keys is not that of the times.
    nodes_of = [(events, (f"agent:main:{9 - number}", f"talk-{number}")) for number in range(3)]
    windows = [("INSERT INTO session_windows VALUES (?)", (f"talk-{number}",)) for number in range(3)]
    _execute(made.agent_database(), *clear, (nodes, ()), *nodes_of, *windows)
    return made.workspace


def _say_in_openclaw(workspace: Path, number: int, text: str) -> None:
    path = openclaw_workspaces.StateFolder(workspace.parent, workspace, {"main": workspace}).agent_database()
    seq = "(SELECT count(*) FROM transcript_events)"
    insert = f"INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, {seq}, ?, ?)"
    event = json.dumps({"type": "message", "text": text})
    _execute(path, (insert, (f"talk-{number}", event, (FIRST + number * 86_400) * 1000)))


def _make_old_openclaw(home: Path) -> Path:
    made = openclaw_workspaces.make_state_dir(home / ".openclaw", layout=openclaw_workspaces.OLD)
    index = made.folder / "agents/main/sessions/sessions.json"
    index.parent.mkdir(parents=True)
    index.write_text(json.dumps({f"agent:main:{at}": {"sessionId": f"talk-{at}"} for at in range(3)}))
    return made.workspace


def _say_in_old_openclaw(workspace: Path, number: int, text: str) -> None:
    _append(workspace.parent / f"agents/main/sessions/talk-{number}.jsonl", number, text)


def _make_zeroclaw(home: Path) -> Path:
    made = zeroclaw_installs.make_install(home / ".zeroclaw")
    (made.data / "sessions").mkdir(parents=True)
    metadata = "CREATE TABLE session_metadata (session_key TEXT PRIMARY KEY, agent_alias TEXT)"
    sessions = "CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, session_key TEXT, content TEXT)"
    # Only the first agent has a session without metadata.
    keys = [("INSERT INTO session_metadata VALUES (?, 'default')", (f"talk-{at}",)) for at in (1, 2)]
    _execute(made.data / "sessions/sessions.db", (metadata, ()), (sessions, ()), *keys)
    return made.workspace()


def _say_in_zeroclaw(workspace: Path, number: int, text: str) -> None:
    path = workspace.parents[2] / "data/sessions/sessions.db"
    _execute(path, ("INSERT INTO sessions (session_key, content) VALUES (?, ?)", (f"talk-{number}", text)))


def _make_early_zeroclaw(home: Path) -> Path:
    return zeroclaw_installs.make_install(home / ".zeroclaw", "0.1.5").workspace()


def _say_in_early_zeroclaw(workspace: Path, number: int, text: str) -> None:
    _append(workspace / f"sessions/talk-{number}.jsonl", number, text)


KINDS = {
    "openclaw": Kind(_make_openclaw, _say_in_openclaw),
    "openclaw of 2026.2": Kind(_make_old_openclaw, _say_in_old_openclaw),
    "zeroclaw": Kind(_make_zeroclaw, _say_in_zeroclaw),
    "early zeroclaw": Kind(_make_early_zeroclaw, _say_in_early_zeroclaw),
}


@pytest.fixture(params=KINDS)
def talk(request: pytest.FixtureRequest, isolated_home: Path) -> Talk:
    kind = KINDS[request.param]
    workspace = kind.make(isolated_home)
    for number in range(3):
        kind.say(workspace, number, f"Boat {number}. " * 150)
    agent = run("agents", "add", workspace)["id"]
    run("config", "set", "transcripts", "true")
    return Talk(workspace, agent, lambda number, text: kind.say(workspace, number, text))


def _captured(talk: Talk, sequence: int) -> bytes:
    """Return all rows of a sequence."""
    context = Context.open(dict(os.environ))
    with context.vault(manage_agents.load_agent(context, talk.agent).id) as vault:
        state = vault.state(sequence)
        return b"".join(state.body(entry.path) for entry in state.entries() if "/db/" in entry.path)


def _boats(talk: Talk, sequence: int) -> list[int]:
    """Return the conversations of a sequence, each of which has to be whole."""
    rows = _captured(talk, sequence)
    found = [number for number in range(3) if f"Boat {number}. ".encode() * 150 in rows]
    assert [number for number in range(3) if f"Boat {number}. ".encode() in rows] == found
    assert {f"talk-{number}".encode() in rows for number in found} <= {True, "sessions/" in str(talk.workspace)}
    return found


def _sync() -> dict[str, Any]:
    """Capture, and return what `sync` says of the agent."""
    [agent] = run("sync")["agents"]
    return agent


def test_the_newest_conversations_up_to_the_limit_are_captured_and_the_rest_is_named(talk: Talk) -> None:
    run("config", "set", "transcripts_limit", "3200")
    for _ in range(2):  # a capture that reads nothing says so, too
        said = _sync()
        [(name, why)] = said["left_out"].items()
        assert name.endswith(("#talk-0", "/talk-0.jsonl"))
        assert f"setting transcripts_limit (3200), so {name} and older conversations are not captured" in why
    assert _boats(talk, said["sequence"]) == [1, 2]
    assert b"talk-0" not in _captured(talk, said["sequence"])
    run("config", "set", "transcripts_limit", "--default")
    said = _sync()
    assert said["left_out"] == {} and _boats(talk, said["sequence"]) == [0, 1, 2]


def test_a_captured_conversation_that_exceeds_the_limit_later_stays_in_the_history(talk: Talk) -> None:
    before = _sync()["sequence"]
    assert _boats(talk, before) == [0, 1, 2]
    run("config", "set", "transcripts_limit", "3200")
    talk.say(2, "Good evening.")
    said = _sync()
    assert (said["state"], said["held"], said["unread"], said["records"]["deleted"]) == ("ok", None, {}, 0)
    assert ["talk-0" in name for name in said["left_out"]] == [True]
    assert (_boats(talk, said["sequence"]), _boats(talk, before)) == ([1, 2], [0, 1, 2])


def test_a_limit_below_the_newest_conversation_leaves_all_other_rows(talk: Talk) -> None:
    run("config", "set", "transcripts", "false")
    others = _captured(talk, _sync()["sequence"])
    run("config", "set", "transcripts", "true")
    run("config", "set", "transcripts_limit", "10")
    said = _sync()
    assert ["talk-2" in name for name in said["left_out"]] == [True]
    assert _captured(talk, said["sequence"]) == others


def test_text_in_a_conversation_that_looks_like_a_secret_is_named_and_can_be_cut(talk: Talk) -> None:
    unknown = "ghp_Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2"
    talk.say(1, f"use {unknown} for it")
    [found] = _sync()["looks_like_secret"]
    assert "sessions" in found or found.endswith("transcript_events.jsonl")
    run("agents", "cut", talk.agent, found)
    rows = _captured(talk, _sync()["sequence"])
    assert b"use " in rows and b" for it" in rows and unknown.encode() not in rows


def test_a_known_secret_in_a_conversation_is_cut(talk: Talk) -> None:
    (talk.workspace / ".env").write_text(f"TIDES_API_KEY={ENV_KEY}\n")
    talk.say(1, f"use {ENV_KEY} for it")
    rows = _captured(talk, _sync()["sequence"])
    assert b"use " in rows and b" for it" in rows and ENV_KEY.encode() not in rows


def test_a_purge_covers_conversations_and_keeps_the_text_out_of_later_captures(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk.say(0, "The ring lies under the oak.")
    before = _sync()["sequence"]
    assert b"under the oak" in _captured(talk, before)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"The ring lies under the oak.")))
    run("purge", talk.agent, "--text-stdin", "--yes")
    talk.say(0, "Good evening.")
    _sync()
    numbers = {each["sequence"] for each in run("timeline", talk.agent)["entries"]}
    kept = {number: _captured(talk, number) for number in numbers}
    assert before in kept and [number for number in kept if b"under the oak" in kept[number]] == []
    assert b"Good evening." in kept[max(kept)]
