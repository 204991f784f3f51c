"""Read the log of the service: its last events, new events, and counts."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_daemon.service.event_log import DEBUG, LEVELS, NAME, OLDER


def read_events(home: Home) -> Iterator[JsonObject]:
    """Yield every event that is kept, oldest first. Truncated lines are skipped."""
    for path in _files(home):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
            for line in stream:
                if (event := _event(line)) is not None:
                    yield event


def read_last_events(home: Home, count: int, *, level: str = DEBUG) -> list[JsonObject]:
    """Return the newest events of at least a level, oldest first. Raises OSError."""
    return list(deque((event for event in read_events(home) if is_at_least(event, level)), maxlen=count))


def is_at_least(event: JsonObject, level: str) -> bool:
    """Return whether an event has this level or a more severe one. An unknown level counts as severe."""
    found = event.get("level")
    return found not in LEVELS or LEVELS.index(found) >= LEVELS.index(level)


def follow_events(home: Home, *, pause: Callable[[], None] = lambda: time.sleep(1)) -> Iterator[JsonObject]:
    """Yield events as they are written, from now on, without an end. `pause` is called when there is none."""
    file = _FollowedFile(home.logs_folder / NAME)
    try:
        while True:
            lines = file.new_lines()
            yield from (event for line in lines if (event := _event(line)) is not None)
            if not lines:
                pause()
    finally:
        file.close()


class _FollowedFile:
    """A log file that is rotated from time to time. The former file is read to its end before the new one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rest = b""
        self._stream = _opened(path)
        if self._stream is not None:
            self._stream.seek(0, os.SEEK_END)

    def new_lines(self) -> list[bytes]:
        """Return the whole lines that were added since the last call."""
        if self._stream is None:
            self._stream = _opened(self._path)
        if self._stream is None:
            return []
        is_renamed = not _has_name(self._stream, self._path)
        *lines, self._rest = (self._rest + self._stream.read()).split(b"\n")
        if not is_renamed:
            return lines
        self.close()
        return lines + self.new_lines()

    def close(self) -> None:
        """Close the file. The next file of this name is read from its start."""
        if self._stream is not None:
            self._stream.close()
        self._stream, self._rest = None, b""


def _opened(path: Path) -> IO[bytes] | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None


def _has_name(stream: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


def count_events(home: Home) -> dict[str, dict[str, int]]:
    """Return the number of events of each kind, by level."""
    counted: dict[str, Counter[str]] = {}
    for event in read_events(home):
        counted.setdefault(str(event.get("level")), Counter())[str(event.get("kind"))] += 1
    return {level: dict(sorted(kinds.items())) for level, kinds in sorted(counted.items())}


def _files(home: Home) -> list[Path]:
    """Return the log files, oldest first."""
    current = home.logs_folder / NAME
    return [*(current.with_name(f"{NAME}.{number}") for number in range(OLDER, 0, -1)), current]


def _event(line: bytes) -> JsonObject | None:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None
