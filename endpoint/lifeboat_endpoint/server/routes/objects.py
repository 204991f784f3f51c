"""Large artifacts, by the SHA-256 of their bytes."""

from __future__ import annotations

from lifeboat_endpoint.server.api import NOTHING, OCTETS, Answer, Octets, Route
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.shapes import DigestsAsked, Missing
from lifeboat_endpoint.tenancy.callers import PULL, PUSH

_PATH = "/agents/{agent_id}/objects/{sha256}"


def missing(call: Call) -> Answer:
    asked: DigestsAsked = call.body
    return Answer(Missing(call.space.missing(call.agent_id, asked.sha256, read=asked.read)))


def fetch(call: Call) -> Answer:
    return Answer(call.space.object(call.agent_id, call.path["sha256"]))


def put(call: Call) -> Answer:
    call.space.put_object(call.agent_id, call.path["sha256"], call.body)
    call.note(bytes=len(call.body))
    return Answer(status=204)


ROUTES = (
    Route(
        "POST",
        "/agents/{agent_id}/objects/missing",
        missing,
        "Which of these artifacts kept states name, and the endpoint has not.",
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
        problems=(422, 507),
        audit="write.object",
    ),
)
