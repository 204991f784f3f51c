"""Large artifacts, by the SHA-256 of their bytes, and by the leaf that commits to them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lifeboat_alf.state import SALT_BYTES
from lifeboat_endpoint.server.api import NOTHING, OCTETS, Answer, Octets, Route
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.shapes import DigestsAsked, Missing
from lifeboat_endpoint.tenancy.callers import PULL, PUSH
from lifeboat_vault.errors import RemoteRefused

SALT = "x-lifeboat-salt"
SALT_SAYS = {"X-Lifeboat-Salt": "The salt of the leaf that commits to the bytes, in hexadecimal."}
_PATH = "/agents/{agent_id}/objects/{sha256}"
_SALT = re.compile(rf"[0-9a-f]{{{2 * SALT_BYTES}}}")


def missing(call: Call) -> Answer:
    asked: DigestsAsked = call.body
    if asked.leaves is None:
        return Answer(Missing(call.space.missing(call.agent_id, asked.sha256, read=asked.read)))
    leaves = [bytes.fromhex(leaf) for leaf in asked.leaves]
    lacking = call.space.missing_leaves(call.agent_id, leaves, read=asked.read)
    return Answer(Missing([], [leaf.hex() for leaf in lacking]))


def fetch(call: Call) -> Answer:
    return Answer(call.space.object(call.agent_id, call.path["sha256"]))


def put(call: Call) -> Answer:
    call.space.put_object(call.agent_id, call.path["sha256"], call.body, salt=_salt_of(call.headers))
    call.note(bytes=len(call.body))
    return Answer(status=204)


def _salt_of(headers: Mapping[str, str]) -> bytes:
    """Return the salt that came with a file, b"" for a client of an earlier release. Raises RemoteRefused."""
    text = headers.get(SALT, "")
    if text and not _SALT.fullmatch(text):
        raise RemoteRefused(f"a salt has {2 * SALT_BYTES} hexadecimal letters")
    return bytes.fromhex(text)


ROUTES = (
    Route(
        "POST",
        "/agents/{agent_id}/objects/missing",
        missing,
        "Which of these files kept states name, and the endpoint has not the bytes of.",
        (PUSH,),
        {200: Missing},
        body=DigestsAsked,
        audit="read.missing",
    ),
    Route("GET", _PATH, fetch, "An artifact.", (PULL,), {200: OCTETS}, problems=(422,), audit="read.object"),
    Route(
        "PUT",
        _PATH,
        put,
        "Send an artifact that a state names; again is no error.",
        (PUSH,),
        {204: NOTHING},
        body=Octets("object_bytes"),
        headers=SALT_SAYS,
        problems=(422, 507),
        audit="write.object",
    ),
)
