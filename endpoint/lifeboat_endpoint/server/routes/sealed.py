"""Agents that the endpoint may not read: files that never change, and one head with compare-and-set."""

from __future__ import annotations

from lifeboat_endpoint.server.api import NOTHING, OCTETS, Answer, Octets, Route
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.problems import Refusal
from lifeboat_endpoint.server.routes.making import ETAG
from lifeboat_endpoint.server.shapes import SealedFile, SealedFiles
from lifeboat_endpoint.tenancy.callers import PULL, PUSH
from lifeboat_vault.errors import HeadMoved, UnknownThere

_FILES = "/agents/{agent_id}/sealed/files"
_FILE = f"{_FILES}/{{name}}"
_HEAD = "/agents/{agent_id}/sealed/head"
_CONDITIONS = {
    "If-Match": "The tag of the head that is replaced.",
    "If-None-Match": "`*` for the first head.",
}


def names(call: Call) -> Answer:
    found = call.space.sealed_files.names(call.agent_id)
    return Answer(SealedFiles([SealedFile(each.name, each.size, each.age) for each in found]))


def fetch(call: Call) -> Answer:
    return Answer(call.space.sealed_files.get(call.agent_id, call.path["name"]))


def put(call: Call) -> Answer:
    call.space.sealed_files.put(call.agent_id, call.path["name"], call.body)
    call.note(bytes=len(call.body))
    return Answer(status=204)


def remove(call: Call) -> Answer:
    call.space.sealed_files.remove(call.agent_id, call.path["name"])
    return Answer(status=204)


def head(call: Call) -> Answer:
    found = call.space.sealed_files.head(call.agent_id)
    if found is None:
        raise UnknownThere("the agent has no head yet")
    data, tag = found
    return Answer(data, headers={"ETag": f'"{tag}"'})


def put_head(call: Call) -> Answer:
    expected = _expected(call)
    try:
        tag = call.space.sealed_files.set_head(call.agent_id, call.body, expected)
    except HeadMoved as error:
        raise Refusal(412, error) from None
    return Answer(status=204, headers={"ETag": f'"{tag}"'})


def _expected(call: Call) -> str | None:
    """The tag that the head must have, None for no head yet. Raises Refusal (428) where nothing is expected: a head is
    never replaced blindly."""
    if call.headers.get("if-none-match", "").strip() == "*":
        return None
    tag = call.headers.get("if-match", "").strip().strip('"')
    if not tag:
        raise Refusal(428, HeadMoved("the head that is to be replaced has to be named (If-Match, If-None-Match)"))
    return tag


ROUTES = (
    Route("GET", _FILES, names, "Sealed files of an agent.", (PULL, PUSH), {200: SealedFiles}, problems=(422,)),
    Route("GET", _FILE, fetch, "A sealed file.", (PULL,), {200: OCTETS}, problems=(422,), audit="read.sealed"),
    Route(
        "PUT",
        _FILE,
        put,
        "Keep a sealed file; the same one again is no error.",
        (PUSH,),
        {204: NOTHING},
        body=Octets("bundle_bytes"),
        problems=(422, 507),
        audit="write.sealed",
    ),
    Route(
        "DELETE",
        _FILE,
        remove,
        "Let a sealed file go.",
        (PUSH,),
        {204: NOTHING},
        problems=(422, 507),
        audit="write.sealed_removed",
    ),
    Route(
        "GET",
        _HEAD,
        head,
        "The head of a sealed agent.",
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
        "Replace the head, if it is still the one that was seen.",
        (PUSH,),
        {204: NOTHING},
        body=Octets("direct_bytes"),
        problems=(412, 422, 428, 507),
        headers=_CONDITIONS,
        answer_headers=ETAG,
        audit="write.sealed_head",
    ),
)
