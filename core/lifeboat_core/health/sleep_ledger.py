"""How long this machine was awake: a small ledger of when it slept or was off, `state/awake.json`.

An agent whose machine sleeps at night is not overdue in the morning. The ledger holds the gaps of the last eight days
and a *mark*, the clocks at the last entry. It is written when the machine slept and when the daemon starts and stops,
never in between; what happened after the mark follows from the clocks. If it is lost, an agent is `overdue` earlier.

A daemon that is stopped while the machine runs leaves no gap: nothing is captured then, which `overdue` reports.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from lifeboat_alf.seams.file_operations import write_atomic
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health.agent_status import AwakeTime, StatusFacts, find_agent_unverified_since
from lifeboat_core.home.context import Context
from lifeboat_core.settings.config_file import Config
from lifeboat_core.state import state_cache


def measure_awake_time(
    context: Context,
    agent: Agent,
    facts: StatusFacts,
    *,
    config: Config | None = None,
    ledger: SleepLedger | None = None,
) -> AwakeTime:
    """Return how long the machine was awake since an agent's last verified copy.

    Light: the daemon calls it too, with the configuration and the sleep ledger that it has read once for all agents.
    """
    ledger = ledger or load_sleep_ledger(context)
    config = config or context.config()
    since = find_agent_unverified_since(facts, agent, context.clock.now())
    return AwakeTime(
        seconds=None if since is None else count_awake_seconds(context, since, ledger),
        woke_at=find_wake_time(context, ledger),
        overdue_after=float(config.get("overdue.after", agent.settings).value),
    )


KEPT = timedelta(days=8)
"""How long gaps are kept: after seven days an agent is overdue however much the machine slept."""
_SHORTEST = 5.0
"""Seconds."""
_SHORT_STOP = timedelta(minutes=15)
"""A daemon that starts again within this time was not away."""
_EARLIEST, _LATEST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
_LONGEST_UP = 1e10
"""Seconds."""


class _SleepGap(NamedTuple):
    begin: datetime
    end: datetime


class _ClockMark(msgspec.Struct, frozen=True):
    """The clocks at one time.

    `boot` identifies the boot, `since_boot` and `awake` are seconds with and without sleep. `stopped`: the daemon ended
    then, by a command or because the machine went off.
    """

    wall: datetime
    since_boot: float
    awake: float
    boot: str
    stopped: bool


class SleepLedger(msgspec.Struct):
    """What is known of this machine's sleep. A caller that asks about many agents reads it once."""

    gaps: list[_SleepGap] = []
    mark: _ClockMark | None = None
    woke_at: datetime | None = None


def note_sleep(context: Context, begin: datetime, end: datetime) -> None:
    """Note that the machine slept."""
    ledger = load_sleep_ledger(context)
    _write(context, ledger, _SleepGap(begin, end), woke_at=end)


def note_stop(context: Context) -> None:
    """Note that the daemon ends."""
    ledger = load_sleep_ledger(context)
    _write(context, ledger, _since_mark(ledger.mark, context.clock), woke_at=ledger.woke_at, stopped=True)


def note_start(context: Context) -> None:
    """Note that the daemon begins. The time before is a gap if the machine slept or was off."""
    ledger = load_sleep_ledger(context)
    gap = _since_mark(ledger.mark, context.clock)
    is_rested = gap is not None or _was_away(ledger.mark, context.clock)
    _write(context, ledger, gap, woke_at=context.clock.now() if is_rested else ledger.woke_at)


def _was_away(mark: _ClockMark | None, clock: Clock) -> bool:
    """Return whether a starting daemon could not work until now. One that restarts after a crash could."""
    if mark is None or mark.boot != clock.boot_id():
        return True
    return mark.stopped and abs(clock.now() - mark.wall) > _SHORT_STOP


def load_sleep_ledger(context: Context) -> SleepLedger:
    """Return the ledger, an empty one if there is none."""
    return state_cache.read_cache(context.files, _path(context), SleepLedger, _is_sane) or SleepLedger()


