"""Copy of the rows of a scope into a SQLite file with the same tables."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from lifeboat_endpoint.service import tenant_schema as tenant_schema
from lifeboat_endpoint.tenancy import control_schema as control_schema
from lifeboat_vault import errors
from lifeboat_vault.store import vault_schema as vault_schema
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.store.store_protocols import MetadataStore

_TABLES: dict[str, Sequence[str]] = {
    "vault": vault_schema.TABLES,
    "tenant": tenant_schema.TABLES,
    "control": control_schema.TABLES,
}


def to_sqlite(metadata: MetadataStore, kind: str, path: Path) -> None:
    """Copy all rows as of one moment. Raises VaultUnusable for tables that have no file of their own."""
    tables = _TABLES.get(kind)
    if tables is None:
        raise errors.VaultUnusable(f"tables of {kind} have no file of their own")
    with contextlib.closing(SqliteStore(path, create=True, tables=tables)) as target, metadata.snapshot():
        target.prepare()
        with target.transaction():
            # An object may name a base that is inserted later.
            target.execute("pragma defer_foreign_keys = on")
            for table in list(target.database.table_names()):
                columns = [column.name for column in target.database.table(table).columns]
                names, marks = ", ".join(columns), ", ".join("?" * len(columns))
                target.execute_many(
                    f"insert into {table}({names}) values ({marks})", metadata.rows(f"select {names} from {table}")
                )
        target.compact()
