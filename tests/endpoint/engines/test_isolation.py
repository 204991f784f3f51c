"""Isolation of tenants in PostgreSQL.

An attacker who can run a statement in a transaction of one tenant, as the role of the servers, reads nothing of another
tenant and changes nothing there. Each attack is one statement; rights that would help to make it are granted first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import errors as sql_errors

from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from support.endpoint.shared_databases import API, OTHER_TENANT, OWNER, TENANT, WORKER, SharedDatabase, shared_database

AGENT = "0190f0a0-0000-7000-8000-0000000000a1"
SECRET = "the lighthouse is blue"
"""It stands in every row of the other tenant that can hold text."""
_HEX = SECRET.encode().hex()

_ROWS_OF_TENANT = """
insert into agent(id, created_at, bytes, facts) values ('{agent}', 'now', 7, '\\x{hex}');
insert into upload(id, agent_id, kind, machine, created_at, expires_at)
    values ('upload {secret}', '{agent}', 'snapshot', '\\x{hex}', 'now', 'then');
insert into part(upload_id, position, size, body) values ('upload {secret}', 0, 7, '{secret}');
insert into orphan(body, since) values ('{secret}', 'now');
insert into used(id, expires_at) values ('{secret}', 'then');
insert into sealed_file(agent_id, name, size, body, written_at) values ('{agent}', '{secret}', 7, '{secret}', 'now');
insert into sealed_head(agent_id, tag, size, data, written_at) values ('{agent}', '{secret}', 7, '\\x{hex}', 'now');
insert into purge_waiting(agent_id, redaction_id, applies_at, leaves) values ('{agent}', '{secret}', 'now', 7);
insert into purge_receipt(agent_id, redaction_id, document) values ('{agent}', '{secret}', '\\x{hex}');
insert into erased(agent_id, redaction_id, time, trial, document) values ('{agent}', '{secret}', 'now', 0, '\\x{hex}');
insert into blob(scope, name, key, size) values ('', '{secret}', '{secret}', 7);
"""
_ROWS_OF_VAULT = """
insert into vault(id, agent_id, seed, epoch, schema, created_at) values ('v', '{agent}', '\\x{hex}', 0, 2, 'now');
insert into object(id, leaf, size, depth, coding, body) values (1, '\\x{hex}', 7, 0, 'plain', '\\x{hex}');
insert into entry(path, first, bucket, object, meta) values ('{secret}', 0, 0, 1, '{secret}');
insert into record(id, partition, position, first, bucket, object) values ('{secret}', '{secret}', 0, 0, 0, 1);
insert into sequence(n, epoch, time, raw_time, kind, writer, digest, counts, bytes)
    values (0, 0, 'now', 'now', 'capture', '{secret}', '\\x{hex}', '{secret}', 7);
insert into bucket(number, hash) values (0, '\\x{hex}');
insert into pin(n, reason) values (0, '{secret}');
insert into audit(number, time, kind, subject, details, hash) values (1, 'now', 'k', '{secret}', '{secret}', '');
insert into redaction(id, time, document) values ('{secret}', 'now', '{secret}');
insert into decision(key, value) values ('key', '{secret}');
"""
_ROWS_OF_CONTROL = """
insert into tenant(id, name, name_key, created_at, state) values ('{tenant}', '{name}', '{name}', 'now', 'active');
insert into token(id, tenant, name, digest, scopes, created_at)
    values ('token of {name}', '{tenant}', '{name}', '\\x{hex}', 'push', 'now');
insert into key_document(tenant, object, written_at) values ('{tenant}', '{secret}', 'now');
insert into audit(number, time, kind, subject, details, hash)
    select coalesce(max(number), 0) + 1, 'now', 'k', '{secret}', '{secret}', '' from audit;
