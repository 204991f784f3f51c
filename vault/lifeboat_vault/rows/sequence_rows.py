"""What the vault says about its sequences, pins and audit: plain rows."""

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
    """Why a sequence must stay; until when (timestamp), None for ever."""

    number: int
    reason: str
    until: str | None = None


@dataclass(frozen=True, slots=True)
class SequenceRow:
    """One kept sequence. `time`, which is signed, never goes back. `raw_time` is what the clock of this vault said when
    it was captured here, or arrived. `bytes` is what it added to the vault as stored; `counts` is the caller's (what
    changed, in numbers)."""

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
        """When it was captured, as far as is known: after a clock was ahead once, `time` stays there for as long."""
        return min(self.time, self.raw_time)

    def as_sequence(self, agent_id: str) -> Sequence:
        """The part a signature covers, and the signature."""
        return Sequence(agent_id, self.number, self.base, self.epoch, self.time, self.digest, self.signature)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One change of the vault: what was done to which subject, in numbers and hashes, never content. `hash` covers
    the row and the hash before it."""

    number: int
    time: str
    kind: str
    subject: str
    details: JsonObject
    hash: bytes


def json_of(text: str) -> Any:
    """A JSON value the vault wrote. Raises VaultDamaged when somebody else wrote it."""
    try:
        return json_codec.decode_json(text.encode())
    except (msgspec.DecodeError, AttributeError) as error:
        raise VaultDamaged(f"a row holds what is not JSON: {error}") from error


def sequence_row(row: Row, pins: list[Pin]) -> SequenceRow:
    number, base, epoch, time, raw_time, kind, writer, digest, signature, label, counts, size = row
    document = None if signature is None else json_of(signature)
    numbers = json_of(counts)
    return SequenceRow(number, base, epoch, time, raw_time, kind, writer, digest, document, label, pins, numbers, size)
