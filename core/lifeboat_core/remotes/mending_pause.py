"""When a remote is asked again for what it lost, after everything that this machine has did not mend it. Pure.

To mend a remote it has to read all that it keeps. So after each try that left the same damage the pause grows, from a
minute to a day, and what was captured meanwhile is sent all the same.
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
    """What was left after the last try to mend a remote. `tries` in a row left that; `again_at` (timestamp) is when the
    next one may be; `left` says for people what stays lost; `damage` (see `describe_known_damage`) is what was known
    then."""

    tries: int
    again_at: str
    left: str
    damage: str = ""


def describe_lost(pause: MendingPause) -> str:
    """Say what stays lost at a remote, and when the next try is, for people."""
    return f"its copy does not hold: {pause.left}; what is lost is asked for again after {time_text(pause.again_at)}"


def describe_known_damage(there: RemoteAgent, found: str) -> str:
    """What a remote says of its damage, and since when, and what this machine `found`: another text when it was
    verified since, at either side, with another result, or there with the same one."""
    return f"{there.damaged} {there.damaged_states} {there.damage_found_at} {found}"


def is_mending_due(pause: MendingPause | None, damage: str, now: datetime, *, asked: bool) -> bool:
    """Whether to try now: when a user asks for it, when the `damage` (see `describe_known_damage`) is another one than
    at the last try, and after the pause. A pause that is longer than any can be was noted under a clock that was
    ahead."""
    if asked or pause is None or pause.damage != damage:
        return True
    left = (times.parse_time(pause.again_at) - now).total_seconds()
    return not 0 < left <= LONGEST * (1.0 + retry_backoff.BY_CHANCE)


def extend_pause(
    pause: MendingPause | None, left: str, damage: str, now: datetime, chance: random.Random
) -> MendingPause:
    """Return the pause after a try that left something lost. It begins anew when that is something else than the last
    time: then the try mended some of it, or more was lost."""
    tries = pause.tries + 1 if pause is not None and pause.left == left else 1
    again_at = now + timedelta(seconds=retry_backoff.compute_pause(tries, chance, longest=LONGEST))
    return MendingPause(tries, times.to_text(again_at), left, damage)