"""


@dataclass
class Attacker:
    """Runs statements as the role of the servers, in a transaction of `TENANT`, and rolls each back."""

    database: SharedDatabase
    place: int
    """Of the vault of the other tenant."""
    role: str = API

    def rows(self, statement: str, *, tenant: str = TENANT, agent: str = AGENT) -> list[Any]:
        statement = statement.replace("PLACE", str(self.place))
        with self.database.connect(self.role) as connection:
            connection.execute("begin")
            if tenant:
                connection.execute("select lifeboat_control.enter(%s, %s, '', null, true)", (tenant, agent))
            cursor: psycopg.Cursor[Any] | None = connection.execute(statement.encode())
            found = None
            while cursor is not None:
                found = cursor.fetchall() if cursor.description else [cursor.rowcount]
                cursor = cursor if cursor.nextset() else None
            connection.execute("rollback")
        return found or []

    def refused(self, statement: str, **options: Any) -> type[psycopg.Error] | None:
        """Return the error, which contains nothing of the other tenant, or None if the statement was run."""
        try:
            self.rows(statement, **options)
        except psycopg.Error as error:
            assert SECRET not in str(error) and _HEX not in str(error)
            return type(error)
        return None


@pytest.fixture(scope="module")
def database() -> Iterator[SharedDatabase]:
    with shared_database() as made:
        for tenant, name, secret in ((TENANT, "ours", "ours"), (OTHER_TENANT, "theirs", SECRET)):
            said = {"tenant": tenant, "name": name, "secret": secret, "hex": secret.encode().hex(), "agent": AGENT}
            _fill(made, "lifeboat_control", WORKER, "", "", _ROWS_OF_CONTROL.format(**said))
            ids = "insert into tenant(id, schema, created_at) values ('{tenant}', 2, 'now');" + _ROWS_OF_TENANT
            _fill(made, "lifeboat_tenant", API, tenant, "", ids.format(**said))
            _fill(made, "lifeboat_vault", API, tenant, AGENT, "insert into place default values;")
            _fill(made, "lifeboat_vault", API, tenant, AGENT, _ROWS_OF_VAULT.format(**said))
        made.execute("analyze")
        yield made


def _fill(made: SharedDatabase, search: str, role: str, tenant: str, agent: str, statements: str) -> None:
    with made.connect(role) as connection, connection.transaction():
        connection.execute(f"set local search_path = {search}".encode())
        connection.execute("select lifeboat_control.enter(%s, %s, '', null, true)", (tenant, agent))
        connection.execute(statements.encode())


@pytest.fixture(scope="module")
def attacker(database: SharedDatabase) -> Attacker:
    ((place,),) = database.execute(f"select number from lifeboat_vault.place where tenant = '{OTHER_TENANT}'")
    assert isinstance(place, int)
    return Attacker(database, place)


def _tables(database: SharedDatabase, *schemas: str) -> list[str]:
    names = ", ".join(f"'{schema}'" for schema in schemas)
    rows = database.execute(
        f"select schemaname || '.' || tablename from pg_tables where schemaname in ({names}) order by 1"
    )
    return [str(name) for (name,) in rows]


# What is seen ---------------------------------------------------------------------------------------------------------


def test_the_attacker_is_one_who_sees_his_own_rows(attacker: Attacker) -> None:
    assert attacker.rows("select value from lifeboat_vault.decision") == [("ours",)]
    assert attacker.rows("select body from lifeboat_tenant.part") == [("ours",)]
    assert attacker.rows("select name from lifeboat_control.token") == [("ours",)]


def test_without_a_tenant_no_table_shows_anything(database: SharedDatabase, attacker: Attacker) -> None:
    tables = _tables(database, "lifeboat_tenant", "lifeboat_vault")
    tables += [f"lifeboat_control.{name}" for name in ("tenant", "token", "key_document")]
    assert len(tables) > 20
    assert {table: attacker.rows(f"select 1 from {table}", tenant="") for table in tables} == {t: [] for t in tables}


@pytest.mark.parametrize("role", [API, WORKER])
def test_a_tenant_sees_nothing_of_another_in_any_table(database: SharedDatabase, attacker: Attacker, role: str) -> None:
    """Every row of the other tenant contains the secret or its name as text."""
    mine = Attacker(database, attacker.place, role)
    for table in _tables(database, "lifeboat_tenant", "lifeboat_vault"):
        found = mine.rows(f"select t::text from {table} t")
        assert not [row for (row,) in found if SECRET in row or _HEX in row or OTHER_TENANT in row], table


@pytest.mark.parametrize(
    "statement",
    [
        "select * from lifeboat_vault.decision where place = PLACE",
        "select * from lifeboat_vault.place where number = PLACE",
        f"select * from lifeboat_tenant.agent where tenant = '{OTHER_TENANT}'",
        f"select * from lifeboat_control.tenant where id = '{OTHER_TENANT}'",
        f"select * from lifeboat_control.token where tenant = '{OTHER_TENANT}'",
        f"select * from lifeboat_control.key_document where tenant = '{OTHER_TENANT}'",
        "set local lifeboat.place = 'PLACE'; select * from lifeboat_vault.decision where value <> 'ours'",
        "set local lifeboat.agent = 'nobody'; select * from lifeboat_vault.decision",
        f"set local lifeboat.tenant = ''; set local lifeboat.agent = '{AGENT}'; select * from lifeboat_vault.decision",
        f"set local lifeboat.tenant = '{OTHER_TENANT}'; set local lifeboat.agent = '';"
        " select * from lifeboat_vault.decision",
        "select * from lifeboat_control.token where digest <> (select digest from lifeboat_control.token)",
        # Statistics contain values of rows; catalogues contain the text of statements and paths of files.
        "select * from pg_stats where schemaname like 'lifeboat%'",
        "select * from pg_stats_ext_exprs",
        "select * from pg_prepared_xacts",
        "select * from pg_largeobject_metadata",
        # A function that runs as its caller sees what the caller sees.
        "do $$ begin if exists (select 1 from lifeboat_vault.decision where value <> 'ours') then"
        " raise exception 'seen'; end if; end $$; select 1 where false",
        # A condition with a side effect is not evaluated for rows of others.
        "select 1 from lifeboat_vault.decision where 1 / (case when value = 'ours' then 1 else 0 end) = 0",
        "select 1 from lifeboat_tenant.part where 1 / (case when body = 'ours' then 1 else 0 end) = 0",
    ],
)
def test_this_shows_nothing(attacker: Attacker, statement: str) -> None:
    assert attacker.rows(statement) == []


@pytest.mark.parametrize(
    "statement",
    [
        "update lifeboat_control.note set value = ''",
        "insert into lifeboat_control.note(name, value) values ('key_source', 'mine')",
        "insert into lifeboat_control.note(name, value) values ('clock', 'mine')",
        "select details from lifeboat_control.audit",
        "select subject from lifeboat_control.audit",
        "select * from lifeboat_control.audit",
        "select number from lifeboat_control.audit where details like '%blue%'",
        "update lifeboat_control.audit set details = ''",
        "delete from lifeboat_control.audit",
        "update lifeboat_control.token set digest = ''",
        "update lifeboat_control.token set tenant = 'x'",
        "insert into lifeboat_control.token(id, tenant, name, digest, scopes, created_at)"
        f" values ('new', '{TENANT}', '', '', 'push', '')",
        "delete from lifeboat_control.token",
        "update lifeboat_control.tenant set quota = 1",
        "update lifeboat_control.control set endpoint = ''",
        "delete from lifeboat_control.migration",
    ],
)
def test_this_is_not_for_who_serves(attacker: Attacker, statement: str) -> None:
    assert attacker.refused(statement) is sql_errors.InsufficientPrivilege


def test_of_the_audit_who_serves_sees_where_it_ends(attacker: Attacker) -> None:
    ((last,),) = attacker.database.execute("select max(number) from lifeboat_control.audit")
    assert last > 1
    assert attacker.rows("select number from lifeboat_control.audit") == [(last,)]
    follows = (
        "insert into lifeboat_control.audit(number, time, kind, subject, details, hash)"
        f" values ({last + 1}, 'now', 'k', '', '', ''); select number from lifeboat_control.audit"
    )
    assert attacker.rows(follows) == [(last + 1,)]


def test_notes_that_who_serves_did_not_make_stay(attacker: Attacker) -> None:
    notes = ("address", "clock", "key_source", "objects", "signing", "transfer_key")
    values = ", ".join(f"('{name}', '1')" for name in notes)
    attacker.database.execute(f"insert into lifeboat_control.note(name, value) values {values}")
    deleted = "delete from lifeboat_control.note; select name from lifeboat_control.note order by name"
    assert attacker.rows(deleted) == [("clock",), ("key_source",), ("objects",), ("signing",)]
    attacker.database.execute("delete from lifeboat_control.note")


# What is changed ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        f"insert into lifeboat_tenant.used(tenant, id, expires_at) values ('{OTHER_TENANT}', 'x', '')",
        f"insert into lifeboat_tenant.used(tenant, id, expires_at) values ('{OTHER_TENANT}', '{SECRET}', '')"
        " on conflict (tenant, id) do update set expires_at = ''",
        f"update lifeboat_tenant.used set tenant = '{OTHER_TENANT}'",
        f"merge into lifeboat_tenant.used u using (values ('{OTHER_TENANT}')) v(t) on u.tenant = v.t"
        " when not matched then insert (tenant, id, expires_at) values (v.t, 'x', '')",
        "insert into lifeboat_vault.decision(place, key, value) values (PLACE, 'x', 'x')",
        "insert into lifeboat_vault.decision(place, key, value) values (PLACE, 'key', 'x')"
        " on conflict (place, key) do update set value = 'x'",
        "update lifeboat_vault.decision set place = PLACE",
        "set local lifeboat.place = 'PLACE'; insert into lifeboat_vault.decision(key, value) values ('x', 'x')",
        f"insert into lifeboat_vault.place(tenant, agent) values ('{OTHER_TENANT}', 'x')",
        f"insert into lifeboat_vault.place(number, tenant, agent) overriding system value"
        f" values (PLACE, '{TENANT}', 'x')",
        f"update lifeboat_vault.place set tenant = '{OTHER_TENANT}'",
        f"insert into lifeboat_control.key_document(tenant, object, written_at) values ('{OTHER_TENANT}', 'x', '')"
        " on conflict (tenant) do update set object = 'x'",
        f"insert into lifeboat_tenant.tenant(id, schema, created_at) values ('{OTHER_TENANT}', 1, '')",
    ],
)
def test_no_row_is_put_into_another_tenant(attacker: Attacker, statement: str) -> None:
    assert attacker.refused(statement) is sql_errors.InsufficientPrivilege


@pytest.mark.parametrize("doing", ["update {} set {} = {}", "delete from {}"])
def test_a_change_without_a_condition_changes_ones_own_rows_only(
    database: SharedDatabase, attacker: Attacker, doing: str
) -> None:
    assert attacker.rows(doing.format("lifeboat_tenant.used", "expires_at", "''")) == [1]
    assert attacker.rows(doing.format("lifeboat_vault.decision", "value", "''")) == [1]
    for place in ("PLACE", f"(select number from lifeboat_vault.place where tenant = '{OTHER_TENANT}')"):
        of = f"lifeboat_vault.decision where place = {place}"
        assert attacker.rows(f"delete from {of}") == [0]


def test_without_a_tenant_nothing_is_written(attacker: Attacker) -> None:
    for statement in (
        "insert into lifeboat_tenant.used(id, expires_at) values ('x', '')",
        "insert into lifeboat_tenant.used(tenant, id, expires_at) values ('', 'x', '')",
        "insert into lifeboat_vault.decision(key, value) values ('x', 'x')",
        "insert into lifeboat_vault.place default values",
    ):
        assert attacker.refused(statement, tenant="") is sql_errors.InsufficientPrivilege


def test_a_key_that_another_tenant_has_is_free(attacker: Attacker) -> None:
    """A collision would tell that the other tenant has the key."""
    for statement in (
        f"insert into lifeboat_tenant.used(id, expires_at) values ('{SECRET}', '')",
        f"insert into lifeboat_tenant.upload(id, agent_id, kind, machine, created_at, expires_at)"
        f" values ('upload {SECRET}', '', '', '', '', '')",
        f"insert into lifeboat_tenant.blob(scope, name, key, size) values ('', '{SECRET}', '{SECRET}', 7)",
        f"insert into lifeboat_vault.decision(key, value) values ('{SECRET}', '')",
    ):
        assert attacker.rows(statement) == [1]


def test_a_reference_does_not_tell_what_another_tenant_has(attacker: Attacker) -> None:
    refused = {
        attacker.refused(f"insert into lifeboat_tenant.part(upload_id, position, size) values ('{name}', 1, 1)")
        for name in (f"upload {SECRET}", "upload that nobody has")
    }
    assert refused == {sql_errors.ForeignKeyViolation}


# Might ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        f"set role {OWNER}",
        f"set role {WORKER}",
        "set role postgres",
        f"set session authorization {OWNER}",
        "set local row_security = off; select * from lifeboat_vault.decision",
        "alter table lifeboat_vault.decision disable row level security",
        "alter table lifeboat_vault.decision no force row level security",
        "alter table lifeboat_vault.decision owner to lifeboat_api",
        "alter table lifeboat_vault.decision add column more text",
        "drop policy own on lifeboat_vault.decision",
        "alter policy own on lifeboat_vault.decision using (true)",
        "create policy mine on lifeboat_vault.decision using (true)",
        "create function lifeboat_vault.mine() returns int language sql security definer as 'select 1'",
        "create function public.mine() returns int language sql security definer as 'select 1'",
        "create or replace function lifeboat_vault.instr(text, text) returns integer language sql as 'select 1'",
        "alter function lifeboat_control.enter security definer",
        "create table public.mine(value text)",
        "create table lifeboat_vault.mine(value text)",
        "create temporary table decision(key text, value text)",
        "create view lifeboat_vault.mine as select * from lifeboat_vault.decision",
        "create schema mine",
        "create trigger mine before insert on lifeboat_vault.decision for each row execute function"
        " suppress_redundant_updates_trigger()",
        "create rule mine as on select to lifeboat_vault.decision do instead select 1",
        "create extension file_fdw",
        "truncate lifeboat_vault.decision",
        "copy lifeboat_vault.decision to '/tmp/mine'",
        "copy lifeboat_vault.decision to program 'cat'",
        "copy lifeboat_vault.decision from '/etc/passwd'",
        "select pg_read_file('/etc/passwd')",
        "select pg_ls_dir('.')",
        "select lo_import('/etc/passwd')",
        "select lo_create(0)",
        "select lo_from_bytea(0, '')",
        "select * from pg_statistic",
        "select * from pg_authid",
        "select * from pg_hba_file_rules",
        "select pg_ls_waldir()",
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'postgres'",
        f"grant {OWNER} to {API}",
        f"alter role {API} bypassrls",
        "alter database lifeboat set row_security = off",
        "set local session_replication_role = replica",
        "reindex table lifeboat_vault.decision",
    ],
)
def test_this_is_refused(attacker: Attacker, statement: str) -> None:
    refused = attacker.refused(statement)
    assert refused is not None and issubclass(refused, sql_errors.InsufficientPrivilege)


def test_a_right_is_not_passed_on(attacker: Attacker) -> None:
    granting = "grant select on lifeboat_vault.decision to public"
    allowed = "select has_table_privilege('public', 'lifeboat_vault.decision', 'select')"
    assert attacker.rows(f"{granting}; {allowed}") == [(False,)]


def test_rows_are_copied_in_only_by_inserts(attacker: Attacker) -> None:
    assert attacker.refused("copy lifeboat_vault.decision from stdin") is sql_errors.FeatureNotSupported


def test_what_is_copied_out_is_ones_own(database: SharedDatabase) -> None:
    with database.connect(API) as connection, connection.transaction():
        connection.execute("select lifeboat_control.enter(%s, %s, '', null, true)", (TENANT, AGENT))
        with connection.cursor().copy("copy lifeboat_vault.decision(value) to stdout") as copy:
            assert b"".join(bytes(block) for block in copy) == b"ours\n"


def test_a_transaction_is_not_left_for_others_to_end(attacker: Attacker) -> None:
    assert attacker.refused("prepare transaction 'mine'") is sql_errors.ObjectNotInPrerequisiteState


def test_what_others_are_asking_is_not_seen(database: SharedDatabase, attacker: Attacker) -> None:
    """Sessions of one role see each other's statements, so the statements contain no values."""
    with database.pools() as pools:
        store = PostgresStore(pools.vault, "vault", tenant=OTHER_TENANT, agent=AGENT)
        with store.transaction():
            store.row("select value from decision where key = ?", (SECRET,))
            seen = str(attacker.rows("select query, application_name from pg_stat_activity"))
        store.row("select value from decision where key = ?", (SECRET,))
        seen += str(attacker.rows("select query, application_name from pg_stat_activity"))
    assert "value from decision" in seen
    assert SECRET not in seen and OTHER_TENANT not in seen and AGENT not in seen


