"""Sessions of Hermes: read without what belongs to one machine, and merged into the database of another home."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.hermes import hermes_jobs, hermes_sessions, session_writing
from lifeboat_adapters.hermes.adapter import HermesDatabases
from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, RowChoice, WriteOrder
from support.adapters.hermes_database import SESSION, TURN, add_session, found_by_search, make_database

DATABASES = HermesDatabases()
OTHER = "20261124_080000_aaaaaa"
SESSIONS, MESSAGES = (hermes_sessions.path_of_table(table) for table in hermes_sessions.TABLES)


def _home(folder: Path, *sessions: tuple[str, str | None, tuple[str, ...]]) -> Installation:
    home = folder / ".hermes"
    home.mkdir(parents=True)
    if sessions:
        make_database(home / "state.db", sessions)
    return Installation("hermes", home, "default", "Hermes Agent")


def _tables(installation: Installation) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for row in DATABASES.rows(installation, transcripts=True):
        found[row.path] = found.get(row.path, b"") + json.dumps(row.values).encode() + b"\n"
    return found


def _plan(installation: Installation, tables: dict[str, bytes]) -> DatabaseWrite:
    order = WriteOrder(state=None, tables=tables, choice=RowChoice(sessions=True))
    [write] = DATABASES.plan_writes(installation, order)
    return write


def _restore(installation: Installation, tables: dict[str, bytes]) -> DatabaseWrite:
    """Build the new database and move it in, as the core does."""
    write = _plan(installation, tables)
    staged = installation.workspace / "staged"
    write.write(staged)
    for path in (write.path, *write.replaces):
        path.unlink(missing_ok=True)
    staged.rename(write.path)
    return write


def _rows(installation: Installation, query: str) -> list[Any]:
    with closing(sqlite3.connect(installation.workspace / "state.db")) as connection:
        return connection.execute(query).fetchall()


def _outcomes(write: DatabaseWrite) -> list[ItemOutcome]:
    return [fate.outcome for fate in write.fates]


def test_columns_with_paths_of_this_machine_are_not_read(tmp_path: Path) -> None:
    data = b"".join(_tables(_home(tmp_path, (SESSION, "Tides", TURN))).values())
    assert b"When is high tide?" in data and b"/srv/ada" not in data


def test_sessions_are_read_and_written_only_on_request(tmp_path: Path) -> None:
    installation = _home(tmp_path, (SESSION, "Tides", TURN))
    assert list(DATABASES.rows(installation, transcripts=False)) == []
    order = WriteOrder(state=None, tables=_tables(installation))
    assert DATABASES.plan_writes(installation, order) == []


def test_a_lost_database_comes_back_with_the_same_rows(tmp_path: Path) -> None:
    tables = _tables(_home(tmp_path / "old", (SESSION, "Tides", TURN), (OTHER, None, ("Good morning.",))))
    new = _home(tmp_path / "new")
    write = _restore(new, tables)
    assert _outcomes(write) == [ItemOutcome.ACCEPTED] * 5
    assert _tables(new) == tables
    assert _rows(new, "select version from schema_version") == [(22,)]


def test_missing_sessions_are_added_to_a_database_and_found_by_its_search(tmp_path: Path) -> None:
    tables = _tables(_home(tmp_path / "old", (SESSION, "Tides", TURN)))
    new = _home(tmp_path / "new", (OTHER, None, ("Good morning.", "Good morning!")))
    _restore(new, tables)
    database = new.workspace / "state.db"
    for index in ("messages_fts", "messages_fts_trigram"):
        assert found_by_search(database, "tide", index) == [SESSION]
        assert found_by_search(database, "morning", index) == [OTHER, OTHER]
    order = "select content from messages where session_id = '{}' order by id"
    assert [text for (text,) in _rows(new, order.format(SESSION))] == list(TURN)
    assert [text for (text,) in _rows(new, order.format(OTHER))] == ["Good morning.", "Good morning!"]


def test_a_session_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    tables = _tables(_home(tmp_path / "old", (SESSION, "Tides", TURN)))
    new = _home(tmp_path / "new", (SESSION, "High tides", (*TURN, "Thanks.")))
    write = _plan(new, tables)
    assert (write.changes, set(_outcomes(write))) == (False, {ItemOutcome.DEDUPLICATED})


def test_a_title_that_another_session_has_is_left_out_by_name(tmp_path: Path) -> None:
    tables = _tables(_home(tmp_path / "old", (SESSION, "Tides", TURN)))
    new = _home(tmp_path / "new", (OTHER, "Tides", ("Good morning.",)))
    write = _restore(new, tables)
    assert write.fates[0].outcome is ItemOutcome.TRANSFORMED
    assert _rows(new, "select id, title from sessions order by id") == [(SESSION, None), (OTHER, "Tides")]


def test_a_child_may_come_before_its_parent_and_without_it(tmp_path: Path) -> None:
    old = _home(tmp_path / "old", (SESSION, None, ()), (OTHER, None, ()), ("a", None, ()), ("b", None, ()))
    with closing(sqlite3.connect(old.workspace / "state.db")) as connection, connection:
        connection.execute("update sessions set parent_session_id = 'b' where id = 'a'")
        connection.execute("update sessions set parent_session_id = ? where id = ?", (OTHER, SESSION))
    tables = _tables(old)
    without = b"".join(
        line + b"\n" for line in tables[SESSIONS].splitlines() if f'"id": "{OTHER}"'.encode() not in line
    )
    new = _home(tmp_path / "new")
    write = _restore(new, {SESSIONS: without})
    reasons = [fate.reason for fate in write.fates if fate.outcome is ItemOutcome.TRANSFORMED]
    assert reasons == [session_writing.NO_PARENT]
    assert _rows(new, "select id, parent_session_id from sessions order by id") == [
        (SESSION, None),
        ("a", "b"),
        ("b", None),
    ]


def test_rows_that_cannot_be_restored_do_not_keep_the_others_out(tmp_path: Path) -> None:
    parent, child = b'{"id": "p"}\n', b'{"id": "c", "source": "cli", "started_at": 1.0, "parent_session_id": "p"}\n'
    message = b'{"id": 1, "session_id": "c", "role": "user", "timestamp": 1.0}\n'
    new = _home(tmp_path)
    write = _restore(new, {SESSIONS: parent + child + child, MESSAGES: message + message})
    assert _outcomes(write) == [
        ItemOutcome.REJECTED,
        ItemOutcome.TRANSFORMED,
        ItemOutcome.DEDUPLICATED,
        ItemOutcome.ACCEPTED,
        ItemOutcome.DEDUPLICATED,
    ]
    assert _rows(new, "select id, parent_session_id from sessions") == [("c", None)]
    assert _rows(new, "select id, session_id from messages") == [(1, "c")]


def test_a_log_beside_the_database_is_read_and_moved_with_it(tmp_path: Path) -> None:
    tables = _tables(_home(tmp_path / "old", (SESSION, "Tides", TURN)))
    new = _home(tmp_path / "new", ("a", None, ()))
    with closing(sqlite3.connect(new.workspace / "state.db")) as holder:
        holder.execute("pragma journal_mode=wal")
        with holder:
            add_session(holder, OTHER, None, ["Only in the log."], began=2.0)
        write = _plan(new, tables)
        staged = new.workspace / "staged"
        write.write(staged)
        assert {path.name for path in write.replaces} == {"state.db-wal", "state.db-shm"}
    assert found_by_search(staged, "log") == [OTHER] and found_by_search(staged, "tide") == [SESSION]


def test_a_database_that_changed_since_the_plan_is_not_replaced(tmp_path: Path) -> None:
    tables = _tables(_home(tmp_path / "old", (SESSION, "Tides", TURN)))
    new = _home(tmp_path / "new", ("a", None, ()))
    write = _plan(new, tables)
    with closing(sqlite3.connect(new.workspace / "state.db")) as connection, connection:
        add_session(connection, OTHER, None, ["Meanwhile."], began=2.0)
    with pytest.raises(RuntimeDatabaseError, match="changed since the restore was planned"):
        write.write(new.workspace / "staged")
    assert not (new.workspace / "staged").exists()


def test_a_damaged_database_is_refused_with_the_command_that_repairs_it(tmp_path: Path) -> None:
    tables = _tables(_home(tmp_path / "old", (SESSION, "Tides", TURN)))
    new = _home(tmp_path / "new")
    (new.workspace / "state.db").write_bytes(b"no database" * 500)
    with pytest.raises(RuntimeDatabaseError):
        _plan(new, tables)


def test_columns_that_a_release_does_not_have_are_left_out(tmp_path: Path) -> None:
    old = _home(tmp_path / "old", (SESSION, "Tides", TURN))
    with closing(sqlite3.connect(old.workspace / "state.db")) as connection, connection:
        connection.execute("alter table sessions add column mood text default 'calm'")
    new = _home(tmp_path / "new")
    assert set(_outcomes(_restore(new, _tables(old)))) == {ItemOutcome.ACCEPTED}


def test_lines_that_are_no_rows_and_messages_without_a_session_are_named(tmp_path: Path) -> None:
    tables = {
        SESSIONS: b'{"id": "a", "source": "cli", "started_at": 1.0}\nnonsense\n{"id": "b"}\n',
        MESSAGES: b'{"id": 1, "session_id": "c", "role": "user", "timestamp": 1.0}\n{"id": 2}\n',
    }
    write = _plan(_home(tmp_path), tables)
    fates = {fate.name.rpartition("/")[2]: (fate.outcome, fate.reason) for fate in write.fates}
    assert fates["sessions.jsonl#1"] == (ItemOutcome.ACCEPTED, "")
    assert fates["sessions.jsonl#2"] == (ItemOutcome.REJECTED, "the captured copy of this row cannot be read")
    assert fates["sessions.jsonl#3"] == (ItemOutcome.REJECTED, "the captured row has no value for: source, started_at")
    assert fates["messages.jsonl#1"] == (ItemOutcome.UNRESOLVED, session_writing.NO_SESSION)
    assert fates["messages.jsonl#2"] == (
        ItemOutcome.REJECTED,
        "the captured row has no value for: role, session_id, timestamp",
    )


def test_each_session_is_a_conversation_and_the_newest_is_read_first(tmp_path: Path) -> None:
    installation = _home(tmp_path, ("a", None, TURN), ("b", None, TURN))
    rows = list(DATABASES.rows(installation, transcripts=True))
    assert [(row.conversation, row.path) for row in rows] == [
        (name, path) for name in ("b", "a") for path in (SESSIONS, MESSAGES, MESSAGES)
    ]


def test_a_restored_job_removes_no_entry_of_the_list_that_has_no_id(tmp_path: Path) -> None:
    installation = _home(tmp_path)
    path = installation.workspace / "cron/jobs.json"
    path.parent.mkdir()
    path.write_text('{"jobs": [{"prompt": "mine"}, {"id": "a"}], "version": 1}')
    order = WriteOrder(state=None, tables={hermes_jobs.ROWS: b'{"id": "b"}\n'}, choice=RowChoice(cron=True))
    [write] = DATABASES.plan_writes(installation, order)
    write.write(tmp_path / "staged")
    made = json.loads((tmp_path / "staged").read_text())
    assert made == {"jobs": [{"prompt": "mine"}, {"id": "a"}, {"id": "b"}], "version": 1}
