"""Read and write the manifest's head document, mint record ids, and commit one signed sequence."""

from __future__ import annotations

from collections.abc import Iterable

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import partitions
from lifeboat_alf.memory.partitions import PartitionLedger
from lifeboat_alf.memory.record_lifecycle import RecordStep
from lifeboat_core.agents.name_conflicts import find_conflicts
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.home.context import Context
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.texts.human_text import path_text
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.errors import DraftInvalid
from lifeboat_vault.vault import Draft, RecordPut, SequenceRow, Vault

SEEN_AT = "seen_at"
"""The fact of `state.db` that names the sequence whose files the stat cache describes."""


def read_head(overlay: Overlay) -> JsonObject:
    """Return the manifest's head document of the newest sequence, {} before the first one."""
    data = overlay.old_body(archive_layout.MANIFEST)
    document: JsonObject = {} if data is None else json_codec.decode_json(data)
    return document


def write_head(overlay: Overlay, head: JsonObject, ledger: PartitionLedger) -> None:
    """Put the head document into the overlay, with the current partitions."""
    head["partitions"] = [partitions.to_item(partition) for partition in ledger.partitions]
    head["partition_granularity"] = ledger.granularity
    overlay.put(archive_layout.MANIFEST, overlay.meta(archive_layout.MANIFEST) or {}, json_codec.encode_json(head))


class RecordIdMinter:
    """Mints ids for new records. An id that history, this change or a purge has used is not given again."""

    def __init__(self, vault: Vault) -> None:
        self._next_ordinal: dict[str, int] = {}
        self._claimed: set[str] = set()
        self._vault = vault
        self._is_empty = vault.head() is None
        self._purged, self._seed = vault.redactions.record_ids, vault.record_seed

    def __call__(self, created_at: str, *parts: str) -> str:
        first = minted = ids.mint_id(self._seed, created_at, *parts)
        ordinal = self._next_ordinal.get(first, 0)
        while True:
            if ordinal:
                minted = ids.mint_id(self._seed, created_at, *parts, ordinal=ordinal)
            ordinal += 1
            if self._is_free(minted):
                self._next_ordinal[first] = ordinal
                return minted

    def claim(self, record_id: str) -> bool:
        """Reserve the id that a record had elsewhere; return whether it was free."""
        if not ids.is_uuid(record_id) or not self._is_free(record_id):
            return False
        self._claimed.add(record_id)
        return True

    def _is_free(self, record_id: str) -> bool:
        if record_id in self._purged or record_id in self._claimed:
            return False
        return self._is_empty or not self._vault.has_record(record_id)


def commit_sequence(
    context: Context,
    vault: Vault,
    overlay: Overlay,
    steps: Iterable[RecordStep],
    *,
    kind: str,
    time: str,
    counts: JsonObject,
    purges: int | None = None,
) -> SequenceRow | None:
    """Commit one signed sequence; return None when nothing changes.

    `steps` may be a generator that completes the overlay and `counts` while it is consumed. `purges` is the number of
    redactions known when the head was read.

    Raises RedactedMeanwhile when a redaction was applied since, and what the vault and the keys raise.
    """
    device = context.keys().device
    return vault.commit(
        Draft(overlay.puts, (RecordPut(*step) for step in steps), counts=counts, purges=purges),
        kind=kind,
        writer=device.id,
        time=time,
        raw_time=context.now(),
        sign=lambda sequence: sequence_signatures.sign_sequence(sequence, device),
    )


def refuse_conflicts(overlay: Overlay, runtime: str) -> None:
    """Raise DraftInvalid for names that no folder can hold side by side, because a restore would leave one out."""
    for path, other in find_conflicts(overlay, runtime, overlay.puts):
        raise DraftInvalid(
            f"{path_text(path)} conflicts with {path_text(other)}: no folder can contain both",
            fix="lifeboat doctor --bundle FILE",
        )


def advance_stat_cache(db: StateDb, row: SequenceRow) -> None:
    """Let the stat cache describe the new head, for a sequence that changed no file."""
    if db.get(SEEN_AT) == row.base:
        db.put(SEEN_AT, row.number)
