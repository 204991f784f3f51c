"""The tables are made once, by their owner, and a program that does not fit them reports it. Their rows can be copied
to a SQLite file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_endpoint.engines.postgres import postgres_schema
from lifeboat_endpoint.engines.postgres.postgres_schema import SchemaMigration
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_endpoint.service import tenant_schema as tenant_schema
from lifeboat_vault import errors
from lifeboat_vault.store import vault_schema
from lifeboat_vault.store.disk_blobs import DiskBlobs
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.testing.store_conformance import a_day, time_of_day
from lifeboat_vault.vault import Vault
from lifeboat_vault.vault.vault_creation import create_tables
from support.endpoint.sealed import new_sealer
from support.endpoint.shared_databases import API, OWNER, TENANT, WORKER, SharedDatabase, prepared, with_roles
from support.postgres_server import PostgresServer, running


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as made:
        yield made


@pytest.fixture(scope="module")
def database(server: PostgresServer) -> SharedDatabase:
    return prepared(server, "prepared")


_names = iter(range(1000))


@pytest.fixture
def empty(server: PostgresServer) -> SharedDatabase:
    return with_roles(server, f"empty{next(_names)}")


def prepare(database: SharedDatabase, owner: str = OWNER, api: str = API, worker: str = WORKER) -> list[int]:
    return postgres_schema.prepare_schema(database.database(owner), api_role=api, worker_role=worker)


def with_one_more(monkeypatch: pytest.MonkeyPatch, text: str = "create schema more;") -> int:
    """Add a migration as a newer program has it; return its number."""
    known = postgres_schema.list_migrations()
    number = known[-1].number + 1
    more = SchemaMigration(number, f"{number:04}_more.sql", text)
    monkeypatch.setattr(postgres_schema, "list_migrations", lambda: [*known, more])
    return number


# Numbered files -------------------------------------------------------------------------------------------------------


def test_every_file_is_run_once(empty: SharedDatabase) -> None:
    assert prepare(empty) == [migration.number for migration in postgres_schema.list_migrations()]
    assert prepare(empty) == []
    with empty.pools() as pools:
        postgres_schema.check_schema(pools)


def test_files_are_numbered_without_a_gap() -> None:
    numbers = [migration.number for migration in postgres_schema.list_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_newer_program_runs_what_is_new(empty: SharedDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(empty)
    number = with_one_more(monkeypatch)
    with empty.pools() as pools:
        with pytest.raises(errors.EndpointSettings) as caught:
            postgres_schema.check_schema(pools)
        assert caught.value.fix == errors.PREPARE
        assert prepare(empty) == [number]
        postgres_schema.check_schema(pools)


def test_an_older_program_leaves_newer_tables_alone(empty: SharedDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        with_one_more(newer)
        prepare(empty)
    with empty.pools() as pools, pytest.raises(errors.EndpointNewer):
        postgres_schema.check_schema(pools)
    with pytest.raises(errors.EndpointNewer):
        prepare(empty)


def test_a_file_that_fails_leaves_nothing(empty: SharedDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(empty)
    with_one_more(monkeypatch, "create schema more; select 1 from what_is_not_there;")
    with pytest.raises(errors.VaultUnusable):
        prepare(empty)
    assert empty.execute("select 1 from pg_namespace where nspname = 'more'") == []
    monkeypatch.undo()
    assert prepare(empty) == []


@pytest.mark.parametrize(
    "foreign",
    [
        "create schema lifeboat_vault; create table lifeboat_vault.mine(a int)",
        "create schema lifeboat_control; create table lifeboat_control.migration(number int); "
        "grant usage on schema lifeboat_control to lifeboat_owner; "
        "grant select on lifeboat_control.migration to lifeboat_owner",
    ],
)
def test_what_somebody_else_has_under_these_names_stays(empty: SharedDatabase, foreign: str) -> None:
    empty.execute(foreign)
    with pytest.raises(errors.EndpointSettings, match="contains other objects") as caught:
        prepare(empty)
    assert "createdb" in str(caught.value.fix)
    assert empty.execute("select 1 from pg_namespace where nspname = 'lifeboat_tenant'") == []


def test_a_server_that_is_too_old_is_named(empty: SharedDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_schema, "OLDEST", 99)
    with pytest.raises(errors.EndpointSettings, match="at least version 99 is needed"):
        prepare(empty)
    assert empty.execute("select 1 from pg_namespace where nspname like 'lifeboat%'") == []


def test_an_owner_who_may_make_nothing_is_told_who_gives_the_right(empty: SharedDatabase) -> None:
    empty.execute(f'revoke create on database "{empty.name}" from {OWNER}')
    with pytest.raises(errors.EndpointSettings, match="has no permission to create the tables") as caught:
        prepare(empty)
    assert "--print-roles" in str(caught.value.fix)


def test_a_file_that_was_changed_after_it_was_run_is_refused(
    empty: SharedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(empty)
    first, *others = postgres_schema.list_migrations()
    changed = first._replace(text=first.text + "\n")
    monkeypatch.setattr(postgres_schema, "list_migrations", lambda: [changed, *others])
    with pytest.raises(errors.EndpointSettings, match="0001_begin"):
        prepare(empty)


def test_two_that_prepare_at_once_run_every_file_once(empty: SharedDatabase) -> None:
    with ThreadPoolExecutor(3) as threads:
        done = [work.result() for work in [threads.submit(prepare, empty) for _ in range(3)]]
    assert sorted(done, key=len)[:2] == [[], []] and len(max(done, key=len)) == len(postgres_schema.list_migrations())


def test_a_database_without_tables_says_what_makes_them(empty: SharedDatabase) -> None:
    with empty.pools() as pools, pytest.raises(errors.EndpointSettings) as caught:
        postgres_schema.check_schema(pools)
    assert caught.value.fix == errors.PREPARE


def test_roles_that_are_missing_or_may_too_much_are_refused(empty: SharedDatabase) -> None:
    for roles in ((OWNER, "nobody", WORKER), (OWNER, "postgres", WORKER), (OWNER, API, API)):
        with pytest.raises(errors.EndpointSettings) as caught:
            prepare(empty, *roles)
        assert "--print-roles" in (caught.value.fix or "")


def test_tables_of_other_roles_are_refused(empty: SharedDatabase) -> None:
    prepare(empty)
    empty.execute("create role another_worker login nosuperuser nobypassrls")
    with pytest.raises(errors.EndpointSettings, match=WORKER):
        prepare(empty, worker="another_worker")


def test_names_of_roles_are_quoted(server: PostgresServer) -> None:
    text = postgres_schema.roles_sql('o"; drop role postgres; --', "api", "worker", 'a "base"')
    assert 'create role "o""; drop role postgres; --" login nosuperuser' in text and 'database "a ""base"""' in text


