"""The names of files of a log. A name contains how many purges the writer of the file knew: its *generation*.

A head is replaced only if it still is the one that was read. So a file of an earlier generation that the head does not
name can never be named: it is removed at once, even while it is being written, because it may hold what was purged.

    000000000417-0a1b2c3d4e5f.alf-delta         before anything was purged
    000000000417-p3-0a1b2c3d4e5f.alf-delta      three purges were known
"""

from __future__ import annotations

import re
import secrets

LARGE = "large-"
"""How names of large artifacts begin."""
KEYS = "keys"
"""How names of wrapped keys begin."""
_GENERATION = re.compile(r"-p([1-9][0-9]{0,8})-[0-9a-f]{12}\.")


def make_file_name(stem: str, generation: int, suffix: str) -> str:
    """Return an unused name."""
    known = f"-p{generation}" if generation else ""
    return f"{stem}{known}-{secrets.token_hex(6)}.{suffix}"


def parse_generation(name: str) -> int:
    """Return the generation in a name."""
    found = _GENERATION.search(name)
    return int(found[1]) if found else 0


def is_superseded(name: str, now: int) -> bool:
    """Return whether a file that no head names can never be named, because it is of an earlier generation.

    A large artifact is written after the state that names it, and removed with the last one.
    """
    if not now or name.startswith(f"{KEYS}-"):
        return False
    return name.startswith(LARGE) or parse_generation(name) < now
