"""A `state.db` as Hermes 0.19 makes it: sessions, messages and the full-text index that triggers fill."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from lifeboat_adapters.hermes.session_writing import NEW

_TEXT = "COALESCE({0}.content, '') || ' ' || COALESCE({0}.tool_name, '') || ' ' || COALESCE({0}.tool_calls, '')"
_INDEX = """
CREATE VIRTUAL TABLE {0} USING fts5(content{1});
CREATE TRIGGER {0}_insert AFTER INSERT ON messages BEGIN
  INSERT INTO {0}(rowid, content) VALUES (new.id, {2});
END;
CREATE TRIGGER {0}_delete AFTER DELETE ON messages BEGIN
  DELETE FROM {0} WHERE rowid = old.id;
END;
CREATE TRIGGER {0}_update AFTER UPDATE ON messages BEGIN
  DELETE FROM {0} WHERE rowid = old.id;
  INSERT INTO {0}(rowid, content) VALUES (new.id, {2});
END;
"""
TITLES = "CREATE UNIQUE INDEX idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL;"

SESSION = "20261123_213823_b79939"
TURN = ("When is high tide?", "At seven.")


def make_database(path: Path, sessions: Iterable[tuple[str, str | None, Iterable[str]]] = ()) -> None:
    """Write a database with these sessions: an id, a title and the texts of the messages."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(NEW)
        for name, tokenizer in (("messages_fts", ""), ("messages_fts_trigram", ", tokenize='trigram'")):
            connection.executescript(_INDEX.format(name, tokenizer, _TEXT.format("new")))
        connection.executescript(TITLES)
        for number, (id, title, texts) in enumerate(sessions):
            add_session(connection, id, title, texts, began=1_795_469_907.75 + number)


def add_session(
    connection: sqlite3.Connection, id: str, title: str | None, texts: Iterable[str], *, began: float
) -> None:
    """Add a session in the folder `/srv/ada/boats` with a prompt of this machine."""
    connection.execute(
        "INSERT INTO sessions (id, source, title, started_at, cwd, system_prompt) VALUES (?, 'cli', ?, ?, ?, ?)",
        (id, title, began, "/srv/ada/boats", "You are in /srv/ada/boats."),
    )
    for number, text in enumerate(texts):
        role = "assistant" if number % 2 else "user"
        connection.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
            (id, role, text, began + number),
        )


def found_by_search(path: Path, words: str, index: str = "messages_fts") -> list[str]:
    """Return the sessions that Hermes' own search finds."""
    query = f"SELECT m.session_id FROM {index} f JOIN messages m ON m.id = f.rowid WHERE {index} MATCH ? ORDER BY m.id"
    with closing(sqlite3.connect(path)) as connection:
        return [str(id) for (id,) in connection.execute(query, (words,))]
