"""PostgreSQL accepts every statement of vaults, tenants and control as it is written, and looks up the columns of
policies in an index, so that a statement costs as much with many tenants as with one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from lifeboat_endpoint.engines.postgres import connection_pools
from lifeboat_endpoint.engines.postgres.statement_translation import is_query, limit_statement, number_placeholders
from lifeboat_endpoint.service import sealed_statements
from lifeboat_endpoint.service import tenant_statements as tenant_statements
from lifeboat_endpoint.service.purge import purge_statements
from lifeboat_endpoint.tenancy import control_statements as control_statements
from lifeboat_vault.rows import vault_statements as vault_statements
from support.endpoint.shared_databases import API, TENANT, WORKER, SharedDatabase, shared_database

_PLACES, _ROWS = 2000, 20
_FILLED = f"""
set session_replication_role = replica;
insert into lifeboat_vault.place(tenant, agent)
    select case when p = 1 then '{TENANT}' else 't' || p end, 'agent' from generate_series(1, {_PLACES}) p;
insert into lifeboat_vault.vault(place, id, agent_id, seed, epoch, schema, created_at)
    select p, 'v', 'agent', '', 1, 2, '' from generate_series(1, {_PLACES}) p;
insert into lifeboat_vault.object(place, id, leaf, sha256, size, depth, coding, body)
    select p, n, n::text::bytea, n::text::bytea, 10, 0, 'plain', 'x'
    from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_vault.entry(place, path, first, last, bucket, object, meta)
    select p, 'path' || n / 2, n, case when n % 2 = 0 then n + 1 end, n, n, '{{}}'
    from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_vault.record(place, id, partition, position, first, last, bucket, object, content_key)
    select p, 'r' || n / 2, 'q', n, n, case when n % 2 = 0 then n + 1 end, n, n, n::text::bytea
    from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_vault.sequence(place, n, epoch, time, raw_time, kind, writer, digest, counts, bytes)
    select p, n, 1, n::text, '', 'capture', '', '', '', 1
    from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_vault.audit(place, number, time, kind, subject, details, hash)
    select p, n, n::text, 'kind' || n, '', '', '' from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_vault.bucket(place, number, hash)
    select p, n, '' from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_vault.pin(place, n, reason) select p, 1, 'why' from generate_series(1, {_PLACES}) p;
insert into lifeboat_vault.redaction(place, id, time, document, waits_until)
    select p, n::text, '', '', case when n > 1 then '' end
    from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_vault.decision(place, key, value)
    select p, n::text, '' from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_tenant.tenant(id, schema, created_at)
    select 't' || p, 1, '' from generate_series(1, {_PLACES}) p;
insert into lifeboat_tenant.agent(tenant, id, created_at, bytes, facts)
    select 't' || p, 'a' || n, '', 1, '' from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_tenant.upload(tenant, id, agent_id, kind, machine, created_at, expires_at)
    select 't' || p, 'u' || n, 'a' || n, 'k', '', '', n::text
    from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_tenant.part(tenant, upload_id, position, token, size, body)
    select 't' || p, 'u' || n, 1, 'token' || n, 1, 'body' || n
    from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_tenant.orphan(tenant, body, since) select 't' || p, 'b', '' from generate_series(1, {_PLACES}) p;
insert into lifeboat_tenant.used(tenant, id, expires_at) select 't' || p, 'b', '' from generate_series(1, {_PLACES}) p;
insert into lifeboat_tenant.sealed_file(tenant, agent_id, name, size, body, written_at)
    select 't' || p, 'a' || n, 'n', 1, 'b' || n, ''
    from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_tenant.sealed_head(tenant, agent_id, tag, size, data, written_at)
    select 't' || p, 'a' || n, '', 1, '', '' from generate_series(1, {_PLACES}) p, generate_series(1, {_ROWS}) n;
insert into lifeboat_tenant.purge_waiting(tenant, agent_id, redaction_id, applies_at, leaves)
    select 't' || p, 'a', 'r', '', 1 from generate_series(1, {_PLACES}) p;