def count_awake_seconds(context: Context, since: datetime, ledger: SleepLedger | None = None) -> float:
    """Return how long the machine was awake since a time; without a ledger, the whole time."""
    now = context.clock.now()
    ledger = ledger or load_sleep_ledger(context)
    last = _since_mark(ledger.mark, context.clock)
    gaps = [*ledger.gaps, last] if last else ledger.gaps
    off = sum((_length(gap) for gap in _without_overlaps(gaps, since, now)), timedelta())
    return max(0.0, (now - since - off).total_seconds())


def find_wake_time(context: Context, ledger: SleepLedger | None = None) -> datetime | None:
    """Return when the machine last woke up, or the daemon began after it had been away; None if that is unknown."""
    now = context.clock.now()
    ledger = ledger or load_sleep_ledger(context)
    if ledger.mark is not None and not ledger.mark.stopped and _since_mark(ledger.mark, context.clock):
        return now  # just now: the daemon has not noticed it yet
    return None if ledger.woke_at is None or ledger.woke_at > now else ledger.woke_at


def _since_mark(mark: _ClockMark | None, clock: Clock) -> _SleepGap | None:
    """Return the time asleep or off after a mark.

    Within one boot its length is known and not its position: it counts as if the machine had slept first, so that later
    events count as awake. After a clean stop, it is the time to the next boot. If the machine went off without a clean
    stop, the beginning is unknown: no gap.
    """
    if mark is None:
        return None
    now = clock.now()
    if mark.boot and mark.boot == clock.boot_id():
        slept = (clock.since_boot() - mark.since_boot) - (clock.monotonic() - mark.awake)
        return _SleepGap(mark.wall, mark.wall + timedelta(seconds=slept)) if slept >= _SHORTEST else None
    booted = now - timedelta(seconds=clock.since_boot())
    return _SleepGap(mark.wall, booted) if mark.stopped and mark.wall < booted else None


def _without_overlaps(gaps: list[_SleepGap], since: datetime, now: datetime) -> list[_SleepGap]:
    """Return the gaps cut to a time span and without overlaps."""
    found: list[_SleepGap] = []
    reached = since
    for gap in sorted(gaps):
        begin, end = max(gap.begin, reached), min(gap.end, now)
        if begin < end:
            found.append(_SleepGap(begin, end))
            reached = end
    return found


def _length(gap: _SleepGap) -> timedelta:
    return gap.end - gap.begin


def _write(
    context: Context, ledger: SleepLedger, gap: _SleepGap | None, *, woke_at: datetime | None, stopped: bool = False
) -> None:
    """Write the recent gaps, with the clocks of now. On a full disk nothing is kept: nothing depends on it."""
    clock = context.clock
    now = clock.now()
    gaps = [*ledger.gaps, gap] if gap is not None else ledger.gaps
    kept = SleepLedger(
        gaps=[each for each in gaps if now - KEPT < each.end <= now],
        mark=_ClockMark(now, clock.since_boot(), clock.monotonic(), clock.boot_id(), stopped),
        woke_at=woke_at,
    )
    with contextlib.suppress(OSError):
        write_atomic(context.files, _path(context), msgspec.json.encode(kept))


def _is_sane(ledger: SleepLedger) -> bool:
    """Return whether the ledger is usable: every time has an offset, none is at the end of time."""
    mark = ledger.mark
    moments = [moment for gap in ledger.gaps for moment in gap] + [each for each in (ledger.woke_at,) if each]
    if mark is not None:
        moments.append(mark.wall)
        if not (0 <= mark.since_boot < _LONGEST_UP and 0 <= mark.awake < _LONGEST_UP):
            return False
    return all(_EARLIEST < moment < _LATEST for moment in moments)


def _path(context: Context) -> Path:
    return context.home.state_folder / "awake.json"
