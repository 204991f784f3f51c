"""Forward migrations of a vault's tables. A copy of the file is kept; a newer file is refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lifeboat_endpoint import errors
from lifeboat_endpoint.store import schema
from lifeboat_endpoint.store.protocols import MetadataStore

Steps = Mapping[int, Sequence[str]]

STEPS: Steps = {}
"""From schema version k to k + 1: the statements."""


def migrate(metadata: MetadataStore, file: Path, steps: Steps = STEPS, target: int = schema.VERSION) -> Path | None:
    """Bring the tables to `target` in one transaction; the path of the kept copy, None when nothing was to be done.

    Raises VaultNewer, VaultDamaged (no tables of a vault in the file).
    """
    found = _version(metadata, file)
    if found > target:
        raise errors.VaultNewer(f"{file} has schema {found}, this program knows {target}")
    if found == target:
        return None
    copy = file.with_name(f"{file.name}.schema-{found}")
    copy.unlink(missing_ok=True)
    metadata.copy_to(copy)
    with metadata.transaction():
        for version in range(_version(metadata, file), target):
            for statement in steps[version]:
                metadata.execute(statement)
        metadata.execute("update vault set schema = ?", (target,))
    return copy


def _version(metadata: MetadataStore, file: Path) -> int:
    row = metadata.row("select schema from vault")
    if row is None:
        raise errors.VaultDamaged(f"{file} holds no vault")
    return int(row[0])
