"""Whether the clock can be trusted. Thinning, sealing and expiry run only on a trusted time.

The *anchor* is the last trusted time: wall clock, seconds since boot, which boot. In the same boot the wall clock has
to agree with the anchor plus the time since, within a day. After a reboot it is unknown how long the machine was off:
up to 45 days forward are accepted. A clock behind the anchor, or further ahead, is not trusted until it agrees again or
the user confirms it (`confirm_clock`).
"""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from lifeboat_alf.common import json_codec, times
from lifeboat_alf.seams.file_operations import write_atomic
from lifeboat_alf.seams.system_clock import Anchor, is_believable
from lifeboat_core.home.context import Context
from lifeboat_core.state import state_cache

if TYPE_CHECKING:
    from lifeboat_vault.vault import SequenceRow

_REFRESH = timedelta(hours=1)
_LONGEST_UP = 1e10
"""Seconds."""


def is_clock_trusted(context: Context, newest: SequenceRow | None = None) -> bool:
    """Return whether the time is trusted now. Without an anchor the newest sequence is one, from an unknown boot."""
    clock = context.clock
    anchor = _read(context)
    if anchor is None and newest is not None:
        anchor = Anchor(times.parse_time(newest.time), 0.0, "")
    return is_believable(anchor, clock.now(), clock.since_boot(), clock.boot_id())


def note_clock(context: Context, newest: SequenceRow | None = None) -> None:
    """Move the anchor to a trusted now, after a commit; at most hourly, because it is only a cache."""
    if not is_clock_trusted(context, newest):
        return
    anchor = _read(context)
    clock = context.clock
    if anchor is None or anchor.boot != clock.boot_id() or clock.now() - anchor.wall >= _REFRESH:
        with contextlib.suppress(OSError):  # the anchor must not make a capture fail
            _write(context)


def confirm_clock(context: Context) -> None:
    """Trust the clock as it is: the user says that it is right."""
    _write(context)


def _write(context: Context) -> None:
    clock = context.clock
    document = {"wall": times.to_text(clock.now()), "since_boot": clock.since_boot(), "boot": clock.boot_id()}
    write_atomic(context.files, context.home.state_folder / "clock.json", json_codec.encode_json(document))


def _read(context: Context) -> Anchor | None:
    found = state_cache.read_cache(context.files, context.home.state_folder / "clock.json", _Anchor, _is_sane)
    return None if found is None else Anchor(times.parse_time(found.wall), found.since_boot, found.boot)


class _Anchor(msgspec.Struct):
    wall: str
    since_boot: float
    boot: str


def _is_sane(found: _Anchor) -> bool:
    """Return whether the times are usable. Raises ValueError, OverflowError."""
    return 1000 < times.parse_time(found.wall).year < 9000 and 0 <= found.since_boot < _LONGEST_UP
