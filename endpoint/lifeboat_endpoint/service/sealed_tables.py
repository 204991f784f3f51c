"""The tables of sealed agents in tenant.db (see `sealed_files`)."""

from __future__ import annotations

TABLES = (
    # `body` names the blob, which contains the user's ciphertext, encrypted once more.
    """create table sealed_file(
        agent_id text not null, name text not null, size integer not null, body text not null,
        written_at text not null, primary key (agent_id, name))""",
    "create unique index sealed_file_body on sealed_file(body)",
    """create table sealed_head(
        agent_id text not null primary key, tag text not null, size integer not null, data blob not null,
        written_at text not null)""",
)
