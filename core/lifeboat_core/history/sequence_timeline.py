"""The kept sequences of an agent: what each one changed, where it was read back, and how much happened when."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import DaemonError
from lifeboat_core.health.agent_status import LOCAL
from lifeboat_core.health.status_gathering import DAMAGED, LAST_WHOLE
from lifeboat_core.history import sequence_timeline
from lifeboat_core.history.sequence_counts import read_counts
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged_states, displaced_histories, remote_registry
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState
from lifeboat_core.restore.plan_opening import find_sequence_at, parse_local_time
from lifeboat_vault.rows import number_runs
from lifeboat_vault.vault import LAST_VERIFIED, SequenceRow, Vault

LONGEST = 200
"""Characters."""


def set_label(context: Context, agent: Agent, at: str, text: str | None) -> JsonObject:
    """Label a sequence, or remove its label (None); return its entry in the timeline. Raises DaemonError.BAD_LABEL,
    UnknownSequence, NothingToRestore."""
    name = None if text is None else check_label(text)
    with context.vault(agent.id) as vault:
        number = find_sequence_at(vault, at)
        if vault.sequence(number).label != name:
            vault.label(number, name)
        return sequence_timeline.make_sequence_teller(context, vault)(vault.sequence(number))


def load_labelled_sequence(context: Context, agent: Agent, at: str) -> JsonObject:
    """Return the entry of a sequence in the timeline. Raises UnknownSequence, NothingToRestore."""
    with context.vault(agent.id) as vault:
        return sequence_timeline.make_sequence_teller(context, vault)(vault.sequence(find_sequence_at(vault, at)))


def check_label(text: str) -> str:
    """Return a label in one line. Raises DaemonError.BAD_LABEL."""
    name = " ".join(text.split())
    if not name or len(name) > LONGEST or not name.isprintable():
        raise DaemonError.BAD_LABEL(f"a label must be one line of 1 to {LONGEST} printable characters")
    return name


HOURS = 48
"""Bars of the chart unless days are asked for."""
Told = Callable[[SequenceRow], JsonObject]


@dataclass(frozen=True, slots=True)
class TimelineRequest:
    """Which sequences: from `since` until `until` (times as users type them), the newest `limit`; and how many days the
    chart covers, None for the last hours."""

    since: str | None = None
    until: str | None = None
    limit: int | None = None
    days: int | None = None


def make_timeline(context: Context, agent: Agent, wanted: TimelineRequest) -> JsonObject:
    """Return what `timeline` writes. Raises NothingToRestore for an invalid time."""
    is_within = _within(wanted)
    with context.vault(agent.id) as vault:
        rows = vault.sequences()
        told = make_sequence_teller(context, vault)
    chosen = [row for row in reversed(rows) if is_within(row.recorded_at)][: wanted.limit]
    return {
        "agent": agent.id,
        "total": len(rows),
        "entries": [told(row) for row in chosen],
        "activity": count_activity(rows, context.clock.now(), wanted.days),
        "set_aside": [
            {"from": name, "since": one.since, "until": one.until}
            for name, one in displaced_histories.name_displaced(context, agent.id).items()
        ],
    }


def _within(wanted: TimelineRequest) -> Callable[[str], bool]:
    since = "" if wanted.since is None else times.to_text(parse_local_time(wanted.since))
    until = None if wanted.until is None else times.to_text(parse_local_time(wanted.until))
    return lambda time: time >= since and (until is None or time <= until)


# One sequence -------------------------------------------------------------------------------------------------------


def make_sequence_teller(context: Context, vault: Vault) -> Told:
    """Return a function that describes a sequence; what is known of copies is read once."""
    known = acknowledged_states.load_acknowledged(vault)
    remotes = [(one.name, known.get(one.id, AcknowledgedState())) for one in remote_registry.list_remotes(context)]
    is_verified_here = _verified_here(vault)

    def told(row: SequenceRow) -> JsonObject:
        here = [LOCAL] if is_verified_here(row.number) else []
        there = [
            name for name, one in remotes if not one.damaged and number_runs.holds_number(one.verified, row.number)
        ]
        on = [name for name, one in remotes if one.number == row.number and one.digest == row.digest.hex()]
        return {**_entry(row), "verified": here + there, "on": on}

    return told


def _verified_here(vault: Vault) -> Callable[[int], bool]:
    """Return the verified sequences. While the vault is known to be damaged, earlier results do not count."""
    if vault.get(DAMAGED) is not None:
        return lambda _: False
    last: JsonObject = vault.get(LAST_VERIFIED) or {}
    whole: int = (vault.get(LAST_WHOLE) or {}).get("sequence", -1)
    number, others = last.get("sequence"), last.get("verified", [])
    return lambda asked: asked == number or asked <= whole or number_runs.holds_number(others, asked)


def _entry(row: SequenceRow) -> JsonObject:
    counts = read_counts(row.counts)
    return {
        "sequence": row.number,
        "created_at": row.recorded_at,
        "kind": row.kind,
        "changes": counts,
        "files": _count(counts.get("raw")),
        "records_changed": _count(counts.get("records")),
        "trigger": counts.get("by"),
        "bytes": row.bytes,
        "label": row.label,
        "pins": [pin.reason for pin in row.pins],
        "digest": row.digest.hex(),
        "signed": row.signature is not None,
    }


def _count(counts: Any) -> int:
    return sum(counts.values()) if isinstance(counts, dict) else 0


# How much happened when ---------------------------------------------------------------------------------------------


def count_activity(rows: list[SequenceRow], now: datetime, days: int | None = None) -> JsonObject:
    """Count sequences by hour, or by day of this machine's calendar, up to now, including those that were thinned
    since."""
    starts = list(_days(now, days) if days is not None else _hours(now))
    counts = [0] * len(starts)
    for time, count in _made(rows):
        place = bisect_right(starts, times.parse_time(time))
        if place:
            counts[place - 1] += count
    return {"unit": "hour" if days is None else "day", "from": times.to_text(starts[0]), "counts": counts}


def _hours(now: datetime) -> Iterator[datetime]:
    this = now.astimezone().replace(minute=0, second=0, microsecond=0)
    return (this - timedelta(hours=back) for back in reversed(range(HOURS)))


def _days(now: datetime, days: int) -> Iterator[datetime]:
    """Return the midnights of the calendar: a day may have 23 or 25 hours."""
    today = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return ((today - timedelta(days=back)).astimezone() for back in reversed(range(days)))


def _made(rows: list[SequenceRow]) -> Iterator[tuple[str, int]]:
    """Yield times, and how many sequences were made since the previous one. The base of a sequence tells how many
    between were thinned."""
    before: int | None = None
    for row in rows:
        thinned = 0 if before is None or row.base is None else row.base - before
        yield row.recorded_at, 1 + max(0, thinned)
        before = row.number
