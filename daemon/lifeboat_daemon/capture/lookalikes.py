"""What merely looks like a secret in an agent's files: where it stands and of which kind, never what it says.

It is kept as it is, since a note may speak of keys; status counts it and the doctor names it, until the file changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lifeboat_adapters.secrets import looks
from lifeboat_daemon.context import Context
from lifeboat_daemon.state_db import StateDb

FACT = "lookalikes"
"""Where the caches keep them: {archive path: [[line, kind], ...]}."""

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
    """What looks like a secret in a text file and is still there in the bytes that are kept of it."""
    top = original[:LOOKED_AT]
    if b"\0" in top[:_BINARY_SEEN_IN]:
        return []
    found = [look for look in looks.find(top) if top[look.start : look.end] in kept]
    return [Place(looks.line_of(top, look), look.kind) for look in found[:MOST_PLACES]]


def text_of(found: Iterable[Place]) -> str:
    """`github_token (line 3), api_key (line 7)`."""
    return ", ".join(f"{place.kind} (line {place.line})" for place in found)


def read(db: StateDb) -> Places:
    """What the captures so far have found."""
    return {path: [Place(*place) for place in found] for path, found in (db.get(FACT) or {}).items()}


def to_json(found: Places) -> dict[str, list[list[int | str]]] | None:
    """What `read` reads, None where nothing was found."""
    return {path: [list(place) for place in places] for path, places in found.items()} or None


def of_agent(context: Context, agent_id: str, vault_id: str) -> Places:
    """What the captures of an agent have found; {} before the first."""
    if not context.home.state_file(agent_id).exists():
        return {}
    with StateDb.open(context.home.state_file(agent_id), vault_id) as db:
        return read(db)
