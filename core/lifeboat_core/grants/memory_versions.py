"""The texts that one memory had, sequence by sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_vault.vault import Vault


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """A text that a memory had from the kept sequence `sequence` on, which was captured at `time`; `id` is the record
    with it. A purged version has no text."""

    id: str
    sequence: int | None
    time: str | None
    text: str = ""
    is_purged: bool = False


def list_versions(vault: Vault, chain: Sequence[JsonObject]) -> list[MemoryVersion]:
    """Return the texts of a memory, oldest first. `chain` is that of `records show`."""
    found: list[MemoryVersion] = []
    for one in chain:
        new = [MemoryVersion(one["id"], None, None, is_purged=True)] if one["purged"] else _of_record(vault, one["id"])
        found += [each for each in new if each.is_purged or not found or each.text != found[-1].text]
    return found


def _of_record(vault: Vault, record_id: str) -> Iterator[MemoryVersion]:
    for line, first, last in vault.stays_of_record(record_id):
        kept, record = vault.kept_within(first, last), memory_records.parse_record(line)
        if kept is not None and not memory_records.is_deleted(record):
            yield MemoryVersion(record_id, kept[0], vault.sequence(kept[0]).time, str(record.get("content", "")))
