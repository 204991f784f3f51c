"""Routes of sealed agents: files that never change, and one head with compare-and-set."""

from __future__ import annotations

from lifeboat_endpoint.server.api import NOTHING, OCTETS, Octets, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.http_shapes import SealedFileInfo, SealedFileList
from lifeboat_endpoint.server.problems import HttpRefusal
from lifeboat_endpoint.server.routes.shape_conversion import ETAG
from lifeboat_endpoint.tenancy.callers import PULL, PUSH
from lifeboat_vault.errors import HeadMoved, UnknownAtRemote

_FILES = "/agents/{agent_id}/sealed/files"
_FILE = f"{_FILES}/{{name}}"
_HEAD = "/agents/{agent_id}/sealed/head"
_CONDITIONS = {
    "If-Match": "ETag of the index that the request replaces.",
    "If-None-Match": "`*` if the agent has no index yet.",
}


def list_sealed_files(call: Call) -> RouteResponse:
    """List the sealed files of an agent."""
    found = call.space.sealed_files.names(call.agent_id)
    return RouteResponse(SealedFileList([SealedFileInfo(each.name, each.size, each.age) for each in found]))


def fetch_sealed_file(call: Call) -> RouteResponse:
    """Return a sealed file."""
    return RouteResponse(call.space.sealed_files.get(call.agent_id, call.path["name"]))


def put_sealed_file(call: Call) -> RouteResponse:
    """Store a sealed file. Repeating it with the same bytes is not an error."""
    call.space.sealed_files.put(call.agent_id, call.path["name"], call.body)
    call.note(bytes=len(call.body))
    return RouteResponse(status=204)


def remove_sealed_file(call: Call) -> RouteResponse:
    """Remove a sealed file."""
    call.space.sealed_files.remove(call.agent_id, call.path["name"])
    return RouteResponse(status=204)


def get_sealed_head(call: Call) -> RouteResponse:
    """Return the head of a sealed agent."""
    found = call.space.sealed_files.head(call.agent_id)
    if found is None:
        raise UnknownAtRemote("the agent has no sequence yet at this endpoint")
    data, tag = found
    return RouteResponse(data, headers={"ETag": f'"{tag}"'})


def put_head(call: Call) -> RouteResponse:
    """Replace the head, if it is still the expected one."""
    expected = _expected(call)
    try:
        tag = call.space.sealed_files.set_head(call.agent_id, call.body, expected)
    except HeadMoved as error:
        raise HttpRefusal(412, error) from None
    return RouteResponse(status=204, headers={"ETag": f'"{tag}"'})


def _expected(call: Call) -> str | None:
    """Return the tag that the head must have, None for no head yet.

    Raises HttpRefusal (428) without a condition, because a head is never replaced blindly.
    """
    if call.headers.get("if-none-match", "").strip() == "*":
        return None
    tag = call.headers.get("if-match", "").strip().strip('"')
    if not tag:
        raise HttpRefusal(
            428, HeadMoved("the request must state which version of the index it replaces (If-Match, or If-None-Match)")
        )
    return tag


ROUTES = (
    Route("GET", _FILES, list_sealed_files, (PULL, PUSH), {200: SealedFileList}, problems=(422,)),
    Route("GET", _FILE, fetch_sealed_file, (PULL,), {200: OCTETS}, problems=(422,), audit="read.sealed"),
    Route(
        "PUT",
        _FILE,
        put_sealed_file,
        (PUSH,),
        {204: NOTHING},
        body=Octets("bundle_bytes"),
        problems=(422, 507),
        audit="write.sealed",
    ),
    Route(
        "DELETE", _FILE, remove_sealed_file, (PUSH,), {204: NOTHING}, problems=(422, 507), audit="write.sealed_removed"
    ),
    Route(
        "GET",
        _HEAD,
        get_sealed_head,
        (PULL, PUSH),
        {200: OCTETS},
        problems=(422,),
        answer_headers=ETAG,
        audit="read.sealed_head",
    ),
    Route(
        "PUT",
        _HEAD,
        put_head,
        (PUSH,),
        {204: NOTHING},
        body=Octets("direct_bytes"),
        problems=(412, 422, 428, 507),
        headers=_CONDITIONS,
        answer_headers=ETAG,
        audit="write.sealed_head",
    ),
)
