"""How much one call of the decoder may do, and what it did not look into."""

from __future__ import annotations

from dataclasses import dataclass, field

LAYERS = 2
"""How many encodings may lie in each other."""
DATABASES = 2
"""How many SQLite databases may lie in rows of each other."""
LEAST = 16
"""Bytes that a part has to decode to: no shorter secret is looked for."""
MOST_BYTES = 64 << 20
"""Bytes that one call decodes beside those that grow with its input."""
MOST_TIMES = 16
"""Bytes that one call decodes for each byte of its input."""
MOST_STREAMS = 4096
"""Compressed streams that one call opens."""

TOO_LARGE = "more than is decoded"
TOO_DEEP = "encoded or compressed more than twice"
INCOMPLETE = "a compressed part that is damaged or cut off"
ENCRYPTED = "an encrypted part"
UNKNOWN_COMPRESSION = "a compression that is not decoded"


@dataclass(slots=True)
class DecodingBudget:
    """The work of one call. `unread` names what was not looked into. Without a clock, so that the same bytes always
    give the same answer: the time is bounded by the bytes."""

    bytes_left: int = MOST_BYTES
    streams_left: int = MOST_STREAMS
    unread: set[str] = field(default_factory=set)

    @classmethod
    def for_size(cls, size: int) -> DecodingBudget:
        """Return the work allowed for an input of this size."""
        return cls(MOST_BYTES + MOST_TIMES * size)

    def take(self, size: int) -> bool:
        """Pay for decoded bytes; False, and named as unread, when they are too many."""
        if size > self.bytes_left:
            self.unread.add(TOO_LARGE)
            return False
        self.bytes_left -= size
        return True

    def take_stream(self) -> bool:
        """Pay for one compressed stream."""
        if self.streams_left == 0:
            self.unread.add(TOO_LARGE)
            return False
        self.streams_left -= 1
        return True
