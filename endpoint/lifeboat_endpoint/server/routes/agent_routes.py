"""Routes of agents: list, register, remove, keys, signatures and epochs."""

from __future__ import annotations

from lifeboat_alf.common import json_codec
from lifeboat_endpoint.server.api import JSON, NOTHING, Octets, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.http_shapes import (
    AgentInfo,
    AgentList,
    AgentsQuery,
    EpochInfo,
    ExpectedEpoch,
    HeadInfo,
    NewAgent,
    SignatureList,
    TakenCount,
)
from lifeboat_endpoint.server.problems import HttpRefusal
from lifeboat_endpoint.server.routes.shape_conversion import ETAG, agent_of, head_of, machine_of, make_etag
from lifeboat_endpoint.tenancy.callers import ADMIN, PULL, PUSH
from lifeboat_vault.errors import RemoteDenied, StaleBase

_KEYS = Octets("direct_bytes", media_type="application/json")
_EITHER = (PULL, PUSH)


def list_agents(call: Call) -> RouteResponse:
    """List the agents of the tenant, by id."""
    asked: AgentsQuery = call.query
    space = call.space
    found = space.agents_page(asked.after, asked.limit)
    following = found[-1].id if len(found) == asked.limit else None
    return RouteResponse(AgentList([agent_of(agent, sealed=space.is_sealed(agent.id)) for agent in found], following))


def register_agent(call: Call) -> RouteResponse:
    """Register an agent."""
    asked: NewAgent = call.body
    call.subject = asked.id.lower()
    made, fresh = call.space.register_new(call.subject, asked.name, asked.source_runtime, sealed=asked.sealed)
    if not fresh:
        latest = made.head.number if made.head is not None else None
        raise HttpRefusal(409, StaleBase("the agent is already registered at this endpoint", sequence=latest))
    return RouteResponse(agent_of(made, sealed=asked.sealed), 201)


def get_agent(call: Call) -> RouteResponse:
    """Return how an agent stands."""
    space = call.space
    return RouteResponse(agent_of(space.agent(call.agent_id), sealed=space.is_sealed(call.agent_id)))


def remove_agent(call: Call) -> RouteResponse:
    """Remove an agent and all its data: any agent with the scope admin, else only a trial agent.

    The token of a machine is stored on a disk, so it may remove only a trial agent that the machine made.
    """
    if not call.space.is_trial(call.agent_id) and ADMIN not in call.caller.scopes:
        raise RemoteDenied("only the operator of the endpoint can remove an agent", scope=ADMIN)
    call.space.remove_agent(call.agent_id)
    return RouteResponse(status=204)


def get_head(call: Call) -> RouteResponse:
    """Return the newest sequence of an agent."""
    found = call.space.head(call.agent_id)
    return RouteResponse(head_of(found), headers={"ETag": make_etag(found, call.space.purges(call.agent_id))})


def get_keys(call: Call) -> RouteResponse:
    """Return the agent's wrapped keys, null if there are none."""
    return RouteResponse(json_codec.encode_json(call.space.keys(call.agent_id)), media_type="application/json")


def put_keys(call: Call) -> RouteResponse:
    """Store the agent's wrapped keys, which the endpoint cannot open."""
    document = json_codec.decode_object(call.body, entry="the body")
    call.space.put_keys(call.agent_id, document)
    return RouteResponse(status=204)


def put_signatures(call: Call) -> RouteResponse:
    """Replace signatures of sequences whose key was revoked."""
    asked: SignatureList = call.body
    taken = call.space.put_signatures(call.agent_id, [(each.sequence, each.signature) for each in asked.signatures])
    call.note(taken=taken)
    return RouteResponse(TakenCount(taken))


def raise_epoch(call: Call) -> RouteResponse:
    """Begin a new epoch. Writers of an older epoch are refused from now on."""
    asked: ExpectedEpoch = call.body
    machine = asked.machine or machine_of(call.headers)
    made = call.space.raise_epoch(call.agent_id, asked.expected, machine=machine)
    call.note(epoch=made)
    return RouteResponse(EpochInfo(made))


ROUTES = (
    Route("GET", "/agents", list_agents, (PULL,), {200: AgentList}, query=AgentsQuery, audit="read.agents"),
    Route(
        "POST",
        "/agents",
        register_agent,
        (PUSH,),
        {201: AgentInfo},
        body=NewAgent,
        problems=(409, 410, 422, 507),
        audit="agent.add",
    ),
    Route("GET", "/agents/{agent_id}", get_agent, _EITHER, {200: AgentInfo}, audit="read.agent"),
    Route(
        "DELETE",
        "/agents/{agent_id}",
        remove_agent,
        (PUSH, ADMIN),
        {204: NOTHING},
        problems=(422, 507),
        audit="agent.remove",
    ),
    Route(
        "GET",
        "/agents/{agent_id}/head",
        get_head,
        _EITHER,
        {200: HeadInfo},
        problems=(422,),
        answer_headers=ETAG,
        audit="read.head",
    ),
    Route("GET", "/agents/{agent_id}/keys", get_keys, (PULL,), {200: JSON}, audit="read.keys"),
    Route(
        "PUT",
        "/agents/{agent_id}/keys",
        put_keys,
        (PUSH,),
        {204: NOTHING},
        body=_KEYS,
        problems=(422, 507),
        audit="write.keys",
    ),
    Route(
        "PUT",
        "/agents/{agent_id}/signatures",
        put_signatures,
        (PUSH,),
        {200: TakenCount},
        body=SignatureList,
        problems=(507,),
        audit="write.signatures",
    ),
    Route(
        "POST",
        "/agents/{agent_id}/epoch",
        raise_epoch,
        (PUSH,),
        {200: EpochInfo},
        body=ExpectedEpoch,
        problems=(409, 507),
        audit="epoch.raise",
    ),
)
