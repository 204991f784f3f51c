"""The tables of what an endpoint keeps for agents that it may not read (see `sealed_files`); part of `tenant.db`."""

from __future__ import annotations

TABLES = (
    # `body` names the blob; the file itself is ciphertext of the user's, and sealed once more there.
    """create table sealed_file(
        agent_id text not null, name text not null, size integer not null, body text not null,
        written_at text not null, primary key (agent_id, name))""",
    "create unique index sealed_file_body on sealed_file(body)",
    """create table sealed_head(
        agent_id text not null primary key, tag text not null, size integer not null, data blob not null,
        written_at text not null)""",
)
