"""Routes that list the redactions of an agent and take a new one."""

from __future__ import annotations

from lifeboat_alf.common import json_codec
from lifeboat_endpoint.server.api import Octets, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.http_shapes import RedactionInfo, RedactionList, RedactionQuery
from lifeboat_endpoint.tenancy.callers import PULL, PURGE, PUSH

_DOCUMENT = Octets("direct_bytes", media_type="application/json")


def list_redactions(call: Call) -> RouteResponse:
    """List the redactions of an agent, also those that wait. A purged agent has the one that names all of it."""
    found = call.space.redactions(call.agent_id)
    call.note(redactions=len(found))
    return RouteResponse(RedactionList(found))


def submit_redaction(call: Call) -> RouteResponse:
    """Purge what a signed redaction names: immediately with the scope purge, else after a wait.

    `confirm` requires the scope purge, so that the redaction cannot wait.
    """
    asked: RedactionQuery = call.query
    if asked.confirm:
        call.caller.need(PURGE)
    # Answer the same for an agent of another tenant as for one that does not exist
    call.space.check_known(call.agent_id)
    document = json_codec.decode_object(call.body, entry="the body")
    state = call.space.redact(call.agent_id, document, confirmed=PURGE in call.caller.scopes)
    call.server.metrics.purge(applied=state.receipt is not None)
    call.note(redaction=state.id, applies_at=state.applies_at)
    return RouteResponse(RedactionInfo(state.id, state.applies_at, state.receipt))


ROUTES = (
    Route(
        "GET",
        "/agents/{agent_id}/redactions",
        list_redactions,
        (PULL, PUSH, PURGE),
        {200: RedactionList},
        audit="read.redactions",
    ),
    Route(
        "POST",
        "/agents/{agent_id}/redactions",
        submit_redaction,
        (PUSH, PURGE),
        {200: RedactionInfo},
        query=RedactionQuery,
        body=_DOCUMENT,
        problems=(422, 507),
        audit="purge.sent",
    ),
)
