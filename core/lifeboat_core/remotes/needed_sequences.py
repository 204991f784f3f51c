"""Which sequences second copies still need: what each was last known to hold or is being sent, from which the next
delta starts, and what none of them has yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from lifeboat_alf.common import times
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged_states, remote_registry
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_vault.vault import Vault

UNSEEN = timedelta(days=90)
"""A remote without contact for this long needs no sequence any more: it gets a snapshot next time."""
NOTHING = -1
"""A number before every sequence."""

Keep = Callable[[int], bool]


def find_needed_sequences(context: Context, vault: Vault) -> Keep:
    """Return a function that says whether a sequence is needed, by its number. Raises OSError."""
    known = acknowledged_states.load_acknowledged(vault)
    each = [(config, known.get(config.id, AcknowledgedState())) for config in remote_registry.list_remotes(context)]
    return compute_needed(each, context.clock.now())


def compute_needed(remotes: Iterable[tuple[RemoteConfig, AcknowledgedState]], now: datetime) -> Keep:
    """Return the same from the decisions about and the knowledge of each remote. Pure."""
    counting = [known for config, known in remotes if _counts(config, known, now)]
    if not counting:
        return lambda _: False
    numbers = [known.number for known in counting]
    held = frozenset((*numbers, *(known.sent["number"] for known in counting if known.sent is not None)))
    newest = max(NOTHING if number is None else number for number in numbers)
    return lambda number: number in held or number > newest


def _counts(config: RemoteConfig, known: AcknowledgedState, now: datetime) -> bool:
    seen = [times.parse_time(each) for each in (known.at, known.verified_at, config.added_at) if each]
    return not seen or now - max(seen) < UNSEEN
