"""The system's limits on watching (Linux: inotify) and how much of them is used."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from lifeboat_alf.common.refusal_texts import refusal_reason

_FOLDER = Path("/proc/sys/fs/inotify")
WATCHES, INSTANCES = "max_user_watches", "max_user_instances"
_ENOUGH = {WATCHES: 524288, INSTANCES: 1024}


class InotifyUse(NamedTuple):
    """A number of watches and inotify instances."""

    watches: int = 0
    instances: int = 0


def read_inotify_limit(name: str) -> int | None:
    """Return the value of WATCHES or INSTANCES, or None if the system has no such limit."""
    try:
        return int((_FOLDER / name).read_text())
    except (OSError, ValueError):
        return None


def write_limit_command(name: str) -> str:
    """Return the command that raises a limit permanently."""
    value = max(_ENOUGH[name], 2 * (read_inotify_limit(name) or 0))
    line = f"fs.inotify.{name}={value}"
    return f"echo {line} | sudo tee /etc/sysctl.d/60-lifeboat-{name.replace('_', '-')}.conf && sudo sysctl --system"


def explain_watch_error(error: OSError) -> str:
    """Explain for people why something cannot be watched, with the command that helps if there is one."""
    name = {errno.ENOSPC: WATCHES, errno.EMFILE: INSTANCES}.get(error.errno or 0)
    if name is None:
        return refusal_reason(error)
    limited_things = "watched folders" if name == WATCHES else "programs that watch folders"
    return (
        f"the system limit for {limited_things} is reached (fs.inotify.{name} is "
        f"{read_inotify_limit(name)}); to raise it: {write_limit_command(name)}"
    )


def count_process_use(process: int | str = "self") -> InotifyUse:
    """Count the use of one process, or nothing if it cannot be inspected."""
    instances = list(_descriptors(str(process)))
    return InotifyUse(sum(map(_watches, instances)), len(instances))


def count_user_use(besides: Collection[int] = ()) -> InotifyUse:
    """Count the use of this user's processes except some."""
    found = [count_process_use(process) for process in _processes() if process not in besides]
    return InotifyUse(sum(one.watches for one in found), sum(one.instances for one in found))


def _processes() -> Iterator[int]:
    with contextlib.suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.name.isdecimal() and entry.stat().st_uid == os.geteuid():
                    yield int(entry.name)


def _descriptors(process: str) -> Iterator[Path]:
    """Yield the descriptor information of each inotify instance of a process."""
    with contextlib.suppress(OSError), os.scandir(f"/proc/{process}/fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if "inotify" in os.readlink(entry.path):
                    yield Path(f"/proc/{process}/fdinfo/{entry.name}")


def _watches(descriptor: Path) -> int:
    try:
        with descriptor.open() as lines:
            return sum(1 for line in lines if line.startswith("inotify wd:"))
    except OSError:
        return 0
