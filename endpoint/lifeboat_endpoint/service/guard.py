"""Does what a client that signs nothing sent look like an accident? A device of Lifeboat has asked its own guard.

Nothing is stopped here: what was sent is the newest state, the state before it is pinned, and the agent is held until
somebody accepts it or the memory is back.
"""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime, timedelta

from lifeboat_alf import records
from lifeboat_alf.effective import visible_records
from lifeboat_alf.state import State
from lifeboat_endpoint.vault import SequenceRow, Vault

PIN = "held"
SHARE = 0.5
MINIMUM = 4
"""From which share of the memory on, and from how many memories on, a loss counts."""
_WINDOW = timedelta(days=1)


def memories(state: State) -> set[frozenset[str]]:
    """The memories of a state, each as the ids of its chain."""
    return {frozenset(item.chain_ids) for item in visible_records(state)}


def lost(before: Set[frozenset[str]], after: Set[frozenset[str]]) -> int:
    """How many memories are gone, whatever else was done to their chains."""
    there = {record_id for chain in after for record_id in chain}
    return sum(chain.isdisjoint(there) for chain in before)


def judge(before: Set[frozenset[str]], after: Set[frozenset[str]], words: str) -> str | None:
    """The reason to hold, in people's words; None when all is well."""
    gone = lost(before, after)
    if gone < MINIMUM or gone < SHARE * len(before) or len(before) <= len(after):
        return None
    return f"{gone} of {len(before)} memories were removed {words}"


def look(vault: Vault, before: SequenceRow, now: datetime, accepted: int | None) -> tuple[str, int] | None:
    """The reason to hold the head that came after `before`, and the number of the state to go back to. Losses add up
    over a day, or since the state `accepted`: an accident in small steps is one too."""
    reason = _loss_since(vault, before, "at once")
    if reason is not None:
        return reason, before.number
    earlier = _day_ago(vault, now, accepted)
    if earlier.number >= before.number:
        return None
    reason = _loss_since(vault, earlier, "within a day")
    return None if reason is None else (reason, earlier.number)


def _loss_since(vault: Vault, earlier: SequenceRow, words: str) -> str | None:
    """The whole memory is read only where enough of what changed since then can have ended a memory."""
    if _endings(vault, earlier) < MINIMUM:
        return None
    return judge(memories(vault.state(earlier.number)), memories(vault.state()), words)


def _endings(vault: Vault, earlier: SequenceRow) -> int:
    """How many records since then went, or are none that the agent has now: each ends one memory at most."""
    changes = vault.changes(earlier.number, vault.state().sequence.number)
    ended = sum(not records.is_visible(records.parse(change.record.line)) for change in changes.records)
    return len(changes.removed) + ended


def _day_ago(vault: Vault, now: datetime, accepted: int | None) -> SequenceRow:
    """The state of a day ago, the first one of a younger history, or the accepted one where that is newer."""
    found = vault.at(now - _WINDOW) or vault.sequences(limit=1)[0]
    newer = None if accepted is None or accepted <= found.number else vault.find(accepted)
    return newer or found


def is_over(vault: Vault, previous: int) -> bool:
    """Whether what was lost since a state is back."""
    return lost(memories(vault.state(previous)), memories(vault.state())) < MINIMUM
