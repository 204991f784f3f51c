"""Tables of control.db: tenants, tokens, notes and the audit, which has the same form as that of a vault."""

from __future__ import annotations

from lifeboat_vault.store.schema_migrations import Steps

VERSION = 1

TABLES = (
    "create table control(schema integer not null, created_at text not null)",
    # `name_key`: the name as it is compared. Only the digest of a token is stored.
    """create table tenant(
        id text primary key, name text not null, name_key text not null unique, key_source text, quota bigint,
        created_at text not null, state text not null)""",
    """create table token(
        id text primary key, tenant text not null references tenant(id), name text not null, digest blob not null,
        scopes text not null, created_at text not null, expires_at text, revoked_at text, last_used_at text)""",
    "create index token_tenant on token(tenant)",
    """create table audit(
        number bigint primary key, time text not null, kind text not null, subject text not null,
        details text not null, hash blob not null)""",
    "create index audit_time on audit(time)",
    "create table note(name text primary key, value text not null)",
)

STEPS: Steps = {}
"""Statements that upgrade version k to k + 1."""
