"""Migrations of the tables in PostgreSQL: numbered SQL files, each run once, in order, by the owner of the tables."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

from lifeboat_endpoint.engines.postgres import postgres_failures
from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools, PostgresConnection, open_connection
from lifeboat_endpoint.engines.postgres.libraries import psycopg, sql_errors
from lifeboat_endpoint.engines.postgres.policies import quoted_name
from lifeboat_vault import errors

_PRINT_ROLES = "lifeboat endpoint prepare --print-roles"
OLDEST = 15
"""The oldest supported PostgreSQL: older ones were never tested."""
_LOCK = 0x6C696665626F6174
_APPLIED = "select number, sha256, api_role, worker_role from lifeboat_control.migration order by number"
_NEWEST = "select coalesce(max(number), 0) from lifeboat_control.migration"
_ADD = """insert into lifeboat_control.migration(number, name, sha256, api_role, worker_role)
    values (%s, %s, %s, %s, %s)"""
_HAS_TABLES = "select to_regclass('lifeboat_control.migration') is not null"
_ROLES = "select rolname, rolsuper or rolbypassrls from pg_roles where rolname = any(%s)"
RESERVED_CONNECTIONS = 10
"""How many connections of the database the role of the servers must leave free."""
_USABLE = (
    "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
    f" - {RESERVED_CONNECTIONS}"
)

_OF_OTHERS = (sql_errors.DuplicateSchema, sql_errors.DuplicateTable, sql_errors.UndefinedColumn)
"""Errors that show that the names are already used for something else."""

_MACROS = {
    "{tenant}": "nullif(current_setting('lifeboat.tenant', true), '')",
    "{agent}": "nullif(current_setting('lifeboat.agent', true), '')",
    "{token}": "nullif(current_setting('lifeboat.token', true), '')",
    "{place}": "nullif(current_setting('lifeboat.place', true), '')::bigint",
}
_POLICIES = {
    "{same_tenant}": "tenant = {tenant}",
    "{same_place}": """place = (
        select p.number from lifeboat_vault.place p where p.tenant = {tenant} and p.agent = {agent})""",
}
"""Macros of the SQL files. They never change, so that a file keeps the meaning that it was run with."""


class SchemaMigration(NamedTuple):
    number: int
    name: str
    text: str

    @property
    def sha256(self) -> bytes:
        return hashlib.sha256(self.text.encode()).digest()


def list_migrations() -> list[SchemaMigration]:
    """Return the migrations of this program, in order."""
    folder = resources.files(__package__) / "schema"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [SchemaMigration(int(file.name[:4]), file.name, file.read_text("utf-8")) for file in files]


def prepare_schema(database: Database, *, api_role: str, worker_role: str) -> list[int]:
    """Make the tables or upgrade them; return the numbers of the migrations that were run.

    Only one process runs migrations at a time, each in its own transaction. `database.role` owns the tables. Raises
    EndpointNewer, VaultBusy, VaultUnusable, and EndpointSettings for missing or unsuitable roles, for tables of other
    roles or of another program, and for a migration that was changed after it was run.
    """
    connection = open_connection(database)
    try:
        connection.execute("select pg_advisory_lock(%s)", (_LOCK,))
        # A migration of large tables may take long.
        connection.execute("set statement_timeout = 0")
        _check_server(connection, (database.role, api_role, worker_role))
        roles = {"{owner}": database.role, "{api}": api_role, "{worker}": worker_role}
        missing = _missing(_applied(connection), api_role, worker_role)
        for migration in missing:
            _run(connection, migration, roles)
        return [migration.number for migration in missing]
    except sql_errors.InsufficientPrivilege as error:
        told = f"the role {database.role} has no permission to create the tables: {error.diag.message_primary}"
        raise errors.EndpointSettings(told, fix=_PRINT_ROLES) from None
    except _OF_OTHERS as error:
        told = (
            f"the database contains other objects with the names of the endpoint's tables: {error.diag.message_primary}"
        )
        raise errors.EndpointSettings(told, fix="give a separate database: createdb --encoding UTF8 NAME") from None
    except psycopg.Error as error:
        raise postgres_failures.translate_error(error) from None
    finally:
        connection.close()


def check_schema(pools: Pools) -> None:
    """Check that the tables are those of this program. Raises EndpointNewer, EndpointSettings, VaultError."""
    known = list_migrations()[-1].number
    try:
        row = pools.asked(_NEWEST)
    except (sql_errors.UndefinedTable, sql_errors.InsufficientPrivilege):
        raise errors.EndpointSettings("the database has no tables of an endpoint", fix=errors.PREPARE) from None
    except psycopg.Error as error:
        raise postgres_failures.translate_error(error) from None
    found = 0 if row is None else int(row[0])
    if found > known:
        raise _newer(found, known)
    if found < known:
        raise errors.EndpointSettings(
            f"the database has schema version {found}, but this program needs version {known}", fix=errors.PREPARE
        )


def roles_sql(owner: str, api: str, worker: str, database: str) -> str:
    """Return the SQL that a superuser runs once before `prepare_schema`: three roles with minimal rights, without
    passwords."""
    rights = "login nosuperuser nocreatedb nocreaterole noinherit noreplication nobypassrls"
    names = [quoted_name(name) for name in (owner, api, worker)]
    lines = [f"create role {name} {rights};" for name in names]
    place = quoted_name(database)
    api_text = "'" + api.replace("'", "''") + "'"
    lines += [
        f"-- {RESERVED_CONNECTIONS} connections stay for workers, `endpoint doctor` and `endpoint prepare`.",
        f"do $$ begin execute format('alter role %I connection limit %s', {api_text}, greatest(1, {_USABLE})); end $$;",
    ]
    lines += [
        f"revoke all on database {place} from public;",
        f"grant connect on database {place} to {', '.join(names)};",
        f"grant create on database {place} to {names[0]};",
        "-- By default every role can create large objects. Only a superuser can change this; others omit this line.",
        "revoke execute on function lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) from public;",
    ]
    return "\n".join(lines) + "\n"


def _applied(connection: PostgresConnection) -> list[tuple[int, bytes, str, str]]:
    row = connection.execute(_HAS_TABLES).fetchone()
    if row is None or not row[0]:
        return []
    return connection.execute(_APPLIED).fetchall()


def _missing(applied: Sequence[tuple[int, bytes, str, str]], api_role: str, worker_role: str) -> list[SchemaMigration]:
    """Return the migrations that are still to be run."""
    known = {migration.number: migration for migration in list_migrations()}
    for number, sha256, api, worker in applied:
        if number not in known:
            raise _newer(number, max(known))
        if sha256 != known[number].sha256:
            raise errors.EndpointSettings(
                f"the database was prepared with another version of the migration {known[number].name} than this "
                "release contains"
            )
        if (api, worker) != (api_role, worker_role):
            raise errors.EndpointSettings(
                f"the database was prepared for the roles {api} and {worker}, not for {api_role} and {worker_role}"
            )
    done = {row[0] for row in applied}
    return [migration for number, migration in sorted(known.items()) if number not in done]


def _newer(found: int, known: int) -> errors.EndpointNewer:
    return errors.EndpointNewer(
        f"the database has schema version {found}, but this program supports only versions up to {known}"
    )


def _run(connection: PostgresConnection, migration: SchemaMigration, roles: dict[str, str]) -> None:
    text = migration.text
    for mark, name in roles.items():
        text = text.replace(mark, quoted_name(name))
    for mark, expression in (*_POLICIES.items(), *_MACROS.items()):
        text = text.replace(mark, expression)
    added = (migration.number, migration.name, migration.sha256, roles["{api}"], roles["{worker}"])
    with connection.transaction():
        connection.execute(text.encode())
        connection.execute(_ADD, added)


def _check_server(connection: PostgresConnection, roles: tuple[str, str, str]) -> None:
    version = connection.info.server_version // 10_000
    if version < OLDEST:
        raise errors.EndpointSettings(
            f"the database runs PostgreSQL {version}, but at least version {OLDEST} is needed"
        )
    if len(set(roles)) != 3:
        raise errors.EndpointSettings(
            "the roles for owner, api and worker must be three different roles", fix=_PRINT_ROLES
        )
    found = dict(connection.execute(_ROLES, (list(roles),)).fetchall())
    missing = [role for role in roles if role not in found]
    if missing:
        raise errors.EndpointSettings(f"the database lacks these roles: {', '.join(missing)}", fix=_PRINT_ROLES)
    mighty = [role for role in roles if found[role]]
    if mighty:
        raise errors.EndpointSettings(f"these roles bypass row-level security: {', '.join(mighty)}", fix=_PRINT_ROLES)
    row = connection.execute("show server_encoding").fetchone()
    if row is None or row[0] != "UTF8":
        raise errors.EndpointSettings("the encoding of the database is not UTF8", fix="createdb --encoding UTF8 NAME")
