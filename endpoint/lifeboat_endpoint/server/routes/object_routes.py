"""Routes of large artifacts, by the SHA-256 of their bytes and by the leaf that commits to them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lifeboat_alf.states.agent_state import SALT_BYTES
from lifeboat_endpoint.server.api import NOTHING, OCTETS, Octets, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.http_shapes import MissingFiles, MissingFilesRequest
from lifeboat_endpoint.tenancy.callers import PULL, PUSH
from lifeboat_vault.errors import RemoteRefused

SALT = "x-lifeboat-salt"
SALT_SAYS = {"X-Lifeboat-Salt": "Salt for the hash of the content, in hexadecimal."}
_PATH = "/agents/{agent_id}/objects/{sha256}"
_SALT = re.compile(rf"[0-9a-f]{{{2 * SALT_BYTES}}}")


def list_missing_files(call: Call) -> RouteResponse:
    """List those of these files that kept sequences name without their bytes."""
    asked: MissingFilesRequest = call.body
    if asked.leaves is None:
        return RouteResponse(MissingFiles(call.space.missing(call.agent_id, asked.sha256, read=asked.read)))
    leaves = [bytes.fromhex(leaf) for leaf in asked.leaves]
    lacking = call.space.missing_leaves(call.agent_id, leaves, read=asked.read)
    return RouteResponse(MissingFiles([], [leaf.hex() for leaf in lacking]))


def fetch_object(call: Call) -> RouteResponse:
    """Return an artifact."""
    return RouteResponse(call.space.object(call.agent_id, call.path["sha256"]))


def put_object(call: Call) -> RouteResponse:
    """Store an artifact that a sequence names. Repeating it is not an error."""
    call.space.put_object(call.agent_id, call.path["sha256"], call.body, salt=_salt_of(call.headers))
    call.note(bytes=len(call.body))
    return RouteResponse(status=204)


def _salt_of(headers: Mapping[str, str]) -> bytes:
    """Return the salt that came with a file, b"" for a client of an earlier release. Raises RemoteRefused."""
    text = headers.get(SALT, "")
    if text and not _SALT.fullmatch(text):
        raise RemoteRefused(f"the salt must have {2 * SALT_BYTES} hexadecimal digits")
    return bytes.fromhex(text)


ROUTES = (
    Route(
        "POST",
        "/agents/{agent_id}/objects/missing",
        list_missing_files,
        (PUSH,),
        {200: MissingFiles},
        body=MissingFilesRequest,
        audit="read.missing",
    ),
    Route("GET", _PATH, fetch_object, (PULL,), {200: OCTETS}, problems=(422,), audit="read.object"),
    Route(
        "PUT",
        _PATH,
        put_object,
        (PUSH,),
        {204: NOTHING},
        body=Octets("object_bytes"),
        headers=SALT_SAYS,
        problems=(422, 507),
        audit="write.object",
    ),
)
