"""The time zone that this machine is in now. It is looked up afresh each time: people travel."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

LOCALTIME = Path("/etc/localtime")


def find_local_zone(environment: Mapping[str, str] | None = None, localtime: Path = LOCALTIME) -> tzinfo:
    """`TZ` where it names a zone or a file, else the file that the system keeps, else what tzlocal finds (on Windows),
    else UTC. Never raises."""
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
    """`Europe/Berlin` for a link to `/usr/share/zoneinfo/Europe/Berlin`."""
    _, found, name = os.path.realpath(path).partition("/zoneinfo/")
    return name if found else None


def _of_system() -> tzinfo:
    """Slower, and rarely needed: Windows, or a rule written out in `TZ`."""
    try:
        from tzlocal import get_localzone

        return get_localzone()
    except Exception:  # it asks registries, files and programs, and each has errors of its own
        return UTC