insert into lifeboat_tenant.purge_receipt(tenant, agent_id, redaction_id, document)
    select 't' || p, 'a', 'r', '' from generate_series(1, {_PLACES}) p;
insert into lifeboat_tenant.erased(tenant, agent_id, redaction_id, time, trial, document)
    select 't' || p, 'a', 'r', '', 0, '' from generate_series(1, {_PLACES}) p;
insert into lifeboat_control.tenant(id, name, name_key, created_at, state)
    select 't' || p, '', 'name' || p, '', 'active' from generate_series(1, {_PLACES}) p;
insert into lifeboat_control.token(id, tenant, name, digest, scopes, created_at)
    select 'token' || p, 't' || p, '', '', '', '' from generate_series(1, {_PLACES}) p;
insert into lifeboat_control.audit(number, time, kind, subject, details, hash)
    select p, p::text, '', '', '', '' from generate_series(1, {_PLACES}) p;
analyze;
"""


def statements_of(module: ModuleType) -> dict[str, str]:
    """Return the statements by name. Of those that are made for a number of values, return the one for three."""
    found = {}
    for name, value in vars(module).items():
        if isinstance(value, str) and name.isupper() and not name.startswith("_"):
            found[name] = value
        elif callable(value) and getattr(value, "__module__", "") == module.__name__:
            found[name] = value(3)
    return found


VAULT = statements_of(vault_statements)
TENANT_STATEMENTS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": text
    for module in (tenant_statements, sealed_statements, purge_statements)
    for name, text in statements_of(module).items()
}
CONTROL = statements_of(control_statements)


@pytest.fixture(scope="module")
def database() -> Iterator[SharedDatabase]:
    with shared_database() as made:
        made.execute(_FILLED)
        yield made


class Planner:
    """Explains statements as a store would run them."""

    def __init__(self, database: SharedDatabase, search: str, role: str) -> None:
        self.connection = database.connect(role)
        self.connection.execute(f"set search_path = pg_catalog, {search}, pg_temp")
        for name, value in connection_pools._PLANS.items():
            self.connection.execute(f"set {name} = {value}".encode())
        self.connection.execute("select lifeboat_control.enter(%s, 'agent', 'token1', null, true)", (TENANT,))

    def plan(self, statement: str) -> dict[str, Any]:
        """Explain a statement with `$1` placeholders, for any values."""
        count = len(set(re.findall(r"\$\d+", statement)))
        self.connection.execute(f"prepare it as {statement}".encode())
        try:
            values = f"({', '.join(['null'] * count)})" if count else ""
            row = self.connection.execute(f"explain (format json) execute it{values}".encode()).fetchone()
        finally:
            self.connection.execute("deallocate it")
        assert row is not None
        found: Any = row[0]
        plan: dict[str, Any] = found[0]["Plan"]
        return plan


_ONE_LARGE = f"""
set session_replication_role = replica;
insert into lifeboat_vault.place(tenant, agent)
    select case when p = 1 then '{TENANT}' else 't' || p end, 'agent' from generate_series(1, 60000) p;
create temporary view rows as select p, n from generate_series(1, 60000) p, generate_series(1, 1) n
    union all select 1, n from generate_series(2, 20000) n;
insert into lifeboat_vault.object(place, id, leaf, sha256, size, depth, coding, body)
    select p, n, (p * n)::text::bytea, (p * n)::text::bytea, 10, 0, 'plain', 'x' from rows;
insert into lifeboat_vault.entry(place, path, first, bucket, object, meta)
    select p, 'path' || n, 0, n % 1024, n, '{{}}' from rows;
insert into lifeboat_vault.record(place, id, partition, position, first, bucket, object, content_key)
    select p, 'r' || n, 'q' || n / 500, n % 500, 0, n % 1024, n, n::text::bytea from rows;
