"""The time that thinning, sweeping and purging may rely on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.seams.system_clock import Anchor, is_believable

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint

NOTE = "clock"
_REFRESH = timedelta(hours=1)
_APART = timedelta(minutes=5)


class _TrustedMoment(msgspec.Struct):
    wall: str
    since_boot: float
    boot: str


def trusted_now(endpoint: Endpoint) -> datetime | None:
    """Return the current time if it follows from the last trusted moment, and move that moment on; else None."""
    if not is_trusted(endpoint):
        return None
    clock = endpoint.clock
    now, anchor = clock.now(), _anchor(endpoint.control.get(NOTE))
    # Move the anchor once an hour, and after a boot, so that it stays close to the present.
    if anchor is None or anchor.boot != clock.boot_id() or now - anchor.wall >= _REFRESH:
        trust_clock(endpoint)
    return now


def is_trusted(endpoint: Endpoint) -> bool:
    """Return whether the clock is trusted, without writing anything.

    On a shared endpoint the clock must also agree with that of the database: machines have been running for different
    times.
    """
    clock = endpoint.clock
    other = endpoint.engine.time()
    if other is not None and abs(clock.now() - other) > _APART:
        return False
    return is_believable(_anchor(endpoint.control.get(NOTE)), clock.now(), clock.since_boot(), clock.boot_id())


def trust_clock(endpoint: Endpoint) -> None:
    """Trust the clock from now on, because the operator says that it is right."""
    clock = endpoint.clock
    document = {"wall": times.to_text(clock.now()), "since_boot": clock.since_boot(), "boot": clock.boot_id()}
    endpoint.control.set(NOTE, document)


def _anchor(kept: Any) -> Anchor | None:
    if kept is None:
        return None
    found = msgspec.convert(kept, _TrustedMoment)
    return Anchor(times.parse_time(found.wall), found.since_boot, found.boot)
