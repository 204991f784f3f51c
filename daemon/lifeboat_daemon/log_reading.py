"""Reading the log of the service: its last lines, those that come, and how much of what it tells."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from lifeboat_daemon.home import Home
from lifeboat_daemon.logs import NAME, OLDER

JsonObject = dict[str, Any]


def events(home: Home) -> Iterator[JsonObject]:
    """Every event that is kept, oldest first. A line that was cut off is passed over."""
    for path in _files(home):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
            for line in stream:
                if (event := _event(line)) is not None:
                    yield event


def last(home: Home, count: int) -> list[JsonObject]:
    """The newest events, oldest first. Raises OSError."""
    return list(deque(events(home), maxlen=count))


def coming(home: Home, *, pause: Callable[[], None] = lambda: time.sleep(1)) -> Iterator[JsonObject]:
    """Events as they are written, from now on, without an end. `pause` is called when there is none."""
    path = home.logs_folder / NAME
    at, inode, rest = _end(path), _inode(path), b""
    while True:
        if _inode(path) != inode:
            at, inode, rest = 0, _inode(path), b""
        new = _read(path, at)
        at += len(new)
        *lines, rest = (rest + new).split(b"\n")
        yield from (event for line in lines if (event := _event(line)) is not None)
        if not new:
            pause()


def counts(home: Home) -> dict[str, dict[str, int]]:
    """How many events of which kind, by level."""
    counted: dict[str, Counter[str]] = {}
    for event in events(home):
        counted.setdefault(str(event.get("level")), Counter())[str(event.get("kind"))] += 1
    return {level: dict(sorted(kinds.items())) for level, kinds in sorted(counted.items())}


def _files(home: Home) -> list[Path]:
    """Oldest first."""
    current = home.logs_folder / NAME
    return [*(current.with_name(f"{NAME}.{number}") for number in range(OLDER, 0, -1)), current]


def _event(line: bytes) -> JsonObject | None:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None


def _end(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _read(path: Path, at: int) -> bytes:
    try:
        with path.open("rb") as stream:
            stream.seek(at, os.SEEK_SET)
            return stream.read()
    except FileNotFoundError:
        return b""
