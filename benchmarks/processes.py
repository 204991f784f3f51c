"""Resource use of a process and all its descendants, from /proc (Linux only)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_NET = ("tcp", "tcp6", "udp", "udp6", "raw", "raw6")


@dataclass(frozen=True)
class Memory:
    """Memory in bytes. `pss` divides shared memory between processes; None if only root may read it."""

    rss: int
    pss: int | None


@dataclass(frozen=True)
class Effort:
    """Resource use since a process began: processor seconds including ended children, context switches of its threads,
    and bytes written to disks (None if only root may read them)."""

    cpu: float
    switches: int
    written: int | None

    def since(self, before: Effort) -> Effort:
        written = None if self.written is None or before.written is None else self.written - before.written
        return Effort(self.cpu - before.cpu, self.switches - before.switches, written)


def family(pid: int) -> list[int]:
    """Return the process and all its running descendants."""
    found = [pid]
    for each in found:
        for task in _listed(Path(f"/proc/{each}/task")):
            found += [int(child) for child in _read(task / "children").split()]
    return found


def memory(pid: int) -> Memory:
    """Return the current memory of a family."""
    return memory_of(family(pid))


def memory_of(pids: list[int]) -> Memory:
    """Return the current memory of some processes."""
    pss = [_field(_read(Path(f"/proc/{each}/smaps_rollup")), "Pss:") for each in pids]
    return Memory(sum(map(rss, pids)), _sum(pss, 1024))


def rss(pid: int) -> int:
    """Return the resident bytes of one process without its children; 0 if it has ended."""
    return (_field(_read(Path(f"/proc/{pid}/status")), "VmRSS:") or 0) * 1024


def peak(pid: int) -> int:
    """Return the peak memory in bytes of one process; 0 if it has ended."""
    return (_field(_read(Path(f"/proc/{pid}/status")), "VmHWM:") or 0) * 1024


def effort(pid: int) -> Effort:
    """Return the resource use of a family until now."""
    return effort_of(family(pid))


def effort_of(pids: list[int]) -> Effort:
    """Return the resource use of some processes until now."""
    written = _sum([_field(_read(Path(f"/proc/{each}/io")), "write_bytes:") for each in pids], 1)
    return Effort(sum(map(_cpu, pids)), sum(map(_switches, pids)), written)


def inet_sockets(pid: int) -> set[str] | None:
    """Return the internet sockets of a family, including local ones; None if only root may look."""
    pids = family(pid)
    held = {_link(file) for each in pids for file in _listed(Path(f"/proc/{each}/fd"))}
    if not held:
        return None
    known = {
        f"socket:[{line.split()[9]}]"
        for name in _NET
        for line in _read(Path(f"/proc/{pid}/net/{name}")).splitlines()[1:]
    }
    return held & known


def _cpu(pid: int) -> float:
    """Return processor seconds from the kernel's clock of the process, which is finer than the ticks in `stat`. Ended
    children are counted only in `stat`."""
    try:
        own = time.clock_gettime(((~pid) << 3) | 2)
    except OSError:
        return 0.0
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return own + sum(map(int, fields[13:15])) / TICKS if fields else own


def _switches(pid: int) -> int:
    statuses = [_read(task / "status") for task in _listed(Path(f"/proc/{pid}/task"))]
    return sum(
        _field(status, name) or 0
        for status in statuses
        for name in ("voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:")
    )


def _field(text: str, name: str) -> int | None:
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith(name)), None)


def _sum(values: Iterable[int | None], factor: int) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) * factor if known else None


def _read(path: Path) -> str:
    return _unless_gone(path.read_text, "")


def _link(path: Path) -> str:
    return _unless_gone(lambda: os.readlink(path), "")


def _listed(folder: Path) -> list[Path]:
    return _unless_gone(lambda: list(folder.iterdir()), [])


def _unless_gone(look: Callable[[], T], otherwise: T) -> T:
    """Return `otherwise` if the process ends during the look, or if only root may look."""
    try:
        return look()
    except OSError:
        return otherwise