# The same tables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("search", "tables"), [("lifeboat_vault", vault_schema.TABLES), ("lifeboat_tenant", tenant_schema.TABLES)]
)
def test_tables_and_columns_are_those_of_sqlite(
    database: SharedDatabase, tmp_path: Path, search: str, tables: tuple[str, ...]
) -> None:
    with closing(SqliteStore(tmp_path / "rows.db", create=True, tables=tables)) as rows:
        rows.prepare()
        expected = {
            (table, column.name, bool(column.notnull or column.is_pk))
            for table in rows.database.table_names()
            for column in rows.database.table(table).columns
        }
    found = {
        (table, column, not_null)
        for table, column, not_null in database.execute(
            f"""select c.relname, a.attname, a.attnotnull from pg_attribute a join pg_class c on c.oid = a.attrelid
            where c.relnamespace = '{search}'::regnamespace and c.relkind = 'r' and a.attnum > 0
            and a.attname not in ('tenant', 'place') and c.relname not in ('place', 'blob')"""
        )
    }
    assert found == expected


# The whole ------------------------------------------------------------------------------------------------------------


def test_a_copy_is_a_vault_of_files_with_the_same_states(database: SharedDatabase, tmp_path: Path) -> None:
    sealer = new_sealer()
    options = {"files": SystemFiles(), "clock": SystemClock(), "sealer": sealer}
    with database.pools() as pools:
        rows = PostgresStore(pools.vault, "vault", tenant=TENANT, agent="copied")
        create_tables(rows, AGENT_ID, SystemClock(), sealer=sealer)
        with closing(Vault(rows, DiskBlobs(tmp_path / "bodies", SystemFiles()), **options)) as vault:
            for day in range(8):
                vault.commit(a_day(day), kind="capture", writer="test", time=time_of_day(day))
            digests = [row.digest for row in vault.sequences()]
            rows.copy_to(tmp_path / "copy.db")
    copied = SqliteStore(tmp_path / "copy.db")
    with closing(Vault(copied, DiskBlobs(tmp_path / "bodies", SystemFiles()), **options)) as vault:
        assert [row.digest for row in vault.sequences()] == digests
        assert vault.verify(trusted=None).findings == []
        made = vault.commit(a_day(9), kind="capture", writer="test", time=time_of_day(9))
        assert made is not None
    assert not (tmp_path / "copy.db-wal").exists()