# The catalogue: so that a new table forgets nothing ------------------------------------------------------------------

_SCHEMAS = "('lifeboat_control', 'lifeboat_tenant', 'lifeboat_vault', 'lifeboat_work')"


def test_every_table_has_row_security_enabled_and_forced(database: SharedDatabase) -> None:
    rows = database.execute(
        f"""select c.oid::regclass::text, c.relrowsecurity and c.relforcerowsecurity, c.relowner::regrole::text
        from pg_class c where c.relnamespace::regnamespace::text in {_SCHEMAS} and c.relkind in ('r', 'p')"""
    )
    assert len(rows) >= 30
    assert [row for row in rows if row[1:] != (True, OWNER)] == []


def test_there_is_nothing_but_tables_indexes_numbers_and_functions(database: SharedDatabase) -> None:
    """A view would show what its owner may see."""
    rows = database.execute(
        f"""select c.oid::regclass::text from pg_class c where c.relnamespace::regnamespace::text in {_SCHEMAS}
        and c.relkind not in ('r', 'i', 'S', 't')"""
    )
    assert rows == []


def test_the_roles_own_nothing_and_may_no_more_than_they_need(database: SharedDatabase) -> None:
    roles = f"('{API}', '{WORKER}', '{OWNER}')"
    assert (
        database.execute(
            f"""select rolname from pg_roles where rolname in {roles} and
        (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication or rolinherit)"""
        )
        == []
    )
    assert (
        database.execute(
            f"select 1 from pg_auth_members where member::regrole::text in {roles} or roleid::regrole::text in {roles}"
        )
        == []
    )
    owned = f"('{API}', '{WORKER}')"
    assert (
        database.execute(
            f"""select 1 from pg_shdepend d where d.deptype = 'o' and d.refclassid = 'pg_authid'::regclass
        and d.refobjid::regrole::text in {owned}"""
        )
        == []
    )


