"""Route that reads parts of a sequence back, so that the owner can compare them with the original."""

from __future__ import annotations

import base64

from lifeboat_endpoint.server.api import JSON, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.http_shapes import ReadItems, ReadItemsRequest, to_json
from lifeboat_endpoint.tenancy.callers import PULL


def read_items(call: Call) -> RouteResponse:
    """Return the bytes of entries (by path) and records (by id) of a sequence."""
    asked: ReadItemsRequest = call.body
    found = [
        None if body is None else base64.b64encode(body).decode()
        for body in call.space.read(call.agent_id, asked.sequence, asked.entries, asked.records)
    ]
    call.note(sequence=asked.sequence, entries=len(asked.entries), records=len(asked.records))
    middle = len(asked.entries)
    return RouteResponse(to_json(ReadItems(found[:middle], found[middle:])), media_type=JSON.media_type)


ROUTES = (
    Route(
        "POST",
        "/agents/{agent_id}/read",
        read_items,
        (PULL,),
        {200: ReadItems},
        body=ReadItemsRequest,
        problems=(413,),
        audit="read.items",
    ),
)