def test_a_copy_holds_large_rows_of_a_tenant_in_any_number(database: SharedDatabase, tmp_path: Path) -> None:
    with database.pools() as pools:
        rows = PostgresStore(pools.tenant, "tenant", tenant="copied")
        with rows.transaction():
            rows.execute_many(
                "insert into agent(id, created_at, bytes, facts) values (?, ?, ?, ?)",
                ((f"{number:05}", "now", number, bytes([number % 256]) * number) for number in range(1500)),
            )
        rows.copy_to(tmp_path / "tenant.db")
        expected = list(rows.rows("select * from agent order by id"))
    with closing(SqliteStore(tmp_path / "tenant.db")) as copied:
        columns = "'copied', id, vault, created_at, bytes, facts, keys"
        assert list(copied.rows(f"select {columns} from agent order by id")) == expected


def test_rows_that_name_what_is_not_there_are_found(database: SharedDatabase) -> None:
    with database.pools() as pools:
        rows = PostgresStore(pools.vault, "vault", tenant=TENANT, agent="broken")
        rows.prepare()
        assert rows.problems() == []
        place = rows.row("select number from place")
        assert place is not None
        database.execute(
            f"""set session_replication_role = replica; insert into lifeboat_vault.entry(
            place, path, first, bucket, object, meta) values ({place[0]}, 'a', 0, 0, 4711, '')"""
        )
        assert rows.problems() == ["rows of entry that refer to a missing row of object: 1"]
        database.execute("delete from lifeboat_vault.entry where object = 4711")


def test_the_size_is_that_of_the_own_rows(database: SharedDatabase) -> None:
    with database.pools() as pools:
        small = PostgresStore(pools.vault, "vault", tenant=TENANT, agent="small")
        large = PostgresStore(pools.vault, "vault", tenant=TENANT, agent="large")
        for each, size in ((small, 10), (large, 1_000_000)):
            each.prepare()
            with each.transaction():
                each.execute(
                    "insert into object(id, leaf, size, depth, coding, body) values (1, ?, ?, 0, 'plain', ?)",
                    (b"", size, bytes(size)),
                )
        assert 0 < small.size() < 1000 and 1_000_000 < large.size() < 1_010_000


def test_times_and_sums_come_back_as_python_has_them(database: SharedDatabase) -> None:
    with database.pools() as pools:
        rows = PostgresStore(pools.bodies, "bodies", tenant=TENANT)
        rows.execute_many(
            "insert into blob(scope, name, key, size) values (?, ?, ?, ?)",
            [("", f"{number}", f"{number}", 2**40) for number in range(3)],
        )
        (total, at) = rows.row("select sum(size), min(written_at) from blob") or (None, None)
        assert total == 3 * 2**40 and isinstance(total, int)
        assert isinstance(at, datetime) and abs(datetime.now(UTC) - at) < timedelta(minutes=5)
        before = datetime.now(UTC) - timedelta(hours=1)
        assert rows.row("select count(*) from blob where written_at < ?", (before,)) == (0,)


def test_what_changes_rows_can_tell_of_them(database: SharedDatabase) -> None:
    with database.pools() as pools:
        rows = PostgresStore(pools.vault, "vault", tenant=TENANT, agent="told")
        rows.prepare()
        adding = "insert into decision(key, value) values (?, ?) returning key"
        assert list(rows.rows(adding, ("key", "value"))) == [("key",)]
        assert rows.row("select value from decision") == ("value",)
        with contextlib.suppress(KeyError), rows.transaction():
            assert list(rows.rows(adding, ("other", "value"))) == [("other",)]
            raise KeyError
        assert rows.row("select count(*) from decision") == (1,)


def test_lists_of_any_length_are_found_whole(database: SharedDatabase) -> None:
    with database.pools() as pools:
        rows = PostgresStore(pools.vault, "vault", tenant=TENANT, agent="listed")
        rows.prepare()
        rows.execute_many("insert into bucket(number, hash) values (?, ?)", ((number, b"") for number in range(100)))
        for count in (1, 2, 3, 7, 8, 9, 64, 99):
            statement = f"select number from bucket where hash = ? and number in ({', '.join('?' * count)})"
            found = sorted(rows.rows(statement, (b"", *range(count))))
            assert found == [(number,) for number in range(count)]


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 127, 1000])
def test_rows_in_any_number_are_put_in_once_each(database: SharedDatabase, count: int) -> None:
    with database.pools() as pools:
        rows = PostgresStore(pools.vault, "vault", tenant=TENANT, agent=f"put in {count}")
        rows.prepare()
        with rows.transaction():
            rows.execute_many(
                "insert into decision(key, value) values (?, ?)", ((str(n), str(n)) for n in range(count))
            )
            rows.execute_many("update decision set value = ? where key = ?", ((f"{n}!", str(n)) for n in range(count)))
        found = {key: value for key, value in rows.rows("select key, value from decision")}
        assert found == {str(number): f"{number}!" for number in range(count)}
