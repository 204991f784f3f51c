"""Import of memories of another system as the next sequence of an agent: all of them or none.

The sequence has no signature. So it is allowed only while no machine of the owner writes the agent: that machine would
find a head that it did not make, and be fenced. The audit row of the vault is written in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadDocument
from lifeboat_alf.memory import memory_records, partitions
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_alf.states.agent_state import Sequence, State
from lifeboat_endpoint.service.agent_roster import AgentRow
from lifeboat_vault.errors import DraftInvalid, WriterPresent
from lifeboat_vault.legacy.legacy_memory import LegacyMemory, check_record
from lifeboat_vault.vault import FIRST_EPOCH, Draft, EntryPut, SequenceRow, Vault
from lifeboat_vault.vault.empty_state import EmptyState

KIND = "import"
"""Kind and writer of imported sequences."""
_MOST_QUARTERS = 800
"""Two centuries. Each quarter is a file in every snapshot, and is searched for every memory."""


@dataclass(frozen=True, slots=True)
class Additions:
    """What to add and change. `records` are complete except for `agent_id`.

    `changes` are fields by the id of the current record; None removes a field. `entries` are bytes by archive path.
    """

    records: Iterable[JsonObject] = ()
    changes: Iterable[tuple[str, JsonObject]] = ()
    entries: Mapping[str, bytes] = field(default_factory=dict)


def check_importable(vault: Vault) -> None:
    """Raise WriterPresent if a machine of the owner writes this agent."""
    head = vault.head()
    if vault.epoch > FIRST_EPOCH or not (head is None or head.kind == KIND):
        raise WriterPresent(
            "a machine of the owner writes this agent; an import at the endpoint would prevent "
            "further pushes from that machine",
            sequence=None if head is None else head.number,
        )


def state_at(vault: Vault, base: SequenceRow | None) -> State:
    """Return the state of `base`, or an empty state for None."""
    return EmptyState(vault.agent_id, vault.redactions) if base is None else vault.state_of(base)


def add_memories(
    vault: Vault,
    row: AgentRow,
    base: SequenceRow | None,
    before: State,
    added: Additions,
    *,
    purges: int,
    clock: Clock,
    check_room: Callable[[int], None] = lambda _: None,
) -> SequenceRow | None:
    """Commit the sequence after `base`, whose state is `before`; return None if nothing is added.

    `purges` is how many redactions were known when `before` was read. `check_room` gets the bytes to keep, which may be
    more than were sent. Raises DraftInvalid if the vault changed meanwhile, BadDocument for an invalid record and for
    too many quarters, WriterPresent, and what `check_room` raises.
    """
    memory = LegacyMemory(vault, before, clock.now())
    _put(memory, before, vault.agent_id, added)
    entries: dict[str, EntryPut | None] = {path: EntryPut({}, body) for path, body in added.entries.items()}
    if not memory.puts and not entries:
        return None
    check_room(sum(len(put.line or b"") for put in memory.puts) + sum(map(len, added.entries.values())))
    entries[archive_layout.MANIFEST] = EntryPut({}, _head_document(before, row, memory))

    def check_still(sequence: Sequence) -> None:
        if sequence.epoch > FIRST_EPOCH:
            raise WriterPresent("a machine of the owner has just taken this agent over")

    draft = Draft(entries, memory.puts, purges=purges)
    number = 0 if base is None else base.number + 1
    return vault.commit(draft, kind=KIND, writer=KIND, time=clock.now(), number=number, sign=check_still)


def _put(memory: LegacyMemory, before: State, agent_id: str, added: Additions) -> None:
    known = len(memory.partitions)
    for number, record in enumerate(added.records, 1):
        whole = {**record, "agent_id": agent_id}
        check_record(whole, entry="an imported memory", line=number)
        memory.put(memory_records.line_of(whole))
        # Existing partitions are never refused.
        if len(memory.partitions) > max(known, _MOST_QUARTERS):
            message = f"the memories of an agent may span at most {_MOST_QUARTERS} quarters of a year"
            raise BadDocument(message, entry="an imported memory", line=number)
    for number, (record_id, fields) in enumerate(added.changes, 1):
        held = before.record(record_id)
        if held is None:
            raise DraftInvalid("a memory that the import changes no longer exists")
        changed = {
            name: value
            for name, value in {**memory_records.parse_record(held.line), **fields}.items()
            if value is not None
        }
        check_record(changed, entry="a changed memory", line=number)
        memory.put(memory_records.line_of(changed))


def _head_document(before: State, row: AgentRow, memory: LegacyMemory) -> bytes:
    """Return the present manifest with the partitions as they are now."""
    listed = [partitions.to_item(partition) for partition in memory.partitions]
    if before.entry(archive_layout.MANIFEST) is None:
        agent = {"id": row.id, "name": row.facts.name, "source_runtime": row.facts.runtime}
        return json_codec.encode_pretty({"agent": agent, "partitions": listed})
    head = json_codec.decode_object(before.body(archive_layout.MANIFEST), entry=archive_layout.MANIFEST)
    return json_codec.encode_pretty({**head, "partitions": listed})
