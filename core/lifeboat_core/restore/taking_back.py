"""Memories of an agent whose move into another runtime is taken back: in force is what it remembered when it left, and
what it learned or forgot there stays in the sequence before."""

from __future__ import annotations

from lifeboat_alf import lifecycle, records
from lifeboat_alf.effective import Effective, effective_records
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.lifecycle import Scribe, Step
from lifeboat_alf.state import Record, State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context

_SAID = ("content", "memory_type", "category", "tags", "namespace", "status")


def take_memories_back(context: Context, agent: Agent, number: int) -> None:
    """Make the memories in force those of a sequence, in a sequence of its own. Nothing happens when that sequence is
    gone."""
    from lifeboat_core.memories.records import commit_changes

    with context.vault(agent.id) as vault:
        if all(row.number != number for row in vault.sequences()):
            return
        before = _memories(vault.state(number))
        now = _memories(vault.state())
        other = {str(item.record["id"]): root for root, item in now.items() if _differs(before.get(root), item)}
        state = vault.state()
        found = [record for record in map(state.record, other) if record is not None]

        def change(scribe: Scribe, old: JsonObject, item: Record, state: State) -> Step | None:
            return _as_before(scribe, old, item, before.get(other[item.id]))

        commit_changes(context, agent, vault, found, change, "updated")


def _memories(state: State) -> dict[str, Effective]:
    return {item.chain_ids[0]: item for item in effective_records(state)}


def _differs(before: Effective | None, now: Effective) -> bool:
    if before is None or records.is_deleted(before.record):
        return not records.is_deleted(now.record)
    return any(before.record.get(name) != now.record.get(name) for name in _SAID)


def _as_before(scribe: Scribe, now: JsonObject, item: Record, before: Effective | None) -> Step:
    if before is None or records.is_deleted(before.record):
        return lifecycle.delete(scribe, now, item.partition)
    wanted = before.record
    fields = {name: wanted.get(name) for name in (*_SAID[1:-1], "raw_source_format")}
    return lifecycle.edit(scribe, now, item.partition, str(wanted["content"]), {**fields, "source": wanted["source"]})
