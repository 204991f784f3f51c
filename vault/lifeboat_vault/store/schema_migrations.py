"""Migrate tables forward. A copy of the file is kept; a newer file is refused by name.

The column `schema` of a table with one row holds the version: `vault` in a vault's file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_vault import errors
from lifeboat_vault.store import vault_schema
from lifeboat_vault.store.disk_blobs import translate_errors
from lifeboat_vault.store.store_protocols import MetadataStore

Steps = Mapping[int, Sequence[str]]

STEPS: Steps = {
    1: (
        "alter table redaction add column waits_until text",
        "alter table redaction add column swept integer not null default 0",
        "create index object_leaf on object(leaf)",
        "create index object_bodyless on object(leaf) where body is null and file is null",
    )
}
"""Statements that lead from schema version k to k + 1. A vault of schema 1 keeps the column `replaced_by` of its
objects and its index, both empty, because removing them would rewrite every row of bodies."""


def migrate_tables(
    metadata: MetadataStore,
    file: Path,
    steps: Steps = STEPS,
    target: int = vault_schema.VERSION,
    *,
    table: str = "vault",
) -> Path | None:
    """Migrate the tables to `target` in one transaction; return the path of the kept copy, None when nothing was to be
    done.

    The transaction begins before the copy is made, so that nothing is committed in between. Of two processes that open
    an older file at once, the second finds it migrated. `table` holds the version. Raises VaultNewer, VaultDamaged (no
    row there), VaultFull.
    """
    found = _version(metadata, file, table)
    if found > target:
        raise errors.VaultNewer(
            f"{file} has database schema {found}, but this release supports only schemas up to {target}"
        )
    if found == target:
        return None
    with metadata.transaction():
        found = _version(metadata, file, table)
        if found == target:
            return None
        copy = _keep(metadata, file, found)
        reach_crash_point(CrashPoint.MIGRATE_COPIED)
        for version in range(found, target):
            for statement in steps[version]:
                metadata.execute(statement)
        metadata.execute(f"update {table} set schema = ?", (target,))
        reach_crash_point(CrashPoint.MIGRATE_DONE)
    reach_crash_point(CrashPoint.MIGRATE_NOTED)
    return copy


def _keep(metadata: MetadataStore, file: Path, version: int) -> Path:
    """Copy the tables as they are; a file under the final name is complete. The service removes it after 30 days."""
    copy = file.with_name(f"{file.name}.schema-{version}")
    begun = file.with_name(f".{copy.name}.tmp")
    with translate_errors():
        begun.unlink(missing_ok=True)
        metadata.copy_to(begun)
        reach_crash_point(CrashPoint.MIGRATE_COPYING)
        begun.replace(copy)
        SystemFiles().sync_folder(copy.parent)
    return copy


def _version(metadata: MetadataStore, file: Path, table: str) -> int:
    row = metadata.row(f"select schema from {table}")
    if row is None:
        raise errors.VaultDamaged(f"the database {file} contains no table {table}")
    return int(row[0])
