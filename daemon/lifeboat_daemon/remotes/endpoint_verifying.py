"""Reading back from an endpoint what it keeps: large artifacts, and a sample of the newest state."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from urllib.parse import quote

from lifeboat_daemon.remotes import endpoint_shapes as shapes
from lifeboat_daemon.remotes.endpoint_calls import FILE, Calls
from lifeboat_endpoint.errors import RemoteDamaged


def object_of(calls: Calls, path: str, sha256: str) -> bytes:
    """The bytes of a large artifact. Raises UnknownThere, RemoteDamaged (they are others)."""
    data = calls.ask("GET", f"{path}/objects/{quote(sha256, safe='')}", headers={"Accept": FILE}).body
    if hashlib.sha256(data).hexdigest() != sha256:
        raise RemoteDamaged("a large file there is not what its digest says")
    return data


def read(
    calls: Calls, path: str, number: int, entries: Sequence[str], records: Sequence[str]
) -> tuple[list[bytes | None], list[bytes | None]]:
    """Bytes of entries (by path) and of records (by id) of a state there, None for what it has not."""
    asked = {"sequence": number, "entries": list(entries), "records": list(records)}
    answer = calls.send("POST", f"{path}/read", asked)
    found = (shapes.items(answer, name, _bytes) for name in ("entries", "records"))
    first, second = found
    if len(first) != len(entries) or len(second) != len(records):
        raise RemoteDamaged("it answers for other items than it was asked for")
    return first, second


def _bytes(found: object) -> bytes | None:
    try:
        return None if found is None else base64.b64decode(str(found), validate=True)
    except (binascii.Error, ValueError):
        raise RemoteDamaged("its answer has bytes that are none") from None
