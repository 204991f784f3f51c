"""The time that an endpoint believes: what lets go of anything asks for it."""

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
    """Now, when the clock fits the last moment that was trusted, which moves on then; None when it does not."""
    if not is_trusted(endpoint):
        return None
    clock = endpoint.clock
    now, anchor = clock.now(), _anchor(endpoint.control.get(NOTE))
    if anchor is None or anchor.boot != clock.boot_id() or now - anchor.wall >= _REFRESH:
        trust_clock(endpoint)
    return now


def is_trusted(endpoint: Endpoint) -> bool:
    """Whether there is a time that is trusted. Nothing is written. Where machines share an endpoint each has been
    running for another while, so the clock of one has to agree with that of the database too."""
    clock = endpoint.clock
    other = endpoint.engine.time()
    if other is not None and abs(clock.now() - other) > _APART:
        return False
    return is_believable(_anchor(endpoint.control.get(NOTE)), clock.now(), clock.since_boot(), clock.boot_id())


def trust_clock(endpoint: Endpoint) -> None:
    """The clock is right now: whoever runs the endpoint says so."""
    clock = endpoint.clock
    document = {"wall": times.to_text(clock.now()), "since_boot": clock.since_boot(), "boot": clock.boot_id()}
    endpoint.control.set(NOTE, document)


def _anchor(kept: Any) -> Anchor | None:
    if kept is None:
        return None
    found = msgspec.convert(kept, _TrustedMoment)
    return Anchor(times.parse_time(found.wall), found.since_boot, found.boot)
