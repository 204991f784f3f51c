"""When a remote is asked again to mend what it lost, after all that this machine has could not mend it. Pure.

For a mending, the remote reads everything that it keeps. So the pause grows after each try that left the same damage,
from a minute to a day. What was captured meanwhile is sent all the same.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import msgspec

from lifeboat_alf.common import times
from lifeboat_core.remotes import retry_backoff
from lifeboat_core.texts.human_text import time_text
from lifeboat_vault.remote.remote_contract import RemoteAgent

LONGEST = 86400.0
"""Seconds."""


class MendingPause(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was left after the last try to mend a remote.

    `tries` in a row left that; `again_at` (timestamp) is when the next one may be; `left` says for people what stays
    lost; `damage` (see `describe_known_damage`) is the damage that was known then.
    """

    tries: int
    again_at: str
    left: str
    damage: str = ""


def describe_lost(pause: MendingPause) -> str:
    """Describe what stays lost at a remote, and when the next attempt to repair it is, for people."""
    return (
        f"the copy on the remote is damaged: {pause.left}; Lifeboat tries to repair it again after "
        f"{time_text(pause.again_at)}"
    )


def describe_known_damage(there: RemoteAgent, found: str) -> str:
    """Return what a remote says of its damage and since when, and what this machine `found`.

    The text changes when a verification on either side had another result, or the remote verified again with the same
    one.
    """
    return f"{there.damaged} {there.damaged_states} {there.damage_found_at} {found}"


def is_mending_due(pause: MendingPause | None, damage: str, now: datetime, *, asked: bool) -> bool:
    """Return whether to try now: a user asks for it, the `damage` differs from that of the last try, or the pause is
    over.

    A pause that is longer than the longest one was noted under a clock that was ahead, and does not count.
    """
    if asked or pause is None or pause.damage != damage:
        return True
    left = (times.parse_time(pause.again_at) - now).total_seconds()
    return not 0 < left <= LONGEST * (1.0 + retry_backoff.BY_CHANCE)


def extend_pause(
    pause: MendingPause | None, left: str, damage: str, now: datetime, chance: random.Random
) -> MendingPause:
    """Return the pause after a try that left something lost.

    It starts at its shortest when something else is left than the last time: the try mended a part, or more was lost.
    """
    tries = pause.tries + 1 if pause is not None and pause.left == left else 1
    again_at = now + timedelta(seconds=retry_backoff.compute_pause(tries, chance, longest=LONGEST))
    return MendingPause(tries, times.to_text(again_at), left, damage)
