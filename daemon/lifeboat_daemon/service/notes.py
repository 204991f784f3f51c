"""What the daemon has to know again after a restart, and nothing that a user decided: `state/service.json`.

Losing it costs a notification said twice, or a scheduled capture made once more.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import msgspec

from lifeboat_alf.seams.files import read_all, write_atomic
from lifeboat_daemon.context import Context

JsonObject = dict[str, Any]


class Notes(msgspec.Struct):
    """`scheduled`: when each agent was last captured by its schedule; `verify_failed`: when a verification last failed;
    `told`: what people were told of each agent; `discovered`, `pinged`: when that was last done. All timestamps."""

    scheduled: dict[str, str] = {}
    verify_failed: dict[str, str] = {}
    told: dict[str, JsonObject] = {}
    discovered: str | None = None
    pinged: str | None = None


def read(context: Context) -> Notes:
    """The notes of the last daemon, empty ones when there are none that can be read."""
    try:
        return msgspec.json.decode(read_all(context.files, _path(context)), type=Notes)
    except (OSError, msgspec.DecodeError):
        return Notes()


def write(context: Context, notes: Notes) -> None:
    """Keep them. On a full disk they are not kept: nothing depends on them."""
    with contextlib.suppress(OSError):
        write_atomic(context.files, _path(context), msgspec.json.encode(notes))


def _path(context: Context) -> Path:
    return context.home.state_folder / "service.json"
