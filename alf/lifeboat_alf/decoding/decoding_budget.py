"""Budget of one call of the decoder, and a record of what it skipped."""

from __future__ import annotations

from dataclasses import dataclass, field

LAYERS = 2
"""Maximum depth of nested encodings."""
DATABASES = 2
"""Maximum depth of SQLite databases nested in rows of each other."""
LEAST = 16
"""Minimum decoded bytes of a part. No shorter secret is looked for."""
MOST_BYTES = 64 << 20
"""Bytes that one call may decode, in addition to those that grow with its input."""
MOST_TIMES = 16
"""Bytes that one call may decode for each byte of its input."""
MOST_STREAMS = 4096
"""Compressed streams that one call may open."""

TOO_LARGE = "more data than the limit for decoding"
TOO_DEEP = "data that is encoded or compressed more than twice"
INCOMPLETE = "damaged or incomplete compressed data"
ENCRYPTED = "encrypted data"
UNKNOWN_COMPRESSION = "data in an unsupported compression format"


@dataclass(slots=True)
class DecodingBudget:
    """Budget of one call. `unread` names what was skipped.

    It counts bytes instead of time, so that the same input always gives the same result.
    """

    bytes_left: int = MOST_BYTES
    streams_left: int = MOST_STREAMS
    unread: set[str] = field(default_factory=set)

    @classmethod
    def for_size(cls, size: int) -> DecodingBudget:
        """Return the budget for an input of this size."""
        return cls(MOST_BYTES + MOST_TIMES * size)

    def take(self, size: int) -> bool:
        """Spend decoded bytes; return False and record them as unread when the budget is exceeded."""
        if size > self.bytes_left:
            self.unread.add(TOO_LARGE)
            return False
        self.bytes_left -= size
        return True

    def take_stream(self) -> bool:
        """Spend one compressed stream."""
        if self.streams_left == 0:
            self.unread.add(TOO_LARGE)
            return False
        self.streams_left -= 1
        return True
