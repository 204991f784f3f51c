"""Read back what an endpoint keeps: large artifacts, and a sample of the newest state."""

from __future__ import annotations

import base64
import binascii
import hashlib
import random
from collections.abc import Sequence
from urllib.parse import quote

from lifeboat_alf.states.agent_state import State
from lifeboat_core.network.http_session import LARGEST_BODY
from lifeboat_core.remotes.endpoint import endpoint_shapes as shapes
from lifeboat_core.remotes.endpoint.endpoint_calls import FILE, EndpointCalls
from lifeboat_vault.errors import RemoteDamaged
from lifeboat_vault.remote import read_back
from lifeboat_vault.remote.remote_contract import RemoteSequence, RemoteVerification

AT_ONCE = 64
"""How many files, and how many memories, one request asks for."""
BYTES_AT_ONCE = 8 * 1024 * 1024
"""The bytes of these files at most, unless one file alone has more: the answer is held in memory on both sides."""


def fetch_object(calls: EndpointCalls, path: str, sha256: str) -> bytes:
    """Return the bytes of a large artifact. Raises UnknownAtRemote, RemoteDamaged (they are other bytes)."""
    data = calls.ask("GET", f"{path}/objects/{quote(sha256, safe='')}", headers={"Accept": FILE}).body
    if hashlib.sha256(data).hexdigest() != sha256:
        raise RemoteDamaged("a large file there is not what its digest says")
    return data


def read_bodies(
    calls: EndpointCalls, path: str, number: int, entries: Sequence[str], records: Sequence[str], *, size: int = 0
) -> tuple[list[bytes | None], list[bytes | None]]:
    """Return the bytes of entries (by path) and of records (by id) of a state there, None for what it lacks.

    `size` is how many bytes the entries should have together.
    """
    asked = {"sequence": number, "entries": list(entries), "records": list(records)}
    answer = calls.send("POST", f"{path}/read", asked, most=LARGEST_BODY + 2 * size)
    files, lines = (shapes.read_items(answer, name, _bytes) for name in ("entries", "records"))
    if len(files) != len(entries) or len(lines) != len(records):
        raise RemoteDamaged("it answers for other items than it was asked for")
    return files, lines


def verify_endpoint_copy(
    calls: EndpointCalls, path: str, state: State, *, bodies: int, chance: random.Random
) -> RemoteVerification:
    """Compare the head there, and bytes of up to `bodies` of its items read back from there, with a state here."""
    head = shapes.parse_remote_agent(calls.get(path)).head
    result = read_back.compare_head(state.sequence, None if head is None else _listed(calls, path, head.number))
    if head is None or head.number != state.sequence.number:
        return result
    for part in read_back.split_sample(read_back.choose_sample(state, bodies, chance), AT_ONCE, BYTES_AT_ONCE):
        size = sum(entry.size for entry in part.entries)
        found, lines = read_bodies(calls, path, head.number, *part.names(), size=size)
        result = read_back.compare_bodies(part, [*found, *lines], result)
    return result


def _listed(calls: EndpointCalls, path: str, number: int) -> RemoteSequence | None:
    """Return a state there with its signature."""
    answer = calls.get(f"{path}/sequences", since=number - 1, limit=1)
    return next(
        (each for each in shapes.read_items(answer, "sequences", shapes.parse_sequence) if each.number == number), None
    )


def _bytes(found: object) -> bytes | None:
    try:
        return None if found is None else base64.b64decode(str(found), validate=True)
    except (binascii.Error, ValueError):
        raise RemoteDamaged("its answer has bytes that are none") from None
