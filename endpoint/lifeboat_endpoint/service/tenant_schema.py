"""The tables of `tenant.db`: what an endpoint keeps of one tenant beside the vaults of its agents.

Ids, numbers, sizes and times stand in clear; `facts`, `machine` and `keys` are sealed, `token` is one. What is sealed
names the data key that it is sealed under, so that older rows can be opened until they are sealed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lifeboat_endpoint.service import sealed_tables
from lifeboat_endpoint.service.purge import purge_tables

VERSION = 2

TABLES = (
    "create table tenant(id text not null, schema integer not null, created_at text not null)",
    # `vault`: the id of the agent's vault, so that one made anew is never taken for it; null when sealed.
    """create table agent(
        id text primary key, vault text, created_at text not null, bytes integer not null, facts blob not null,
        keys blob)""",
    # `done`: the number of the sequence that came of it.
    """create table upload(
        id text primary key, agent_id text not null, kind text not null, base integer, machine blob not null,
        created_at text not null, expires_at text not null, done integer)""",
    "create index upload_agent on upload(agent_id)",
    """create table part(
        upload_id text not null references upload(id), position integer not null, token text, size integer not null,
        body text, primary key (upload_id, position))""",
    "create index part_token on part(token)",
    # Bodies that nothing names: since when. Whoever writes one names it right afterwards.
    "create table orphan(body text primary key, since text not null)",
    "create table used(id text primary key, expires_at text not null)",
    *sealed_tables.TABLES,
    *purge_tables.TABLES,
)

STEPS: Mapping[int, Sequence[str]] = {1: purge_tables.TABLES}
"""From schema version k to k + 1: the statements."""
