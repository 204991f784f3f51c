"""Split a byte stream into lines of limited length."""

from __future__ import annotations


class LineSplitter:
    """Takes bytes as they arrive and returns whole lines. A line longer than `largest` bytes sets `broken`."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._rest = bytearray()
        self.broken = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that end in `data`, without their line ends. Data after a line that is too long is
        discarded."""
        if self.broken:
            return []
        self._rest += data
        if b"\n" not in data:
            self.broken = len(self._rest) > self._largest
            return []
        *lines, self._rest = self._rest.split(b"\n")
        self.broken = len(self._rest) > self._largest
        return self._up_to_the_largest(lines)

    def _up_to_the_largest(self, lines: list[bytearray]) -> list[bytes]:
        whole: list[bytes] = []
        for line in lines:
            if len(line) > self._largest:
                self.broken = True
                break
            whole.append(bytes(line))
        return whole

    @property
    def unfinished(self) -> bool:
        """Whether a line has begun and not ended."""
        return bool(self._rest)
