"""Word the warnings of a plan: what is left out, what is moved aside, what has a gap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lifeboat_adapters.memory_stores import DatabaseWrite
from lifeboat_alf.common.reason_codes import Reason
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture import not_captured
from lifeboat_core.home.context import Context
from lifeboat_core.restore import workspace_databases
from lifeboat_core.restore.file_decisions import PlanItem, RestoreAction
from lifeboat_core.restore.restore_options import RestoreOptions
from lifeboat_core.restore.wanted_contents import WantedContents, WantedFile, read_wanted_body
from lifeboat_core.texts.readable_json import make_printable
from lifeboat_vault.errors import VaultMissing
from lifeboat_vault.vault.state_inventory import StateInventory

DAMAGED_RECORD = "its content differs from the signed content"
MOST_NAMES = 20
"""Up to this many names with the same reason are listed individually."""


def warn_of_uncaptured(context: Context, agent: Agent | None, state: State) -> list[str]:
    """Return what the last capture left out, if its state is restored, because it cannot be restored from anywhere."""
    if agent is None:
        return []
    try:
        with context.vault(agent.id) as vault:
            head = vault.head()
    except VaultMissing:
        return []
    if head is None or head.number != state.sequence.number:
        return []
    return [f"not in this sequence: {each}" for each in not_captured.read_not_captured(context, agent).named]


def _not_written(skipped: Iterable[PlanItem]) -> Iterator[str]:
    """Yield a sentence for each name, or one for all with the same reason when there are many."""
    for reason, found in group_by_reason(skipped).items():
        if len(found) > MOST_NAMES:
            yield f"{make_printable(found[0].name)} and {len(found) - 1} more are not written: {reason}"
        else:
            yield from (f"{make_printable(item.name)} is not written: {reason}" for item in found)


def group_by_reason(skipped: Iterable[PlanItem]) -> dict[Reason | None, list[PlanItem]]:
    """Group items by why they are skipped."""
    found: dict[Reason | None, list[PlanItem]] = {}
    for item in skipped:
        found.setdefault(item.reason, []).append(item)
    return found


def select_warned_items(items: Iterable[PlanItem]) -> list[PlanItem]:
    """Return the skipped items that warnings name. What is already there in the state directory is not among them."""
    return [item for item in items if item.action == RestoreAction.SKIP and item.seen is None]


def _gap_words(state: State, item: PlanItem, wanted: WantedFile) -> str:
    gap_warning = f"{make_printable(item.name)} has a gap instead of a credential: {item.reason}"
    is_damaged = wanted.entry is not None and workspace_databases.is_damaged_database(read_wanted_body(state, wanted))
    return (
        f"{gap_warning}; until the gap is filled, SQLite reports this database as damaged"
        if is_damaged
        else gap_warning
    )


def warn_of_items(state: State, items: list[PlanItem], contents: WantedContents) -> list[str]:
    """Return what is not written, what is moved aside, what has a gap, and what is only described."""
    said = [
        f"{make_printable(item.name)} is moved aside: {item.reason}"
        for item in items
        if item.action == RestoreAction.REMOVE and item.reason
    ]
    said += _not_written(select_warned_items(items))
    said += [_gap_words(state, each, each.wanted) for each in items if each.wanted and each.wanted.has_gap]
    said += workspace_databases.describe_purge_damage(state, items)
    said += [
        f"the content of {make_printable(each.filename)} ({each.size} bytes) is not stored, only its metadata"
        for each in contents.absent
    ]
    return said


def warn_of_memories(inventory: StateInventory, options: RestoreOptions) -> list[str]:
    """Return warnings about memories with damaged records."""
    damaged = () if options.path_globs else inventory.damaged_records
    return [f"the record of the memory {each} is not restored, because {DAMAGED_RECORD}" for each in damaged]


def warn_of_databases(writes: Iterable[DatabaseWrite], running: str) -> list[str]:
    """Return the warnings of databases; `running` is the runtime that uses them, "" for none."""
    said = [warning for write in writes for warning in write.warnings]
    return (
        [*said, f"{running} is using the database; Lifeboat writes nothing to it while the runtime runs"]
        if running
        else said
    )
