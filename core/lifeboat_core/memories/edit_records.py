"""User operations on single memories: show, forget, restore, pin. Every change is a separate sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import identity_version
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records, partitions, record_lifecycle
from lifeboat_alf.memory.partitions import PartitionLedger
from lifeboat_alf.memory.record_lifecycle import RecordContext, RecordStep
from lifeboat_alf.states.agent_state import Record, State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture import sequence_commit
from lifeboat_core.capture.capture_work import FORGOTTEN
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.errors import UnknownRecord
from lifeboat_core.home.context import Context
from lifeboat_core.memories import memory_search, record_details
from lifeboat_core.state.state_db import StateDb
from lifeboat_vault.vault import SequenceRow, Vault

Change = Callable[[RecordContext, JsonObject, Record, State], RecordStep | None]


def show_records(context: Context, agent: Agent, ids: Sequence[str]) -> list[JsonObject]:
    """Return the memories that ids (any id of a chain) name: the current record, `forgotten`, and more `about` it (see
    `record_details`).

    Raises UnknownRecord, UnknownRecord.PURGED.
    """
    with context.vault(agent.id) as vault, _index(context, agent, vault) as db:
        forgotten = find_forgotten_ids(vault, db)
        found = [(_resolve(vault, db, one), one) for one in ids]
        return [
            {
                **memory_records.parse_record(item.line),
                "forgotten": bool({one, item.id} & forgotten),
                "about": record_details.describe_record(vault, db, one, item),
            }
            for item, one in found
        ]


def forget_records(context: Context, agent: Agent, ids: Sequence[str]) -> SequenceRow | None:
    """Drop memories although their files still contain the text; a file that keeps it does not restore them.

    Return None if all were gone already. Raises UnknownRecord, Busy.
    """
    return _change(context, agent, ids, _forgotten, "deleted", remember=True)


def restore_records(context: Context, agent: Agent, ids: Sequence[str]) -> SequenceRow | None:
    """Restore memories that were forgotten or deleted. Raises UnknownRecord, Busy."""
    return _change(context, agent, ids, _restored, "created", remember=False)


def pin_records(context: Context, agent: Agent, ids: Sequence[str]) -> SequenceRow | None:
    """Pin memories: they are not removed without the user's consent. Raises UnknownRecord, Busy."""
    return _change(context, agent, ids, _pinned, "updated")


def unpin_records(context: Context, agent: Agent, ids: Sequence[str]) -> SequenceRow | None:
    """Remove pins. Raises UnknownRecord, Busy."""
    return _change(context, agent, ids, _unpinned, "updated")


def _index(context: Context, agent: Agent, vault: Vault) -> StateDb:
    db = StateDb.open(context.home.state_file(agent.id), vault.id)
    memory_search.update_index(db, vault)
    return db


def _resolve(vault: Vault, db: StateDb, record_id: str) -> Record:
    """Return the current record of the chain to which an id belongs. Raises UnknownRecord.PURGED, UnknownRecord."""
    found, purged = vault.state().record(db.winner(record_id)), vault.redactions.record_ids
    if found is None or found.id in purged:
        if record_id in purged:
            raise UnknownRecord.PURGED(f"the memory {record_id} was purged")
        if found is not None:
            raise UnknownRecord.PURGED(
                f"the current version of the memory {record_id} was purged; its id was {found.id}"
            )
        raise UnknownRecord(f"no memory has the id {record_id}")
    return found


def _change(
    context: Context,
    agent: Agent,
    ids: Sequence[str],
    change: Change,
    count: str,
    *,
    remember: bool | None = None,
) -> SequenceRow | None:
    with (
        agent_lock(context, agent.id, "records"),
        context.vault(agent.id) as vault,
        _index(context, agent, vault) as db,
    ):
        found = [_resolve(vault, db, one) for one in dict.fromkeys(ids)]
        row = commit_changes(context, agent, vault, found, change, count)
        if remember is not None:
            _remember(vault, db, {*ids, *(item.id for item in found)}, forgotten=remember)
        if row is not None:
            sequence_commit.advance_stat_cache(db, row)
            memory_search.update_index(db, vault)
        return row


def _remember(vault: Vault, db: StateDb, ids: set[str], *, forgotten: bool) -> None:
    """Note under every id of its chain that a memory was forgotten, so that each id can restore it."""
    known = set(vault.get(FORGOTTEN) or ())
    wanted = known | ids if forgotten else {one for one in known - ids if db.winner(one) not in ids}
    vault.set(FORGOTTEN, sorted(wanted) or None, kind="forgotten")


def find_forgotten_ids(vault: Vault, db: StateDb) -> set[str]:
    """Return every forgotten id, and the ids of the current records of their chains."""
    known = set(vault.get(FORGOTTEN) or ())
    return known | {db.winner(one) for one in known}


def commit_changes(
    context: Context,
    agent: Agent,
    vault: Vault,
    found: list[Record],
    change: Change,
    count: str,
) -> SequenceRow | None:
    """Commit one sequence in which these records change, for a caller that has the agent's lock; None if nothing
    changes."""
    state = vault.state()
    overlay = Overlay(state)
    head = sequence_commit.read_head(overlay)
    now = max(context.now(), state.sequence.time)
    ledger = PartitionLedger(
        partitions.from_head(head), times.parse_time(now), head.get("partition_granularity", "quarterly")
    )
    identity = overlay.old_body(archive_layout.IDENTITY)
    version = None if identity is None else identity_version(memory_records.parse_record(identity))
    mint = sequence_commit.RecordIdMinter(vault)
    scribe = RecordContext(agent.id, ledger, mint, version, mint.claim)
    steps = [
        step
        for item in found
        if (step := change(scribe, memory_records.parse_record(item.line), item, state)) is not None
    ]
    if not steps:
        return None
    sequence_commit.write_head(overlay, head, ledger)
    counts = {"records": {"created": 0, "updated": 0, "deleted": 0, count: len(steps)}, "by": "user"}
    return sequence_commit.commit_sequence(context, vault, overlay, steps, kind="capture", time=now, counts=counts)


def _forgotten(scribe: RecordContext, old: JsonObject, item: Record, state: State) -> RecordStep | None:
    return None if memory_records.is_deleted(old) else record_lifecycle.delete_record(scribe, old, item.partition)


def _restored(scribe: RecordContext, old: JsonObject, item: Record, state: State) -> RecordStep | None:
    if memory_records.is_visible(old):
        return None
    if old["content"] != memory_records.TOMBSTONE:
        return record_lifecycle.revive_record(scribe, old, item.partition, None)
    dead = state.record(str(old.get("supersedes")))
    said = None if dead is None else memory_records.parse_record(dead.line)
    if said is None or said["content"] == memory_records.TOMBSTONE:
        raise UnknownRecord.PURGED(f"the text of the memory {item.id} was purged")
    return record_lifecycle.revive_record(scribe, old, item.partition, said)


def _pinned(scribe: RecordContext, old: JsonObject, item: Record, state: State) -> RecordStep | None:
    return None if old.get(memory_records.PINNED) is True else _with_pin(scribe, old, item, True)


def _unpinned(scribe: RecordContext, old: JsonObject, item: Record, state: State) -> RecordStep | None:
    return _with_pin(scribe, old, item, None) if old.get(memory_records.PINNED) is True else None


def _with_pin(scribe: RecordContext, old: JsonObject, item: Record, pinned: bool | None) -> RecordStep:
    return record_lifecycle.edit_record(
        scribe, old, item.partition, str(old["content"]), {memory_records.PINNED: pinned}
    )
