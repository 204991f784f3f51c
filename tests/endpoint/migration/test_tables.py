"""A migration copies every column of every table, and finds differences."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lifeboat_endpoint.migration import table_copy
from lifeboat_endpoint.migration.table_copy import AUDIT, CONTROL, TENANT, VAULT, CopiedTable, add_hash_function
from lifeboat_endpoint.service import tenant_schema as tenant_schema
from lifeboat_endpoint.tenancy import control_schema as control_schema
from lifeboat_vault.store import vault_schema as vault_schema
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.vault.open_vault import FILE
from support.vault.vaults import new_vault, put

NOT_COPIED = {"control", "note"}
"""Made by `endpoint prepare`, or copied by name."""


def columns_of(folder: Path, made: Sequence[str]) -> dict[str, list[str]]:
    with contextlib.closing(SqliteStore(folder / "any.db", create=True, tables=made)) as store:
        store.prepare()
        return {
            name: [column.name for column in store.database.table(name).columns]
            for name in store.database.table_names()
        }


@pytest.mark.parametrize(
    ("made", "copied"),
    [
        (vault_schema.TABLES, VAULT),
        (tenant_schema.TABLES, TENANT),
        (control_schema.TABLES, (*CONTROL, AUDIT)),
    ],
    ids=["vault", "tenant", "control"],
)
def test_every_column_of_every_table_is_copied(
    tmp_path: Path, made: Sequence[str], copied: tuple[CopiedTable, ...]
) -> None:
    known = {name: columns for name, columns in columns_of(tmp_path, made).items() if name not in NOT_COPIED}
    assert {table.name: sorted(table.columns) for table in copied} == {
        name: sorted(columns) for name, columns in known.items()
    }


@pytest.fixture
def source(tmp_path: Path) -> Iterator[SqliteStore]:
    """A vault with patches that are based on each other."""
    with new_vault(tmp_path) as vault:
        lines = [b"- note %d of the orchard\n" % number for number in range(300)]
        for number in range(6):
            lines[number] = b"- another note\n"
            put(vault, "raw/openclaw/MEMORY.md", b"".join(lines))
    with contextlib.closing(add_hash_function(SqliteStore(tmp_path / "vault" / FILE))) as store:
        assert store.row("select max(depth) > 1 from object") == (1,)
        yield store


@pytest.fixture
def target(tmp_path: Path) -> Iterator[SqliteStore]:
    with contextlib.closing(add_hash_function(SqliteStore(tmp_path / "copy.db", create=True))) as store:
        store.prepare()
        yield store


def copy(source: SqliteStore, target: SqliteStore) -> int:
    with target.transaction():
        return table_copy.copy_tables(source, target, VAULT)


def test_a_copy_is_the_same(source: SqliteStore, target: SqliteStore) -> None:
    assert copy(source, target) > 20
    assert table_copy.find_different_table(source, target, VAULT) is None


def test_a_body_comes_after_the_one_that_it_rests_on(source: SqliteStore, target: SqliteStore) -> None:
    """Whatever their numbers are: thinning changes the base of an object."""
    with source.transaction():
        source.execute("pragma defer_foreign_keys = on")
        source.execute("update entry set object = -object")
        source.execute("update object set id = -id, base = -base")
    copy(source, target)
    assert table_copy.find_different_table(source, target, VAULT) is None


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("update object set body = x'00' where id = 1", "object"),
        ("delete from pin", None),
        ("update audit set details = '{}' where number = 2", "audit"),
        ("update entry set meta = '{\"a\":1}'", "entry"),
        ("delete from sequence where n = 3", "sequence"),
        ("insert into decision(key, value) values ('one', 'more')", "decision"),
        ("update vault set epoch = 7", "vault"),
    ],
)
def test_what_differs_is_named(source: SqliteStore, target: SqliteStore, statement: str, table: str | None) -> None:
    copy(source, target)
    target.execute(statement)
    assert table_copy.find_different_table(source, target, VAULT) == table


def test_all_rows_can_be_dropped_and_copied_again(source: SqliteStore, target: SqliteStore) -> None:
    copy(source, target)
    with target.transaction():
        target.execute("pragma defer_foreign_keys = on")
        table_copy.empty_tables(target, VAULT)
        table_copy.copy_tables(source, target, VAULT)
    assert table_copy.find_different_table(source, target, VAULT) is None
