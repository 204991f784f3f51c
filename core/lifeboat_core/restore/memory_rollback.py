"""Restore the memories of an agent whose move into another runtime is undone: those of the time when it left are in
force again, and what it learned or forgot there stays in the sequence before."""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records, record_lifecycle
from lifeboat_alf.memory.effective_view import EffectiveMemory, effective_records
from lifeboat_alf.memory.record_lifecycle import RecordContext, RecordStep
from lifeboat_alf.states.agent_state import Record, State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context

_SAID = ("content", "memory_type", "category", "tags", "namespace", "status")


def take_memories_back(context: Context, agent: Agent, number: int) -> None:
    """Make the memories of a sequence those in force, in a new sequence. Do nothing when that sequence is gone."""
    from lifeboat_core.memories.edit_records import commit_changes

    with context.vault(agent.id) as vault:
        if all(row.number != number for row in vault.sequences()):
            return
        before = _memories(vault.state(number))
        now = _memories(vault.state())
        other = {str(item.record["id"]): root for root, item in now.items() if _differs(before.get(root), item)}
        state = vault.state()
        found = [record for record in map(state.record, other) if record is not None]

        def change(scribe: RecordContext, old: JsonObject, item: Record, state: State) -> RecordStep | None:
            return _as_before(scribe, old, item, before.get(other[item.id]))

        commit_changes(context, agent, vault, found, change, "updated")


def _memories(state: State) -> dict[str, EffectiveMemory]:
    return {item.chain_ids[0]: item for item in effective_records(state)}


def _differs(before: EffectiveMemory | None, now: EffectiveMemory) -> bool:
    if before is None or memory_records.is_deleted(before.record):
        return not memory_records.is_deleted(now.record)
    return any(before.record.get(name) != now.record.get(name) for name in _SAID)


def _as_before(scribe: RecordContext, now: JsonObject, item: Record, before: EffectiveMemory | None) -> RecordStep:
    if before is None or memory_records.is_deleted(before.record):
        return record_lifecycle.delete_record(scribe, now, item.partition)
    wanted = before.record
    fields = {name: wanted.get(name) for name in (*_SAID[1:-1], "raw_source_format")}
    return record_lifecycle.edit_record(
        scribe, now, item.partition, str(wanted["content"]), {**fields, "source": wanted["source"]}
    )
