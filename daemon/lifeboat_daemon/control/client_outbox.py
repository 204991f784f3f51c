"""Lines that wait to be sent to a client that reads slowly."""

from __future__ import annotations

from collections import deque


class ClientOutbox:
    """Lines in order. Answers are always accepted: they were requested, and further requests wait while any line does.
    Events are limited to `most` lines and `most_bytes`."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._lines: deque[tuple[bytes, bool]] = deque()
        self._events = 0
        self._event_bytes = 0

    def __len__(self) -> int:
        return len(self._lines)

    def put_answer(self, line: bytes) -> None:
        self._lines.append((line, False))

    def put_event(self, line: bytes) -> bool:
        """Add an event. Return whether there was room."""
        if self._events >= self._most or self._event_bytes + len(line) > self._most_bytes:
            return False
        self._lines.append((line, True))
        self._events += 1
        self._event_bytes += len(line)
        return True

    def take(self) -> bytes:
        """Return the next line. Raises IndexError when there is none."""
        line, is_event = self._lines.popleft()
        self._events -= is_event
        self._event_bytes -= len(line) * is_event
        return line

    def drop_events(self) -> None:
        """Remove the events and keep the answers."""
        self._lines = deque(item for item in self._lines if not item[1])
        self._events = self._event_bytes = 0
