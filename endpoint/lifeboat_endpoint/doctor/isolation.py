"""Check whether the database still isolates tenants as it was prepared: its rights can be changed without the
endpoint."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import cast

from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.engine_choice import as_shared_engine
from lifeboat_endpoint.engines.postgres import policies
from lifeboat_endpoint.engines.postgres.policies import quoted_name
from lifeboat_vault.store.store_protocols import MetadataStore

TITLE = "Isolation of tenants"
NEEDS = ("database", "schema")
_OURS = "n.nspname in ('lifeboat_control', 'lifeboat_tenant', 'lifeboat_vault', 'lifeboat_work')"
_STRONG = "select rolname from pg_roles where rolname in (?, ?) and (rolsuper or rolbypassrls)"
_OPEN = f"""select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where {_OURS} and c.relkind in ('r', 'p') and not (c.relrowsecurity and c.relforcerowsecurity)"""
_VIEWS = f"""select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where {_OURS} and c.relkind in ('v', 'm')"""
_MEMBER = """select r.rolname from pg_auth_members m join pg_roles r on r.oid = m.roleid
    join pg_roles a on a.oid = m.member where a.rolname = ?"""


def check(endpoint: Endpoint) -> Iterator[DoctorFinding]:
    engine = as_shared_engine(endpoint.engine)
    if engine is None:
        return
    rows, roles = engine.control(), (engine.store.api_role, engine.store.worker_role)
    wrong = [_strong(role) for (role,) in rows.rows(_STRONG, roles)]
    wrong += [_open(table) for (table,) in rows.rows(_OPEN)]
    wrong += [_view(name) for (name,) in rows.rows(_VIEWS)]
    wrong += [_member(roles[0], role) for (role,) in rows.rows(_MEMBER, roles[:1])]
    wrong += _policies(
        rows, {policies.API: roles[0], policies.WORKER: roles[1], policies.OWNER: engine.store.owner_role}
    )
    yield from wrong or [_apart(*roles)]


def _apart(api: str, worker: str) -> DoctorFinding:
    """Return the finding for a database that isolates tenants; it also names what each role sees of all tenants."""
    result = (
        f"row-level security is forced on every table. The role {api} sees the rows of one tenant at a "
        "time; while no tenant is set, the role sees only the schema version, the data that all servers "
        f"of the endpoint share, and the last row of the audit log. The role {worker} sees the tokens, "
        "keys and audit logs of all tenants"
    )
    return DoctorFinding(DoctorLevel.OK, TITLE, result)


def _member(role: str, other_role: str) -> DoctorFinding:
    fix = f'psql -c \'revoke "{other_role}" from "{role}"\''
    return DoctorFinding(
        DoctorLevel.ERROR, TITLE, f"the role {role} is a member of {other_role} and has its permissions", fix
    )


def _policies(rows: MetadataStore, roles: Mapping[str, str]) -> list[DoctorFinding]:
    """Compare each policy with the one that was made: any expression can let rows of another tenant through."""
    with rows.snapshot():
        rows.row(policies.SPELL)
        found = cast("Iterator[policies.FoundPolicy]", rows.rows(policies.FOUND))
        return [_policy(*each, roles) for each in policies.find_differing(found, roles)]


def _policy(table: str, name: str, made: policies.Policy | None, roles: Mapping[str, str]) -> DoctorFinding:
    result = f"the policy {name} of the table {table} was changed, so tenants may not be isolated"
    quoted = quoted_name(name)
    fix = f"drop policy {quoted} on {table}" if made is None else made.statement(table, quoted, roles)
    return DoctorFinding(DoctorLevel.ERROR, TITLE, result, f"psql -c {shlex.quote(fix)}")


def _strong(role: str) -> DoctorFinding:
    fix = f"psql -c 'alter role \"{role}\" nosuperuser nobypassrls'"
    return DoctorFinding(
        DoctorLevel.ERROR, TITLE, f"the role {role} bypasses row-level security, so it sees all tenants", fix
    )


def _open(table: str) -> DoctorFinding:
    fix = f'psql -c "alter table {table} enable row level security, force row level security"'
    return DoctorFinding(DoctorLevel.ERROR, TITLE, f"row-level security is not forced on the table {table}", fix)


def _view(name: str) -> DoctorFinding:
    result = f"{name} is a view, which bypasses row-level security"
    return DoctorFinding(
        DoctorLevel.WARNING, TITLE, result, f'check the permissions of the view, or: psql -c "drop view {name}"'
    )