analyze;
"""
_NARROW = {
    "LIVE_ENTRY": "path",
    "END_ENTRY": "path",
    "ENTRY": "path",
    "ENTRY_BODY": "path",
    "END_RECORD": "id",
    "RECORD": "id",
    "HAS_RECORD": "id",
    "STAYS_OF_RECORD": "id",
    "live_records_named": "id",
    "beginnings_of_records": "id",
    "END_POSITION": "partition",
    "RECORDS_WITH_CONTENT": "content_key",
    "live_entries_in": "bucket",
    "live_records_in": "bucket",
    "OBJECT": "id",
    "OBJECT_WITH_CONTENT": "sha256",
    "OBJECTS_WITH_LEAF": "leaf",
    "HELD_OBJECT": "sha256",
    "OBJECTS_OF_LEAF": "leaf",
    "REPLACED_OBJECTS": "leaf",
    "OBJECTS_ON": "base",
    "OBJECT_USED": "object",
    "IS_RECORD": "object",
    "DROP_CONTENT_KEY": "object",
    "USES_OF_OBJECT": "object",
}
"""What is looked up by what, with every push."""


@pytest.fixture(scope="module")
def one_large() -> Iterator[Planner]:
    """One vault with many rows that all began at once, among many vaults with one row."""
    with shared_database() as made:
        made.execute(_ONE_LARGE)
        yield Planner(made, "lifeboat_vault", API)


@pytest.mark.parametrize("name", _NARROW)
def test_a_row_of_a_large_vault_among_small_ones_is_found_by_what_it_is_called(one_large: Planner, name: str) -> None:
    for statement in (
        number_placeholders(VAULT[name]),
        *([limit_statement(VAULT[name])] if is_query(VAULT[name]) else []),
    ):
        tables = {scan.get("Index Cond", "") for scan in _scans(one_large.plan(statement))}
        broad = [found for found in tables if found.count(" AND ") == 0]
        assert broad == [] and any(re.search(rf"\b{_NARROW[name]} = ", found) for found in tables)


@pytest.fixture(scope="module")
def vaults(database: SharedDatabase) -> Planner:
    return Planner(database, "lifeboat_vault", API)


@pytest.fixture(scope="module")
def tenants(database: SharedDatabase) -> Planner:
    return Planner(database, "lifeboat_tenant", API)


def _scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every node that reads a table; of a bitmap the one that reads the index."""
    if plan["Node Type"] in ("Index Scan", "Index Only Scan", "Bitmap Index Scan", "Seq Scan"):
        yield plan
    for inner in plan.get("Plans", ()):
        yield from _scans(inner)


def _unindexed(plan: dict[str, Any], column: str) -> list[str]:
    """Return the nodes that read a table without `column` in the condition of an index."""
    return [
        f"{scan['Node Type']} on {scan.get('Relation Name', scan.get('Index Name'))}"
        for scan in _scans(plan)
        if not re.search(rf"\b{column} = ", scan.get("Index Cond", ""))
    ]


@pytest.mark.parametrize("name", VAULT)
def test_a_statement_over_a_vault_reads_that_vault_alone(vaults: Planner, name: str) -> None:
    assert _unindexed(vaults.plan(number_placeholders(VAULT[name])), "(place|tenant)") == []
    if is_query(VAULT[name]):
        assert _unindexed(vaults.plan(limit_statement(VAULT[name])), "(place|tenant)") == []


@pytest.mark.parametrize("name", TENANT_STATEMENTS)
def test_a_statement_over_a_tenant_reads_that_tenant_alone(tenants: Planner, name: str) -> None:
    column = "id" if name in ("tenant_statements.TENANT",) else "tenant"
    assert _unindexed(tenants.plan(number_placeholders(TENANT_STATEMENTS[name])), column) == []


@pytest.mark.parametrize("name", CONTROL)
def test_a_statement_over_control_is_one_that_the_database_takes(database: SharedDatabase, name: str) -> None:
    Planner(database, "lifeboat_control", WORKER).plan(number_placeholders(CONTROL[name]))


def test_a_token_is_found_by_its_index(database: SharedDatabase) -> None:
    plan = Planner(database, "lifeboat_control", API).plan(number_placeholders(control_statements.AUTHENTICATE))
    assert not [scan for scan in _scans(plan) if scan["Node Type"] == "Seq Scan"]
