"""Plain rows of a vault: sequences, pins and audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import Sequence
from lifeboat_vault.errors import VaultDamaged
from lifeboat_vault.store.store_protocols import Row


@dataclass(frozen=True, slots=True)
class Pin:
    """Why a sequence must stay, and until when (timestamp); None for ever."""

    number: int
    reason: str
    until: str | None = None


@dataclass(frozen=True, slots=True)
class SequenceRow:
    """One kept sequence. `time`, which is signed, never goes back. `raw_time` is the clock's time when it was captured
    here, or arrived. `bytes` is the stored size that it added; `counts` are the caller's numbers of changes."""

    number: int
    base: int | None
    epoch: int
    time: str
    raw_time: str
    kind: str
    writer: str
    digest: bytes
    signature: JsonObject | None
    label: str | None
    pins: list[Pin]
    counts: JsonObject
    bytes: int

    @property
    def recorded_at(self) -> str:
        """Return when it was captured, as far as known. After a clock was ahead once, `time` stays there until it
        catches up."""
        return min(self.time, self.raw_time)

    def as_sequence(self, agent_id: str) -> Sequence:
        """Return the signed part with its signature."""
        return Sequence(agent_id, self.number, self.base, self.epoch, self.time, self.digest, self.signature)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One change of the vault: operation and subject, in numbers and hashes, never content. `hash` covers the row and
    the previous hash."""

    number: int
    time: str
    kind: str
    subject: str
    details: JsonObject
    hash: bytes


def json_of(text: str) -> Any:
    """Decode a JSON value that the vault wrote. Raises VaultDamaged for any other."""
    try:
        return json_codec.decode_json(text.encode())
    except (msgspec.DecodeError, AttributeError) as error:
        raise VaultDamaged(f"a database row contains invalid JSON: {error}") from error


def sequence_row(row: Row, pins: list[Pin]) -> SequenceRow:
    number, base, epoch, time, raw_time, kind, writer, digest, signature, label, counts, size = row
    document = None if signature is None else json_of(signature)
    numbers = json_of(counts)
    return SequenceRow(number, base, epoch, time, raw_time, kind, writer, digest, document, label, pins, numbers, size)
