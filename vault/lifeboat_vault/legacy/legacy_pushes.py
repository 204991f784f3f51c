"""Accept pushes of clients that sign nothing, as the next states of the agent's vault.

This works until a Lifeboat device adopts the agent; such a client never writes over a signed state. Its states are
numbered here (its deltas carry no number), unsigned, and dated with this endpoint's clock. Two things are refused:
settings files redacted line by line, whose secrets remain where the redaction fails, and unencrypted credentials.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from lifeboat_alf.archive import archive_layout, artifact_index
from lifeboat_alf.archive.archive_documents import credentials_in_clear
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.delta_reader import DeltaReader, RecordLine
from lifeboat_alf.errors import ApplyError
from lifeboat_alf.memory import memory_records, partitions
from lifeboat_alf.memory.effective_view import SuccessorChains, effective_records, partitions_of
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import Entry, Partition, Record, State
from lifeboat_vault.errors import DraftInvalid, RemoteRefused, StaleBase
from lifeboat_vault.legacy.legacy_memory import LegacyMemory, check_record, purged_ids
from lifeboat_vault.legacy.legacy_notes import changed_notes
from lifeboat_vault.vault import FIRST_EPOCH, Draft, EntryPut, RecordPut, SequenceRow, Vault, VaultState
from lifeboat_vault.vault.empty_state import EmptyState

WRITER = "older client"
"""`SequenceRow.writer` of such states. These clients have no name of their own."""

SNAPSHOT, DELTA = "snapshot", "delta"
"""Kinds of such sequences."""

REDACTED = frozenset({"raw/zeroclaw/config.toml"})
"""A settings file that was redacted line by line. It is never kept, because restoring it would break the live one."""


def is_adopted(vault: Vault) -> bool:
    """Return whether a Lifeboat device writes this agent: its head is signed, or an epoch began."""
    head = vault.head()
    return vault.epoch > FIRST_EPOCH or (head is not None and head.signature is not None)


def accept_snapshot(
    vault: Vault, reader: SnapshotReader, *, clock: Clock, writer: str = WRITER, number: int | None = None
) -> SequenceRow:
    """Accept a snapshot with everything that the client has, as the next sequence; 0 for an agent without history.

    It replaces no earlier sequence. If it equals the head, nothing changes and the head is returned. `number` is the
    number at another service, which must be larger than the head's.

    Raises ApplyError.WRONG_AGENT, StaleBase (a Lifeboat device writes the agent), RemoteRefused (an unencrypted
    credential), and the ArchiveError family.
    """
    _check_agent(vault, reader.sequence.agent_id)
    check_not_adopted(vault)
    _check_credentials(reader)
    head = vault.head()
    draft = _whole(reader, purged_ids(vault)) if head is None else _next_snapshot(vault, reader, clock)
    found = _commit(vault, draft, head, clock, kind=SNAPSHOT, writer=writer, number=number) or head
    assert found is not None, "a snapshot must contain at least the manifest"
    return found


def accept_delta(
    vault: Vault, reader: DeltaReader, base: int, *, clock: Clock, writer: str = WRITER, number: int | None = None
) -> SequenceRow | None:
    """Accept the client's changes since `base` as the next sequence; None when they change nothing.

    A delta that made the head and is sent again, because its answer was lost, returns the head. `number` as for
    `accept_snapshot`. As the client means it, these are ignored: a `create` of an existing record, changes to unknown
    ones, unknown operations, and further lines about a record that the same delta creates. A deleted record is gone.

    Raises ApplyError.WRONG_AGENT, StaleBase (`base` is not the head, or a Lifeboat device writes the agent),
    RemoteRefused, and the ArchiveError family.
    """
    _check_agent(vault, reader.agent_id)
    check_not_adopted(vault)
    head = vault.head()
    if head is not None and _is_sent_again(vault, reader, head, base, clock):
        return head
    head = _checked_base(vault, base)
    state = vault.state(base)
    memory = LegacyMemory(vault, state, clock.now())
    for line in _lines(reader):
        _apply(memory, line)
    entries = _notes_after(state, memory)
    entries |= {**dict(_changed_documents(reader)), **_head_with(state, memory.partitions)}
    return _commit(vault, Draft(entries, memory.puts), head, clock, kind=DELTA, writer=writer, number=number)


def accept_partial_delta(
    vault: Vault, reader: DeltaReader, base: int, *, clock: Clock, name: str, writer: str = WRITER
) -> SequenceRow:
    """Accept the client's changes since `base` for an agent whose earlier state only another service has.

    It becomes the first sequence here, under the number `base` + 1, or the next one. Each change carries its whole
    record, so it is kept even if there is nothing to change. No note is made, because not all memories of a note are
    here. Raises as `accept_delta`.
    """
    _check_agent(vault, reader.agent_id)
    check_not_adopted(vault)
    head = vault.head()
    if head is not None and _is_sent_again(vault, reader, head, base, clock):
        return head
    head = None if head is None else _checked_base(vault, base)
    state = EmptyState(vault.agent_id, vault.redactions) if head is None else vault.state(base)
    memory = LegacyMemory(vault, state, clock.now())
    for line in _lines(reader):
        if line.operation == "delete":
            memory.remove(line.id)
        else:
            memory.put(line.line)
    listed = [partitions.to_item(partition) for partition in memory.partitions]
    agent = {
        "id": vault.agent_id,
        "name": name,
        "source_runtime": str(reader.manifest["agent"].get("source_runtime") or ""),
    }
    document = {"agent": agent} if head is None else json_codec.decode_json(state.body(archive_layout.MANIFEST))
    entries = dict(_changed_documents(reader))
    entries[archive_layout.MANIFEST] = EntryPut({}, json_codec.encode_pretty({**document, "partitions": listed}))
    draft = Draft(entries, memory.puts)
    return _commit(vault, draft, head, clock, kind=DELTA, writer=writer, number=base + 1) or _head_of(vault)


def _head_of(vault: Vault) -> SequenceRow:
    head = vault.head()
    assert head is not None, "the first sequence of an agent must contain at least the manifest"
    return head


def _commit(
    vault: Vault,
    draft: Draft,
    base: SequenceRow | None,
    clock: Clock,
    *,
    kind: str,
    writer: str,
    number: int | None,
) -> SequenceRow | None:
    """Commit the draft directly after `base`, on which it was made, and only if nothing came meanwhile."""
    if number is None:
        number = 0 if base is None else base.number + 1
    try:
        return vault.commit(draft, kind=kind, writer=writer, time=clock.now(), number=number)
    except DraftInvalid:
        head = vault.head()
        if head is None or head.number < number:
            raise
        raise _stale(head, None if base is None else base.number) from None


# Checks -------------------------------------------------------------------------------------------------------------


def _check_agent(vault: Vault, agent_id: str) -> None:
    if agent_id.lower() != vault.agent_id.lower():
        raise ApplyError.WRONG_AGENT(f"the pushed data belongs to the agent {agent_id}, not to {vault.agent_id}")


def check_not_adopted(vault: Vault) -> None:
    """Refuse to write an adopted agent with StaleBase, on which such clients tell their user to restore."""
    if is_adopted(vault):
        head = vault.head()
        raise StaleBase(
            "a machine with Lifeboat writes this agent, so clients without signatures can only restore the agent",
            sequence=None if head is None else head.number,
        )


def _checked_base(vault: Vault, base: int) -> SequenceRow:
    """Return the head, which must be the base."""
    head = vault.head()
    if head is None:
        raise StaleBase("the endpoint has no snapshot of the agent, so a delta cannot be applied")
    if head.number != base:
        raise _stale(head, base)
    return head


def _stale(head: SequenceRow, base: int | None) -> StaleBase:
    made_on = "nothing" if base is None else str(base)
    return StaleBase(
        f"the newest sequence on the endpoint is {head.number}, but the pushed data is based on {made_on}",
        sequence=head.number,
    )


def _check_credentials(reader: SnapshotReader) -> None:
    if reader.entry(archive_layout.CREDENTIALS) is not None:
        _check_payloads(reader.body(archive_layout.CREDENTIALS))


def _check_payloads(body: bytes) -> None:
    for credential_id in credentials_in_clear(json_codec.decode_object(body, entry=archive_layout.CREDENTIALS)):
        raise RemoteRefused(f"the credential {credential_id} is not encrypted, so nothing of this request was stored")


# Snapshots ----------------------------------------------------------------------------------------------------------


def _whole(reader: SnapshotReader, purged: frozenset[str]) -> Draft:
    entries = {entry.path: _taken(reader, entry) for entry in _kept(reader)}
    return Draft(entries, (_appended(record) for record in reader.records() if record.id not in purged))


def _appended(record: Record) -> RecordPut:
    check_record(memory_records.parse_record(record.line), entry=record.partition, line=record.position + 1)
    return RecordPut("create", record.id, record.partition, record.line)


def _next_snapshot(vault: Vault, reader: SnapshotReader, clock: Clock) -> Draft:
    state = vault.state()
    memory = LegacyMemory(vault, state, clock.now())
    sent = set()
    for record in reader.records():
        check_record(memory_records.parse_record(record.line), entry=record.partition, line=record.position + 1)
        memory.put(record.line)
        sent.add(record.id)
    for chain in _alive(state, memory.chains):
        if sent.isdisjoint(chain):
            memory.remove(chain[0])
    return Draft(_next_entries(state, reader, memory.partitions), memory.puts)


def _alive(state: State, chains: SuccessorChains) -> Iterator[tuple[str, ...]]:
    """Yield the chains of all memories that such a client has."""
    for item in effective_records(state, chains):
        if not memory_records.is_deleted(item.record):
            yield item.chain_ids


def _kept(reader: SnapshotReader) -> Iterator[Entry]:
    return (entry for entry in reader.entries() if entry.path not in REDACTED)


def _taken(reader: SnapshotReader, entry: Entry) -> EntryPut:
    if artifact_index.is_referenced(entry.meta):
        return EntryPut(entry.meta, None, entry.leaf, entry.size, entry.sha256)
    return EntryPut(entry.meta, partial(reader.body, entry.path))


def _next_entries(state: VaultState, reader: SnapshotReader, known: list[Partition]) -> dict[str, EntryPut | None]:
    """Return changed entries, and None for those missing from the snapshot."""
    sent = {entry.path: entry for entry in _kept(reader)}
    gone = (entry.path for entry in state.entries() if entry.path not in sent)
    changed = {path: _taken(reader, entry) for path, entry in sent.items() if not _is_there(state, entry)}
    listed = {"partitions": _listed(state, known)}
    body = json_codec.encode_pretty({**reader.head, **listed})
    return {**dict.fromkeys(gone), **changed, archive_layout.MANIFEST: EntryPut({}, body)}


def _is_there(state: VaultState, entry: Entry) -> bool:
    before = state.entry(entry.path)
    return before is not None and (before.meta, before.size, before.sha256) == (entry.meta, entry.size, entry.sha256)


# Deltas -------------------------------------------------------------------------------------------------------------


def _lines(reader: DeltaReader) -> Iterator[RecordLine]:
    for line in reader.records(skip_unknown=True):
        check_record(memory_records.parse_record(line.line), entry=archive_layout.DELTA_RECORDS, line=line.number)
        yield line


def _is_sent_again(vault: Vault, reader: DeltaReader, head: SequenceRow, base: int, clock: Clock) -> bool:
    """Return whether the head is exactly what this delta makes of its base."""
    if head.kind != DELTA or base != (head.number - 1 if head.base is None else head.base):
        return False
    memory, named = LegacyMemory(vault, vault.state(head.number), clock.now()), set[str]()
    for line in _lines(reader):
        named.update(memory.chains.chain_of(line.id))
        if line.operation == "delete":
            memory.remove(line.id)
        else:
            memory.put(line.line)
    return not memory.puts and _changed_since(vault, head) <= named


def _changed_since(vault: Vault, head: SequenceRow) -> set[str]:
    """Return the ids of the records that the head brought: all of a first state."""
    if head.base is None:
        return {record.id for record in vault.state(head.number).records()}
    return {change.record.id for change in vault.changes(head.base, head.number).records}


def _apply(memory: LegacyMemory, line: RecordLine) -> None:
    if memory.holds(line.id) == (line.operation == "create"):
        return
    if line.operation == "delete":
        memory.remove(line.id)
    else:
        memory.put(line.line)


def _changed_documents(reader: DeltaReader) -> Iterator[tuple[str, EntryPut | None]]:
    """Yield documents that travel beside the memory. The client sends them whole; a patch would need our proof."""
    for item in reader.items:
        if item.path in REDACTED or item.path == archive_layout.MANIFEST:
            continue
        if item.operation == "remove":
            yield item.path, None
        elif item.operation == "put" and item.entry is not None:
            body = reader.read(item.entry)
            if item.path == archive_layout.CREDENTIALS:
                _check_payloads(body)
            yield item.path, EntryPut(entry_metas.check_meta(item.path, item.meta), body)
        else:
            raise RemoteRefused(f"{item.path}: a delta without signature must contain whole files, not patches")


def _notes_after(state: VaultState, memory: LegacyMemory) -> dict[str, EntryPut | None]:
    """Return the notes after the changes. The client sends its files once and later only memories, so the notes are
    derived from these, and every state restores correctly."""
    runtime = str(_head(state)["agent"].get("source_runtime", ""))
    prefix = archive_layout.raw_prefix(runtime)

    def read(path: str) -> bytes | None:
        return None if state.entry(prefix + path) is None else state.body(prefix + path)

    files = memory.files()
    changed = changed_notes(memory.after(files), files, runtime, read)
    return {prefix + path: None if body is None else EntryPut({}, body) for path, body in changed.items()}


def _head_with(state: VaultState, known: list[Partition]) -> dict[str, EntryPut | None]:
    """Return the head document if partitions were opened."""
    head, listed = _head(state), _listed(state, known)
    if listed == head.get("partitions"):
        return {}
    return {archive_layout.MANIFEST: EntryPut({}, json_codec.encode_pretty({**head, "partitions": listed}))}


def _listed(state: VaultState, known: list[Partition]) -> list[JsonObject]:
    """Return the partitions for a head; unchanged ones as they are listed there."""
    if known == partitions_of(state):
        return list(_head(state).get("partitions", []))
    return [partitions.to_item(partition) for partition in known]


def _head(state: VaultState) -> JsonObject:
    head: JsonObject = json_codec.decode_json(state.body(archive_layout.MANIFEST))
    return head
