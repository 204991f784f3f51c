"""Create a vault: its tables, its random id, and its seeds."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_vault import errors
from lifeboat_vault.at_rest.sealer import PLAIN, Sealer, key_id_of
from lifeboat_vault.rows import audit_chain, bucket_digests
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import DECISION, SEED, ColumnSealer
from lifeboat_vault.store import vault_schema
from lifeboat_vault.store.disk_blobs import translate_errors
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.store.store_protocols import MetadataStore

FIRST_EPOCH = 1
RECORD_SEED = "record_seed"
"""Decision that holds the seed of record ids, in hexadecimal. A purge replaces it."""


def create_tables(
    metadata: MetadataStore,
    agent_id: str,
    clock: Clock,
    epoch: int = FIRST_EPOCH,
    *,
    sealer: Sealer = PLAIN,
    seed: bytes | None = None,
) -> None:
    """Create the tables of an empty vault, its random id, and its seeds.

    One seed makes content keys and ids derived from names, the other makes record ids, which are derived from content.
    `seed` sets both, for temporary vaults.
    """
    metadata.prepare()
    now = times.to_text(clock.now())
    with metadata.transaction():
        columns, sealed = ColumnSealer(sealer), sealer.seal(SEED, seed or new_seed())
        row = (ids.make_id(now), agent_id, sealed, epoch, vault_schema.VERSION, now)
        metadata.execute(sql.ADD_VAULT, row)
        kept = columns.text(DECISION, json_codec.encode_json((seed or new_seed()).hex()).decode())
        metadata.execute(sql.ADD_DECISION, (RECORD_SEED, kept))
        bucket_digests.write_empty_buckets(metadata, columns)
        audit_chain.append_row(metadata, clock.now(), "create", row[0], {"agent": agent_id})


def create_vault_file(
    file: Path, agent_id: str, files: FileOperations, clock: Clock, sealer: Sealer, seed: bytes | None = None
) -> None:
    """Create the file of an empty vault atomically."""
    with translate_errors():
        new = _fresh_file(file, files)
    metadata = SqliteStore(new, create=True)
    create_tables(metadata, agent_id, clock, sealer=sealer, seed=seed)
    metadata.close()
    with translate_errors():
        files.replace(new, file)
        files.sync_folder(file.parent)


def new_seed() -> bytes:
    return os.urandom(ids.SEED_BYTES)


def open_seed(held: bytes, sealer: Sealer) -> bytes:
    """Return the seed. It also shows whether this sealer sealed the vault. Raises OtherDataKey, VaultDamaged."""
    if sealer is PLAIN and len(held) != ids.SEED_BYTES:
        raise errors.OtherDataKey("the vault is encrypted, but no data key was given", key_id=key_id_of(held))
    return sealer.open(SEED, held)


def _fresh_file(path: Path, files: FileOperations) -> Path:
    """Return an empty file beside `path` in which to build the tables, even if an earlier attempt left files."""
    new = path.with_name(f"{path.name}.new")
    for leftover in (new, *(new.with_name(f"{new.name}-{part}") for part in ("wal", "shm", "journal"))):
        with contextlib.suppress(FileNotFoundError):
            files.remove(leftover)
    files.write_new(new, b"", mode=0o600)
    return new
