"""Read a state once before anything is written: its digest, its entries, and what its memories say now.

The signature covers the digest, and the digest covers every leaf, so after this pass only bytes have to be compared
with their leaf. `ProvenState` does that at every read, and all code of a restore reads the state through it.

Where something was purged, a signed redaction vouches for what replaced a leaf. From this pass on, an entry is what it
is now: the leaf of the present bytes, cuts at their offsets in those, no ids of purged records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import AlfError, BadJson, LifeboatError, SignatureError
from lifeboat_alf.memory.effective_view import SuccessorChains, in_append_order, partitions_of
from lifeboat_alf.redaction.redactions import Redaction, Redactions
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import (
    ABSENT_LEAF,
    BodyAbsent,
    Entry,
    GoneRecord,
    Leaf,
    Record,
    State,
    StateView,
)
from lifeboat_keys.errors import SignedByAnother
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.signed import redaction_signatures, sequence_signatures
from lifeboat_keys.signed.sequence_signatures import SignatureVerdict
from lifeboat_vault.errors import VaultDamaged, VaultUnusable


@dataclass(frozen=True, slots=True)
class StateInventory:
    """What a state holds. `memories` gives the content in force of every record id, None after deletion; any id of a
    chain names its memory (ALF §3.1.5). `redactions` vouch for what differs from what was signed. `absent` are paths of
    which only the description is stored; `damaged` ones are not in `entries` (see `prove_entries`). `damaged_records`
    maps ids of records that differ from what was signed to their partition."""

    digest: bytes
    entries: dict[str, Entry]
    memories: MemoriesInForce
    redactions: tuple[Redaction, ...] = ()
    absent: frozenset[str] = frozenset()
    damaged: tuple[DamagedEntry, ...] = ()
    damaged_records: Mapping[str, str] = field(default_factory=dict)

    @property
    def damage(self) -> LifeboatError | None:
        """Return the error of the first damage, None for an undamaged state."""
        if self.damaged:
            return self.damaged[0].error
        changed = next(iter(self.damaged_records.items()), None)
        return (
            None
            if changed is None
            else SignatureError(f"the record {changed[0]} in {changed[1]} differs from the signed record")
        )


class DamagedEntry(NamedTuple):
    """An entry whose bytes do not match its leaf or cannot be read, and the error."""

    entry: Entry
    error: LifeboatError


class _RecordFields(msgspec.Struct):
    """The fields of a record that a restore reads."""

    content: str = ""
    status: Any = None
    supersedes: Any = None


class MemoriesInForce:
    """Contents in force, by any id of their chain."""

    def __init__(self) -> None:
        self._contents: dict[str, str | None] = {}
        self._successors: list[JsonObject] = []

    def add(self, record_id: str, line: _RecordFields) -> None:
        """Add a record, in append order."""
        self._contents[record_id] = None if line.status == "deleted" else line.content
        if line.supersedes and isinstance(line.supersedes, str):
            self._successors.append({"id": record_id, "status": line.status, "supersedes": line.supersedes})

    @cached_property
    def _chains(self) -> SuccessorChains:
        return SuccessorChains.of(self._successors)

    def content(self, record_id: str) -> str | None:
        """Return what a memory says now; None when it was deleted or is unknown."""
        if self._successors:
            record_id = self._chains.winner(record_id)
        return self._contents.get(record_id)

    def chain_of(self, record_id: str) -> tuple[str, ...]:
        """Return all ids of a memory, given any of them."""
        return self._chains.chain_of(record_id) if self._successors else (record_id,)

    def winners(self) -> Iterator[str]:
        """Yield the existing memories, by the id of the record in force."""
        chained = {record_id for each in self._successors for record_id in (each["id"], each["supersedes"])}
        for record_id, text in self._contents.items():
            if text is not None and (record_id not in chained or self._chains.wins(record_id)):
                yield record_id

    def in_force(self) -> int:
        """Return the number of existing memories."""
        return sum(1 for _ in self.winners())

    def of(self, record_ids: list[str]) -> list[tuple[str, str]]:
        """Return the memories of a file, in order: id and content."""
        found = ((record_id, self.content(record_id)) for record_id in record_ids)
        return [(record_id, text) for record_id, text in found if text is not None]


class ProvenState(StateView):
    """A state whose entries are those of an inventory, and whose bytes are compared with their leaves at every read.

    What was checked and what is used are therefore the same, even if the file or the vault behind it changes.
    """

    def __init__(self, state: State, inventory: StateInventory) -> None:
        super().__init__(state)
        self.inventory = inventory
        self._entries = inventory.entries
        self._damaged = inventory.damaged_records

    @property
    def as_signed(self) -> State:
        """Return the state with the leaves that were signed, without the replacements by redactions."""
        return self._state

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return (entry for path, entry in self._entries.items() if path.startswith(prefix))

    def entry(self, path: str) -> Entry | None:
        return self._entries.get(path)

    def body(self, path: str) -> bytes:
        """Return the bytes of an entry. Raises KeyError, BodyAbsent, SignatureError."""
        body = self._state.body(path)
        if not self._is_proven(self._entries[path], body):
            raise SignatureError(f"{path} differs from the signed content")
        return body

    def _is_proven(self, entry: Entry, body: bytes) -> bool:
        """Return whether bytes match their leaf. Bytes under a leaf for absent bytes prove nothing; only an unsigned
        state has them."""
        if entry.leaf.digest == ABSENT_LEAF:
            return self._state.sequence.signature is None
        return merkle.leaf_holds(entry.leaf, body)

    def records(self, partition: str | None = None) -> Iterator[Record]:
        return (record for record in self._state.records(partition) if record.id not in self._damaged)

    def record(self, record_id: str) -> Record | None:
        return None if record_id in self._damaged else self._state.record(record_id)


def take_inventory(state: State) -> StateInventory:
    """Read a whole state except for the bytes of its entries. Raises SignatureError for a record that is missing
    although no redaction removed it."""
    entries, vouching = dict[str, Entry](), _RedactionVouching(state.redactions)
    memories = MemoriesInForce()
    items = []
    for entry in state.entries():
        items.append(merkle.entry_item(entry))
        entries[entry.path] = vouching.as_it_is(entry)
    damaged: dict[str, str] = {}
    items.extend(_record_items(state, memories, vouching, damaged))
    redactions = tuple(vouching.asked.values())
    return StateInventory(merkle.digest_of_items(items), entries, memories, redactions, damaged_records=damaged)


def prove_entries(
    state: State, inventory: StateInventory, wants: Callable[[Entry], bool] = lambda _: True
) -> StateInventory:
    """Read the bytes of every wanted entry and compare them with its leaf. Return the inventory without damaged
    entries."""
    proven = ProvenState(state, inventory)
    absent, damaged = set[str](), dict[str, DamagedEntry]()
    for path, entry in inventory.entries.items():
        if not wants(entry):
            continue
        try:
            proven.body(path)
        except BodyAbsent:
            absent.add(path)
        except (AlfError, VaultDamaged, VaultUnusable) as error:
            damaged[path] = DamagedEntry(entry, error)
    entries = {path: entry for path, entry in inventory.entries.items() if path not in damaged}
    return replace(inventory, entries=entries, absent=frozenset(absent), damaged=tuple(damaged.values()))


class _RedactionVouching:
    """What redactions say about a state. `asked` are those that concern it, by id."""

    def __init__(self, known: Redactions) -> None:
        self._known = known
        self.asked: dict[str, Redaction] = {}

    def as_it_is(self, entry: Entry) -> Entry:
        """Return an entry with its present meta, and for a replaced one the leaf of its present bytes."""
        if not self._known:
            return entry
        made = entry._replace(meta=self._known.meta(entry.meta, entry.leaf.digest))
        if entry.leaf.salt or entry.leaf.digest == ABSENT_LEAF:
            return made
        self._ask(entry.leaf)
        replacement = self._known.replacement(entry.leaf.digest)
        if replacement is not None:
            return made._replace(leaf=replacement.leaf, sha256=None)
        is_gone = self._known.is_gone(entry.leaf.digest)
        return made._replace(leaf=merkle.new_leaf(b""), sha256=None) if is_gone else made

    def holds(self, record: Record) -> bool:
        """Return whether a line is what was signed, or what a redaction put there."""
        if merkle.leaf_holds(record.leaf, record.line):
            return True
        self._ask(record.leaf)
        return self._known.hold(record.leaf, record.line)

    def is_gone(self, gone: GoneRecord) -> bool:
        self._ask(gone.leaf)
        return self._known.is_gone(gone.leaf.digest)

    def _ask(self, leaf: Leaf) -> None:
        self.asked.update((one.id, one) for one in self._known.all_naming(leaf.digest))


def _record_items(
    state: State, memories: MemoriesInForce, vouching: _RedactionVouching, damaged: dict[str, str]
) -> Iterator[tuple[bytes, bytes]]:
    decode = msgspec.json.Decoder(_RecordFields).decode
    for record in _records_of(state):
        if vouching.holds(record):
            memories.add(record.id, _decoded(record, decode))
        else:
            damaged[record.id] = record.partition
        yield merkle.record_item(record)
    for gone in state.gone():
        if not vouching.is_gone(gone):
            raise SignatureError(f"the record {gone.id} in {gone.partition} is missing, but no purge removed it")
        yield merkle.record_item(gone)


def _records_of(state: State) -> Iterator[Record]:
    """Return the records in append order, or by partition name when the manifest is damaged."""
    try:
        partitions_of(state)
    except (AlfError, VaultDamaged, VaultUnusable, msgspec.DecodeError, TypeError, KeyError, AttributeError):
        return state.records()
    return in_append_order(state)


def _decoded(record: Record, decode: Any) -> _RecordFields:
    try:
        line: _RecordFields = decode(record.line)
    except msgspec.DecodeError as error:
        raise BadJson(str(error), entry=record.partition, line=record.position + 1) from None
    return line


def check_signature(
    state: State, inventory: StateInventory, trusted: TrustedKeys | None, *, accept_others: bool = False
) -> SignatureVerdict:
    """Verify the signatures of a state and of every redaction that concerns it. `trusted` are the accepted signers,
    None when there is no key.

    Raises SignatureError when the state is not the one that was signed, SignedByAnother when another user signed it;
    with `accept_others` the latter is UNKNOWN_SIGNER.
    """
    sequence = state.sequence
    if sequence.digest and sequence.digest != inventory.digest:
        raise SignatureError(f"sequence {sequence.number} does not match its signed digest")
    for redaction in inventory.redactions if sequence.signature is not None else ():
        _check_redaction(redaction, trusted, accept_others=accept_others)
    try:
        return sequence_signatures.verify_sequence(sequence, trusted)
    except SignedByAnother:
        if not accept_others:
            raise
    return sequence_signatures.verify_sequence(sequence, None)


def _check_redaction(redaction: Redaction, trusted: TrustedKeys | None, *, accept_others: bool) -> None:
    """Verify a redaction. Otherwise the sender of a state could leave memories out by claiming a purge."""
    try:
        redaction_signatures.verify_redaction(redaction, trusted)
    except SignedByAnother:
        if not accept_others:
            raise
        redaction_signatures.verify_redaction(redaction, None)


def has_same_bytes(entry: Entry, data: bytes) -> bool:
    """Return whether bytes on disk are what an entry holds, without reading the entry."""
    if entry.leaf.salt:
        return merkle.leaf_holds(entry.leaf, data)
    return entry.sha256 is not None and hashlib.sha256(data).hexdigest() == entry.sha256
