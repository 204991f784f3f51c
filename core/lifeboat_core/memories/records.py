"""What a user does with single memories: look, forget, bring back, pin. Every change is a sequence of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lifeboat_alf import layout, lifecycle, partitions, records, times
from lifeboat_alf.documents import identity_version
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.lifecycle import Scribe, Step
from lifeboat_alf.partitions import Ledger
from lifeboat_alf.state import Record, State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture import commit
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.capture.work import FORGOTTEN
from lifeboat_core.errors import RecordPurged, UnknownRecord
from lifeboat_core.home.context import Context
from lifeboat_core.memories import record_details, search
from lifeboat_core.state.state_db import StateDb
from lifeboat_vault.vault import SequenceRow, Vault

Change = Callable[[Scribe, JsonObject, Record, State], Step | None]


def show(context: Context, agent: Agent, ids: Sequence[str]) -> list[JsonObject]:
    """The memories that ids (any of a chain) name: the record that counts, `forgotten`, and what else is known `about`
    it (see `record_details`).

    Raises UnknownRecord, RecordPurged."""
    with context.vault(agent.id) as vault, _index(context, agent, vault) as db:
        forgotten = forgotten_ids(vault, db)
        found = [(_resolve(vault, db, one), one) for one in ids]
        return [
            {
                **records.parse(item.line),
                "forgotten": bool({one, item.id} & forgotten),
                "about": record_details.about(vault, db, one, item),
            }
            for item, one in found
        ]


def forget(context: Context, agent: Agent, ids: Sequence[str]) -> SequenceRow | None:
    """Drop memories although their files still hold the text; a file that goes on holding it does not bring them back.

    None when all were gone already. Raises UnknownRecord, Busy.
    """
    return _change(context, agent, ids, _forgotten, "deleted", remember=True)


def restore(context: Context, agent: Agent, ids: Sequence[str]) -> SequenceRow | None:
    """Bring back memories that were forgotten or deleted. Raises UnknownRecord, Busy."""
    return _change(context, agent, ids, _restored, "created", remember=False)


def pin(context: Context, agent: Agent, ids: Sequence[str]) -> SequenceRow | None:
    """Memories that must not go without the user's word. Raises UnknownRecord, Busy."""
    return _change(context, agent, ids, _pinned, "updated")


def unpin(context: Context, agent: Agent, ids: Sequence[str]) -> SequenceRow | None:
    """Take pins away. Raises UnknownRecord, Busy."""
    return _change(context, agent, ids, _unpinned, "updated")


def _index(context: Context, agent: Agent, vault: Vault) -> StateDb:
    db = StateDb.open(context.home.state_file(agent.id), vault.id)
    search.catch_up(db, vault)
    return db


def _resolve(vault: Vault, db: StateDb, record_id: str) -> Record:
    """The record that counts in the chain that an id belongs to. Raises RecordPurged, UnknownRecord."""
    found, purged = vault.state().record(db.winner(record_id)), vault.redactions.record_ids
    if found is None or found.id in purged:
        if record_id in purged:
            raise RecordPurged(f"the record {record_id} was purged")
        if found is not None:
            raise RecordPurged(f"what the record {record_id} became was purged: {found.id}")
        raise UnknownRecord(f"no record has the id {record_id}")
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
            commit.advance(db, row)
            search.catch_up(db, vault)
        return row


def _remember(vault: Vault, db: StateDb, ids: set[str], *, forgotten: bool) -> None:
    """Whichever id of its chain a memory was forgotten by, it can be brought back by any other."""
    known = set(vault.get(FORGOTTEN) or ())
    wanted = known | ids if forgotten else {one for one in known - ids if db.winner(one) not in ids}
    vault.set(FORGOTTEN, sorted(wanted) or None, kind="forgotten")


def forgotten_ids(vault: Vault, db: StateDb) -> set[str]:
    """Every id that was forgotten, and the ids of the records that count in their chains now."""
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
    """One sequence in which these records change, for a caller that has the agent's lock; None when none does."""
    state = vault.state()
    overlay = Overlay(state)
    head = commit.read_head(overlay)
    now = max(context.now(), state.sequence.time)
    ledger = Ledger(partitions.from_head(head), times.parse(now), head.get("partition_granularity", "quarterly"))
    identity = overlay.old_body(layout.IDENTITY)
    version = None if identity is None else identity_version(records.parse(identity))
    mint = commit.Minting(vault)
    scribe = Scribe(agent.id, ledger, mint, version, mint.claim)
    steps = [step for item in found if (step := change(scribe, records.parse(item.line), item, state)) is not None]
    if not steps:
        return None
    commit.write_head(overlay, head, ledger)
    counts = {"records": {"created": 0, "updated": 0, "deleted": 0, count: len(steps)}, "by": "user"}
    return commit.commit(context, vault, overlay, steps, kind="capture", time=now, counts=counts)


def _forgotten(scribe: Scribe, old: JsonObject, item: Record, state: State) -> Step | None:
    return None if records.is_deleted(old) else lifecycle.delete(scribe, old, item.partition)


def _restored(scribe: Scribe, old: JsonObject, item: Record, state: State) -> Step | None:
    if records.is_visible(old):
        return None
    if old["content"] != records.TOMBSTONE:
        return lifecycle.revive(scribe, old, item.partition, None)
    dead = state.record(str(old.get("supersedes")))
    said = None if dead is None else records.parse(dead.line)
    if said is None or said["content"] == records.TOMBSTONE:
        raise RecordPurged(f"what the record {item.id} said was purged")
    return lifecycle.revive(scribe, old, item.partition, said)


def _pinned(scribe: Scribe, old: JsonObject, item: Record, state: State) -> Step | None:
    return None if old.get(records.PINNED) is True else _with_pin(scribe, old, item, True)


def _unpinned(scribe: Scribe, old: JsonObject, item: Record, state: State) -> Step | None:
    return _with_pin(scribe, old, item, None) if old.get(records.PINNED) is True else None


def _with_pin(scribe: Scribe, old: JsonObject, item: Record, pinned: bool | None) -> Step:
    return lifecycle.edit(scribe, old, item.partition, str(old["content"]), {records.PINNED: pinned})
