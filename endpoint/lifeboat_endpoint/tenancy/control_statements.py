"""Every SQL statement for control.db, except those of the audit (see `vault.statements`), in portable SQL."""

from __future__ import annotations

ADD_CONTROL = "insert into control(schema, created_at) values (?, ?)"
CONTROL = "select schema from control"

_TENANT = "select id, name, key_source, quota, created_at, state from tenant"
ADD_TENANT = """insert into tenant(id, name, name_key, key_source, quota, created_at, state)
    values (?, ?, ?, ?, ?, ?, 'active')"""
TENANTS = f"{_TENANT} order by name_key"
TENANT_NAMED = f"{_TENANT} where name_key = ? or id = ?"
SET_TENANT_STATE = "update tenant set state = ? where id = ?"
SET_QUOTA = "update tenant set quota = ? where id = ?"
SET_KEY_SOURCE = "update tenant set key_source = ? where id = ?"
DROP_TENANT = "delete from tenant where id = ?"

_TOKEN = "select id, tenant, name, scopes, created_at, expires_at, revoked_at, last_used_at from token"
ADD_TOKEN = """insert into token(id, tenant, name, digest, scopes, created_at, expires_at)
    values (?, ?, ?, ?, ?, ?, ?)"""
TOKENS = f"{_TOKEN} order by tenant, created_at, id"
TOKENS_OF = f"{_TOKEN} where tenant = ? order by created_at, id"
TOKEN = f"{_TOKEN} where id = ?"
REVOKE_TOKEN = "update token set revoked_at = ? where id = ? and revoked_at is null"
REVOKE_TOKENS_OF = "update token set revoked_at = ? where tenant = ? and revoked_at is null"
USE_TOKEN = "update token set last_used_at = ? where id = ?"
DROP_TOKENS_OF = "delete from token where tenant = ?"
AUTHENTICATE = """select t.digest, t.tenant, t.name, t.scopes, t.expires_at, t.revoked_at, n.state
    from token t join tenant n on n.id = t.tenant where t.id = ?"""

NOTE = "select value from note where name = ?"
DROP_NOTE = "delete from note where name = ?"
ADD_NOTE = "insert into note(name, value) values (?, ?)"
