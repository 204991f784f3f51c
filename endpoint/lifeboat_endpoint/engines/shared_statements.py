"""SQL of the shared engine only, beside that of vaults, tenants and control."""

from __future__ import annotations

TRY_LOCK = "select pg_try_advisory_lock(%s)"

# In microseconds
TIME = "select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)"

# The endpoint itself, and the key documents of its tenants
ENDPOINT = "select endpoint from control"
SET_ENDPOINT = "update control set endpoint = ?"
DOCUMENT = "select object from key_document where tenant = ?"
DROP_DOCUMENT = "delete from key_document where tenant = ?"
OLD_DOCUMENTS = "select tenant from key_document where written_at < ?"
DOCUMENTS = "select tenant, object from key_document"
ADD_DOCUMENT = "insert into key_document(tenant, object, written_at) values (?, ?, ?) on conflict do nothing"
REPLACE_DOCUMENT = "update key_document set object = ?, written_at = ? where tenant = ? and object = ?"

# Vaults. The database fills in and checks the column `place` of every row.
HAS_VAULT = "select 1 from vault"
VAULT_ID = "select id from vault"
LISTED = "select 1 from lifeboat_tenant.agent a join vault v on v.id = a.vault where a.id = ?"
PLACES = "select agent from place"
VAULT_ROWS = """select (select count(*) from place) + (select count(*) from object) + (select count(*) from entry)
    + (select count(*) from record) + (select count(*) from sequence) + (select count(*) from audit)"""
DROP_VAULT_ROWS = (
    "delete from pin",
    "delete from sequence",
    "delete from entry",
    "delete from record",
    "update object set base = null where base is not null",
    "delete from object",
    "delete from bucket",
    "delete from audit",
    "delete from redaction",
    "delete from decision",
    "delete from vault",
    "delete from place",
)

# Tenants
AGENTS = "select count(*) from agent"
DROP_TENANT_ROWS = (
    "delete from part",
    "delete from upload",
    "delete from orphan",
    "delete from used",
    "delete from sealed_file",
    "delete from sealed_head",
    "delete from purge_waiting",
    "delete from purge_receipt",
    "delete from erased",
    "delete from agent",
    "delete from tenant",
)

# Bodies
SCOPES = "select distinct scope from blob where scope <> ''"
BYTES_OF_BLOBS = "select coalesce(sum(size), 0) from blob"
