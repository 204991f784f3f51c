"""The tables of tenant.db: what an endpoint keeps of a tenant outside of the vaults of its agents.

Ids, numbers, sizes and times are in clear. `facts`, `machine` and `keys` are sealed, and `token` is a sealed digest.
Sealed values name their data key, so that older rows can be opened until they are sealed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lifeboat_endpoint.service import sealed_tables
from lifeboat_endpoint.service.purge import purge_tables

VERSION = 2

TABLES = (
    "create table tenant(id text not null, schema integer not null, created_at text not null)",
    # `vault`: the id of the agent's vault, so that a later vault is never mistaken for it; null for a sealed agent.
    """create table agent(
        id text primary key, vault text, created_at text not null, bytes integer not null, facts blob not null,
        keys blob)""",
    # `done`: the number of the sequence that it became.
    """create table upload(
        id text primary key, agent_id text not null, kind text not null, base integer, machine blob not null,
        created_at text not null, expires_at text not null, done integer)""",
    "create index upload_agent on upload(agent_id)",
    """create table part(
        upload_id text not null references upload(id), position integer not null, token text, size integer not null,
        body text, primary key (upload_id, position))""",
    "create index part_token on part(token)",
    # Bodies without a row, and since when. A writer adds the row right after the body.
    "create table orphan(body text primary key, since text not null)",
    "create table used(id text primary key, expires_at text not null)",
    *sealed_tables.TABLES,
    *purge_tables.TABLES,
)

STEPS: Mapping[int, Sequence[str]] = {1: purge_tables.TABLES}
"""Statements that upgrade schema version k to k + 1."""
