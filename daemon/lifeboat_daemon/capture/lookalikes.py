"""What merely looks like a secret in an agent's files: where it stands and of which kind, never what it says; and which
files were not looked into.

It is kept as it is, since a note may speak of keys; status counts it and the doctor names it, until the file changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lifeboat_adapters.secrets import looks
from lifeboat_alf.decoding import decode
from lifeboat_daemon.state_db import StateDb

FACT = "lookalikes"
"""Where the caches keep them: {archive path: [[line, kind], ...]}."""

UNREAD = "not_looked_into"
"""Where the caches keep the form of files in which secrets are not found: {archive path: form}."""

LOOKED_AT = 1 << 20
"""Bytes at the top of a file in which something that looks like a secret is looked for."""
MOST_PLACES = 20
"""Of one file. Whoever has read of twenty looks into the file."""
_BINARY_SEEN_IN = 8192


class Place(NamedTuple):
    """A line (from 1) that holds what looks like a secret, and the kind of secret."""

    line: int
    kind: str


Places = dict[str, list[Place]]


def places(original: bytes, kept: bytes) -> list[Place]:
    """What looks like a secret in a file and is still there in the bytes that are kept of it. In what is encoded or is
    no text only the formats of known issuers are looked for: a name before a random value says little there."""
    top = original[:LOOKED_AT]
    find = looks.find_tokens if b"\0" in top[:_BINARY_SEEN_IN] else looks.find
    found = {(look.start, look.end): look.kind for look in find(top)}
    for reading in decode(top):
        for look in looks.find_tokens(reading.data):
            found.setdefault(reading.span(look.start, look.end), look.kind)
    still = (Place(_line(top, start), kind) for (start, end), kind in sorted(found.items()) if top[start:end] in kept)
    return list(dict.fromkeys(still))[:MOST_PLACES]


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def text_of(found: Iterable[Place]) -> str:
    """`github_token (line 3), api_key (line 7)`."""
    return ", ".join(f"{place.kind} (line {place.line})" for place in found)


def read(db: StateDb) -> Places:
    """What the captures so far have found."""
    return {path: [Place(*place) for place in found] for path, found in (db.get(FACT) or {}).items()}


def read_unread(db: StateDb) -> dict[str, str]:
    """The form of each file, by its archive path, that captures do not look into."""
    return dict(db.get(UNREAD) or {})


def to_json(found: Places) -> dict[str, list[list[int | str]]] | None:
    """What `read` reads, None where nothing was found."""
    return {path: [list(place) for place in places] for path, places in found.items()} or None
