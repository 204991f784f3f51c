"""The present time zone of this machine. It is determined again on each call, because laptops travel."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

LOCALTIME = Path("/etc/localtime")


def find_local_zone(environment: Mapping[str, str] | None = None, localtime: Path = LOCALTIME) -> tzinfo:
    """Return the zone of `TZ` if it names a zone or a file, otherwise that of the system's file, otherwise the one that
    tzlocal finds (on Windows), otherwise UTC. Never raises."""
    named = (os.environ if environment is None else environment).get("TZ", "").removeprefix(":")
    with contextlib.suppress(OSError, ValueError, LookupError):
        if named:
            return _of_file(Path(named)) if named.startswith("/") else ZoneInfo(named)
    with contextlib.suppress(OSError, ValueError):
        if not named:
            return _of_file(localtime)
    return _of_system()


def _of_file(path: Path) -> ZoneInfo:
    with path.open("rb") as stream:
        return ZoneInfo.from_file(stream, key=_name(path))


def _name(path: Path) -> str | None:
    """Return `Europe/Berlin` for a link to `/usr/share/zoneinfo/Europe/Berlin`."""
    _, found, name = os.path.realpath(path).partition("/zoneinfo/")
    return name if found else None


def _of_system() -> tzinfo:
    """Return the zone that tzlocal finds. It is slower and rarely needed: on Windows, or for a rule written out in
    `TZ`."""
    try:
        from tzlocal import get_localzone

        return get_localzone()
    except Exception:  # tzlocal reads registries, files and programs, and each of them has its own exceptions.
        return UTC