def test_no_role_may_truncate_refer_to_or_be_told_of_a_table(database: SharedDatabase) -> None:
    rows = database.execute(
        f"""select grantee, table_name, privilege_type from information_schema.table_privileges
        where table_schema in {_SCHEMAS} and grantee <> '{OWNER}'
        and (privilege_type not in ('SELECT', 'INSERT', 'UPDATE', 'DELETE') or grantee not in ('{API}', '{WORKER}'))"""
    )
    assert rows == []


def test_functions_run_as_whoever_calls_them_and_are_not_for_everybody(database: SharedDatabase) -> None:
    """One function runs as the owner. It returns the number of the last audit row, of which the servers see no other
    row."""
    found = f"select p.oid::regprocedure::text from pg_proc p where p.pronamespace::regnamespace::text in {_SCHEMAS}"
    assert database.execute(f"{found} and has_function_privilege('public', p.oid, 'execute')") == []
    assert database.execute(f"{found} and p.prosecdef") == [("lifeboat_control.audit_end()",)]


def test_unique_indexes_of_tenants_begin_with_who_they_are_of(database: SharedDatabase) -> None:
    rows = database.execute(
        """select i.indexrelid::regclass::text, a.attname from pg_index i
        join pg_class c on c.oid = i.indrelid join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
        where i.indisunique and c.relnamespace::regnamespace::text in ('lifeboat_tenant', 'lifeboat_vault')"""
    )
    odd = [row for row in rows if row[1] not in ("tenant", "place")]
    assert odd == [("lifeboat_tenant.tenant_pkey", "id"), ("lifeboat_vault.place_pkey", "number")]


def test_text_is_ordered_by_its_bytes_everywhere(database: SharedDatabase) -> None:
    rows = database.execute(
        f"""select c.oid::regclass::text, a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace::regnamespace::text in {_SCHEMAS} and c.relkind = 'r' and a.attnum > 0
        and a.atttypid = 'text'::regtype and a.attcollation <> '"C"'::regcollation"""
    )
    assert rows == []
