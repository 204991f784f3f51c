"""The policies of row-level security as the files in `schema` make them, in the spelling of `pg_get_expr`.

The spelling is that of a connection whose `search_path` is `pg_catalog`. A test compares this list with the policies of
a database that was prepared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

OWNER, API, WORKER, PUBLIC = "owner", "api", "worker", "public"
_ALL, _READ, _ADD, _REMOVE = "all", "select", "insert", "delete"


class Policy(NamedTuple):
    """A permissive policy. `role` is one of the kinds above; an expression that the policy does not have is None."""

    command: str
    role: str
    using: str | None
    check: str | None

    def statement(self, table: str, name: str, roles: Mapping[str, str]) -> str:
        """Return the statements that put this policy in the place of one that has its name."""
        role = "public" if self.role == PUBLIC else quoted_name(roles[self.role])
        using = "" if self.using is None else f" using ({self.using})"
        check = "" if self.check is None else f" with check ({self.check})"
        made = f"create policy {name} on {table} for {self.command} to {role}{using}{check}"
        return f"drop policy if exists {name} on {table}; {made}"


def _set(name: str) -> str:
    return f"NULLIF(current_setting('lifeboat.{name}'::text, true), ''::text)"


def _both(role: str, expression: str) -> Policy:
    return Policy(_ALL, role, expression, expression)


_TENANT, _AGENT, _TOKEN, _RATE = (_set(name) for name in ("tenant", "agent", "token", "rate"))
_OF_TENANT = f"(tenant = {_TENANT})"
_OF_PLACE = (
    f"(place = ( SELECT p.number FROM lifeboat_vault.place p WHERE ((p.tenant = {_TENANT}) AND (p.agent = {_AGENT}))))"
)
_OF_TOKEN = f"((tenant = {_TENANT}) OR (id = {_TOKEN}))"
_TENANT_OF_TOKEN = f"( SELECT t.tenant FROM lifeboat_control.token t WHERE (t.id = {_TOKEN}))"
_OF_RATE = f"(key = decode({_RATE}, 'hex'::text))"
_BY_TENANT = "agent blob erased orphan part purge_receipt purge_waiting sealed_file sealed_head upload used"
_BY_PLACE = "audit bucket decision entry object pin record redaction sequence vault"
_BY_WORKER = (
    *("control.audit", "control.control", "control.key_document", "control.note", "control.tenant", "control.token"),
    *("work.job", "work.latest"),
)

MADE: Mapping[tuple[str, str], Policy] = {
    **{(f"lifeboat_tenant.{name}", "own"): _both(PUBLIC, _OF_TENANT) for name in _BY_TENANT.split()},
    **{(f"lifeboat_vault.{name}", "own"): _both(PUBLIC, _OF_PLACE) for name in _BY_PLACE.split()},
    **{(f"lifeboat_{name}", "worker"): _both(WORKER, "true") for name in _BY_WORKER},
    ("lifeboat_tenant.tenant", "own"): _both(PUBLIC, f"(id = {_TENANT})"),
    ("lifeboat_vault.place", "own"): Policy(
        *(_ALL, PUBLIC),
        f"((tenant = {_TENANT}) AND (agent = COALESCE({_AGENT}, agent)))",
        f"((tenant = {_TENANT}) AND (agent = {_AGENT}))",
    ),
    ("lifeboat_control.audit", "append"): Policy(_ADD, API, None, "true"),
    ("lifeboat_control.audit", "follow"): Policy(
        _READ, API, "(number = ( SELECT lifeboat_control.audit_end() AS audit_end))", None
    ),
    ("lifeboat_control.audit", "owner"): Policy(_READ, OWNER, "true", None),
    ("lifeboat_control.control", "everybody"): Policy(_READ, PUBLIC, "true", None),
    ("lifeboat_control.key_document", "own"): _both(API, _OF_TENANT),
    ("lifeboat_control.migration", "everybody"): Policy(_READ, PUBLIC, "true", None),
    ("lifeboat_control.migration", "owner"): _both(OWNER, "true"),
    ("lifeboat_control.note", "again"): Policy(
        _REMOVE, API, "(name = ANY (ARRAY['address'::text, 'transfer_key'::text]))", None
    ),
    ("lifeboat_control.note", "made"): Policy(
        _ADD, API, None, "(name = ANY (ARRAY['address'::text, 'signing'::text, 'transfer_key'::text]))"
    ),
    ("lifeboat_control.note", "shared"): Policy(_READ, API, "true", None),
    ("lifeboat_control.tenant", "own"): Policy(_READ, API, f"((id = {_TENANT}) OR (id = {_TENANT_OF_TOKEN}))", None),
    ("lifeboat_control.token", "own"): _both(API, _OF_TOKEN),
    ("lifeboat_work.job", "own"): _both(API, _OF_TENANT),
    ("lifeboat_work.rate", "named"): _both(API, _OF_RATE),
    ("lifeboat_work.rate", "stale"): Policy(_REMOVE, API, "(at < (clock_timestamp() - '01:00:00'::interval))", None),
}
"""The policies by table and name."""

SPELL = "select set_config('search_path', 'pg_catalog', true), set_config('intervalstyle', 'postgres', true)"
"""Run this first, in the transaction of `FOUND`: the spelling of an expression depends on both."""
FOUND = """select n.nspname || '.' || c.relname, p.polname,
        case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete'
            else 'all' end,
        coalesce((select string_agg(coalesce(r.rolname, ''), ',' order by r.rolname) from unnest(p.polroles) u(role)
            left join pg_roles r on r.oid = u.role), ''),
        pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)
    from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('lifeboat_control', 'lifeboat_tenant', 'lifeboat_vault', 'lifeboat_work') and p.polpermissive
    order by 1, 2"""

FoundPolicy = tuple[str, str, str, str, str | None, str | None]
"""A row of `FOUND`: table, name, command, names of the roles ("" for public), and both expressions."""


def find_differing(rows: Iterator[FoundPolicy], roles: Mapping[str, str]) -> Iterator[tuple[str, str, Policy | None]]:
    """Yield table and name of each policy that differs from the one that was made, or is missing, with the policy that
    belongs there; None where none does. `roles` gives the name of each kind of role."""
    kinds = {"": PUBLIC, **{role: kind for kind, role in roles.items()}}
    missing = dict(MADE)
    for table, name, command, role, using, check in rows:
        made = missing.pop((table, name), None)
        kind = kinds.get(role, role)
        if made != Policy(command, kind, _spelled(using), _spelled(check)):
            yield table, name, made
    for (table, name), made in missing.items():
        yield table, name, made


def _spelled(expression: str | None) -> str | None:
    """Return an expression on one line: a query in it is laid out over several."""
    return None if expression is None else " ".join(expression.split())


def quoted_name(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'
