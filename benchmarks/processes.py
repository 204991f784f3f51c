"""What a process, and everything it started, takes of the machine. From /proc, so on Linux only."""

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
    """Bytes. `pss` shares what several processes have in common; None where only root may look."""

    rss: int
    pss: int | None


@dataclass(frozen=True)
class Effort:
    """Since a process began: seconds of processors, with those of children that ended; times that one of its threads
    slept and was woken or had to stand back; bytes sent to disks, None where only root may look."""

    cpu: float
    switches: int
    written: int | None

    def since(self, before: Effort) -> Effort:
        written = None if self.written is None or before.written is None else self.written - before.written
        return Effort(self.cpu - before.cpu, self.switches - before.switches, written)


def family(pid: int) -> list[int]:
    """A process and everything that it, or what it started, has started and that still runs."""
    found = [pid]
    for each in found:
        for task in _listed(Path(f"/proc/{each}/task")):
            found += [int(child) for child in _read(task / "children").split()]
    return found


def memory(pid: int) -> Memory:
    """What a family has now."""
    return memory_of(family(pid))


def memory_of(pids: list[int]) -> Memory:
    """What some processes have now."""
    pss = [_field(_read(Path(f"/proc/{each}/smaps_rollup")), "Pss:") for each in pids]
    return Memory(sum(map(rss, pids)), _sum(pss, 1024))


def rss(pid: int) -> int:
    """Bytes that one process has, without what it started; 0 when it has ended."""
    return (_field(_read(Path(f"/proc/{pid}/status")), "VmRSS:") or 0) * 1024


def peak(pid: int) -> int:
    """Bytes: the most that one process ever had; 0 when it has ended."""
    return (_field(_read(Path(f"/proc/{pid}/status")), "VmHWM:") or 0) * 1024


def effort(pid: int) -> Effort:
    """What a family did until now."""
    return effort_of(family(pid))


def effort_of(pids: list[int]) -> Effort:
    """What some processes did until now."""
    written = _sum([_field(_read(Path(f"/proc/{each}/io")), "write_bytes:") for each in pids], 1)
    return Effort(sum(map(_cpu, pids)), sum(map(_switches, pids)), written)


def inet_sockets(pid: int) -> set[str] | None:
    """The sockets of a family that speak to a network, be it only to this machine; None where only root may look."""
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
    """The kernel keeps a clock for each process, finer than the ticks of `stat`; ended children are only in there."""
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
    """A process may end while it is looked at, and some things are only shown to root."""
    try:
        return look()
    except OSError:
        return otherwise
