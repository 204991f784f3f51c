"""Decide whether a capture rewrote so much of a file with memories that its user should look at it (setting `review`).

The capture is committed all the same. With `hold` it is held as a mass removal is: remotes stay at the sequence before.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

OFF, INFORM, HOLD = "off", "inform", "hold"
"""Values of the setting."""
REWRITE = "rewrite"
"""What a decision of `mass_loss_guard` says was removed: the former text of the file `path`."""
REWRITTEN_SHARE = 0.4
"""Share of the bytes of a file from which its change is a rewrite."""
LEAST_REWRITTEN = 400
"""Bytes. In a smaller file every edit is a large share."""
LEAST_REMOVED = 3
"""Memories of one file from which their removal at once is a clean-up."""
_LINE = re.compile(rb"[^\n]+")


class FileRewrite(NamedTuple):
    """A file (archive path) that was rewritten, and a sentence about it."""

    path: str
    reason: str


def measure_rewrite(before: bytes, after: bytes) -> float:
    """Return the share of the former bytes that are gone. A line that only moved is not gone, and line ends do not
    count."""
    old, new = Counter(_LINE.findall(before)), Counter(_LINE.findall(after))
    whole = sum(len(line) * count for line, count in old.items())
    kept = sum(len(line) * count for line, count in (old & new).items())
    return (whole - kept) / whole if whole else 0.0


def judge_rewrite(path: str, name: str, before: bytes, after: bytes) -> FileRewrite | None:
    """Return the finding for a changed file, None for a small change. `name` is for people."""
    share = measure_rewrite(before, after)
    if len(before) < LEAST_REWRITTEN or share <= REWRITTEN_SHARE:
        return None
    return FileRewrite(path, f"{share:.0%} of the file {name} was replaced or removed by one capture")
