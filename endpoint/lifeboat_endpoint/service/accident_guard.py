"""Detection of accidental mass removal in pushes of clients that sign nothing. Devices of Lifeboat have their own
guard.

Nothing is refused here. The push becomes the newest sequence, the sequence before it is pinned, and the agent is held
until its owner accepts the loss or the memory is back.
"""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime, timedelta

from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_alf.memory.mass_removal import MassRemovalLimits, is_file_loss, is_memory_loss, is_workspace_file
from lifeboat_alf.states.agent_state import State, StateChanges
from lifeboat_vault.vault import SequenceRow, Vault

PIN = "held"
LIMITS = MassRemovalLimits()
_FEWEST = 2
"""Fewest removed items that count: a single memory or file is not an accident."""
_WINDOW = timedelta(days=1)


def list_memories(state: State) -> set[frozenset[str]]:
    """Return the memories of a state, each as the ids of its chain."""
    return {frozenset(item.chain_ids) for item in visible_records(state)}


def count_lost(before: Set[frozenset[str]], after: Set[frozenset[str]]) -> int:
    """Count the memories that are gone, ignoring other changes of their chains."""
    there = {record_id for chain in after for record_id in chain}
    return sum(chain.isdisjoint(there) for chain in before)


def judge_loss(before: Set[frozenset[str]], after: Set[frozenset[str]], period: str) -> str | None:
    """Return the reason to hold the agent as a sentence, None if there is none."""
    gone, came = count_lost(before, after), count_lost(after, before)
    if not is_memory_loss(len(before), came, gone, LIMITS):
        return None
    return f"{gone} of {len(before)} memories were removed {period}"


def find_loss(
    vault: Vault, before: SequenceRow, now: datetime, accepted: int | None, runtime: str
) -> tuple[str, int] | None:
    """Return the reason to hold the head that came after `before`, and the number of the sequence to go back to.

    Losses add up over a day, or since the sequence `accepted`, so that an accident in small steps is noticed too.
    """
    reason = _loss_since(vault, before, runtime, "at once")
    if reason is not None:
        return reason, before.number
    # The step alone is small. Add up the losses of a day.
    earlier = _day_ago(vault, now, accepted)
    if earlier.number >= before.number:
        return None
    reason = _loss_since(vault, earlier, runtime, "within a day")
    return None if reason is None else (reason, earlier.number)


def _loss_since(vault: Vault, earlier: SequenceRow, runtime: str, period: str) -> str | None:
    changes = vault.changes(earlier.number, vault.state().sequence.number)
    return _memories_lost(vault, earlier, changes, period) or _files_lost(vault, earlier, changes, runtime, period)


def _memories_lost(vault: Vault, earlier: SequenceRow, changes: StateChanges, period: str) -> str | None:
    """Compare the whole memory only if enough records changed that a loss is possible."""
    ended = _endings(changes)
    # Below the minimum only a complete loss counts.
    if ended < _FEWEST or (ended < LIMITS.minimum and _has_memory(vault.state())):
        return None
    return judge_loss(list_memories(vault.state(earlier.number)), list_memories(vault.state()), period)


def _endings(changes: StateChanges) -> int:
    """Count the changed records that are gone or no longer visible. Each ends one memory at most."""
    ended = sum(
        not memory_records.is_visible(memory_records.parse_record(change.record.line)) for change in changes.records
    )
    return len(changes.removed) + ended


def _has_memory(state: State) -> bool:
    """Whether a visible record is left. A loss below the minimum counts only if nothing is left.

    Most states show it by their first record.
    """
    return any(memory_records.is_visible(memory_records.parse_record(record.line)) for record in state.records())


def _files_lost(vault: Vault, earlier: SequenceRow, changes: StateChanges, runtime: str, period: str) -> str | None:
    """Compare the files of the workspace, which only snapshots contain."""
    bases = [one.base for one in changes.entries if one.entry is None and one.base is not None]
    entries = [one.entry for one in changes.entries if one.base is None and one.entry is not None]
    deleted, created = (
        sum(is_workspace_file(one.path, one.meta, runtime) for one in side) for side in (bases, entries)
    )
    if deleted - created < _FEWEST:
        return None
    before = len(list_workspace_files(vault.state(earlier.number), runtime))
    if not is_file_loss(before, created, deleted, LIMITS):
        return None
    return f"{deleted - created} of {before} files were removed {period}"


def list_workspace_files(state: State, runtime: str) -> set[str]:
    """Return the paths of the files of the workspace."""
    return {one.path for one in state.entries() if is_workspace_file(one.path, one.meta, runtime)}


def _day_ago(vault: Vault, now: datetime, accepted: int | None) -> SequenceRow:
    """Return the sequence of a day ago, the first one of a younger history, or the accepted one if it is newer."""
    found = vault.at(now - _WINDOW) or vault.sequences(limit=1)[0]
    newer = None if accepted is None or accepted <= found.number else vault.find(accepted)
    return newer or found


def is_loss_over(vault: Vault, previous: int, runtime: str) -> bool:
    """Whether the loss since a sequence is repaired: less is missing than counts as an accident."""
    old, new = vault.state(previous), vault.state()
    former = list_memories(old)
    missing = count_lost(former, list_memories(new))
    if missing >= LIMITS.minimum or is_memory_loss(len(former), 0, missing, LIMITS):
        return False
    before = list_workspace_files(old, runtime)
    gone = len(before - list_workspace_files(new, runtime))
    return not is_file_loss(len(before), 0, gone, LIMITS)
