"""The tables of tenant.db: what an endpoint keeps of a tenant outside of the vaults of its agents.

Ids, numbers, sizes and times are in plain text. `facts`, `machine` and `keys` are sealed, and `token` is a sealed
digest.
Sealed values name their data key, so that older rows can be opened until they are sealed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VERSION = 2

_SEALED = (
    # `body` names the blob, which contains the user's ciphertext, encrypted once more.
    """create table sealed_file(
        agent_id text not null, name text not null, size integer not null, body text not null,
        written_at text not null, primary key (agent_id, name))""",
    "create unique index sealed_file_body on sealed_file(body)",
    """create table sealed_head(
        agent_id text not null primary key, tag text not null, size integer not null, data blob not null,
        written_at text not null)""",
)
"""Of sealed agents (see `sealed_files`)."""
_PURGES = (
    """create table purge_waiting(
        agent_id text not null, redaction_id text not null, applies_at text not null,
        leaves integer not null, primary key (agent_id, redaction_id))""",
    """create table purge_receipt(
        agent_id text not null, redaction_id text not null, document blob not null,
        primary key (agent_id, redaction_id))""",
    # `receipt` is null until nothing of the agent is left. `trial`: the agent was made to test the endpoint.
    """create table erased(
        agent_id text primary key, redaction_id text not null, time text not null, trial integer not null,
        document blob not null, receipt blob)""",
)
"""Waiting redactions, receipts, and agents that were purged completely.

The redactions of an agent are in its vault. `purge_waiting` only says where one waits or is being applied, and how many
of its leaves had old bytes then. `receipt` and `document` are sealed under the tenant's key, since the own key of a
purged agent is destroyed.
"""

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
    *_SEALED,
    *_PURGES,
)

STEPS: Mapping[int, Sequence[str]] = {1: _PURGES}
"""Statements that upgrade schema version k to k + 1."""
