"""The words for the state of an agent or of a remote. Texts for people, JSON and metrics use the same ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

OK, SYNCING, WAITING, PAUSED, OVERDUE, NEEDS_KEY, FENCED, HELD, ERROR = (
    "ok",
    "syncing",
    "waiting",
    "paused",
    "overdue",
    "needs_key",
    "fenced",
    "held",
    "error",
)
WORST_FIRST = (ERROR, HELD, FENCED, NEEDS_KEY, OVERDUE, WAITING, SYNCING, PAUSED, OK)
NEEDS_THE_USER = frozenset({ERROR, HELD, FENCED, NEEDS_KEY, OVERDUE})
FOR_PEOPLE = {FENCED: "moved", NEEDS_KEY: "needs key"}
"""Words that read better in text than those of JSON."""


def find_worst_state(states: Iterable[str]) -> str:
    """Return the worst of some states, `ok` for none."""
    return min(states, key=WORST_FIRST.index, default=OK)


class StatusReason(NamedTuple):
    """Why an agent is not `ok`, or what else to know. `state` is "" for a remark."""

    state: str
    code: str
    text: str
