"""Whether the database keeps tenants apart, as it was prepared: rights can be changed behind an endpoint's back."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.findings import Finding, Level
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.opening import shared_engine

TITLE = "Tenants apart"
NEEDS = ("database", "schema")
_OURS = "n.nspname in ('lifeboat_control', 'lifeboat_tenant', 'lifeboat_vault', 'lifeboat_work')"
_STRONG = "select rolname from pg_roles where rolname in (?, ?) and (rolsuper or rolbypassrls)"
_OPEN = f"""select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where {_OURS} and c.relkind in ('r', 'p') and not (c.relrowsecurity and c.relforcerowsecurity)"""
_VIEWS = f"""select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where {_OURS} and c.relkind in ('v', 'm')"""


def check(endpoint: Endpoint) -> Iterator[Finding]:
    engine = shared_engine(endpoint.engine)
    if engine is None:
        return
    rows, roles = engine.control(), (engine.store.api_role, engine.store.worker_role)
    wrong = [_strong(role) for (role,) in rows.rows(_STRONG, roles)]
    wrong += [_open(table) for (table,) in rows.rows(_OPEN)]
    wrong += [_view(name) for (name,) in rows.rows(_VIEWS)]
    yield from wrong or [Finding(Level.OK, TITLE, "row-level security holds for every table and both roles")]


def _strong(role: str) -> Finding:
    fix = f"psql -c 'alter role \"{role}\" nosuperuser nobypassrls'"
    return Finding(Level.ERROR, TITLE, f"the role {role} is above row-level security: it sees all tenants", fix)


def _open(table: str) -> Finding:
    fix = f'psql -c "alter table {table} enable row level security, force row level security"'
    return Finding(Level.ERROR, TITLE, f"the table {table} has no row-level security that is forced", fix)


def _view(name: str) -> Finding:
    result = f"{name} is a view, which shows what its owner may see"
    return Finding(Level.WARNING, TITLE, result, f'look at its rights, or: psql -c "drop view {name}"')
