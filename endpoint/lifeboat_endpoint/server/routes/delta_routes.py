"""Routes of deltas and of the list of sequences."""

from __future__ import annotations

import io
from itertools import pairwise

from lifeboat_endpoint.server.api import OCTETS, Octets, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.http_shapes import (
    BaseQuery,
    DamagedStates,
    DamagedStatesRequest,
    DeltaList,
    DeltaPlace,
    DeltaQuery,
    PushedDelta,
    SequenceList,
    SinceQuery,
)
from lifeboat_endpoint.server.routes.shape_conversion import (
    MACHINE_SAYS,
    head_of,
    machine_of,
    sequence_of,
    state_id,
    status_of,
)
from lifeboat_endpoint.service import state_bundles
from lifeboat_endpoint.service.bundle_receiver import PushResult, SentBundle
from lifeboat_endpoint.tenancy.callers import PULL, PUSH
from lifeboat_vault.errors import UnknownAtRemote

DELTA = "delta"
"""Kind of a signed address: `delta/<base>-<number>`."""


def push_delta(call: Call) -> RouteResponse:
    """Push what changed since the head."""
    asked: BaseQuery = call.query
    machine = machine_of(call.headers)
    sent = SentBundle("delta", io.BytesIO(call.body), len(call.body), asked.base_sequence, asked.sequence, machine)
    return answer_delta_push(call, call.space.receive(call.agent_id, sent), len(call.body))


def answer_delta_push(call: Call, received: PushResult, size: int) -> RouteResponse:
    """Answer a delta that was accepted by any way."""
    number = received.head.number
    call.note(sequence=number, bytes=size)
    content = PushedDelta(number, size, head_of(received.head), state_id(call.agent_id, number))
    return RouteResponse(content, status_of(received))


def list_deltas(call: Call) -> RouteResponse:
    """List the deltas from a sequence to the head, each with an address that is valid for some minutes."""
    asked: SinceQuery = call.query
    found, following = delta_places(call, asked.since, asked.limit)
    return RouteResponse(DeltaList(found, following))


def delta_places(call: Call, since: int, limit: int) -> tuple[list[DeltaPlace], int | None]:
    """Return deltas from the sequence `since` to the next kept one, and so on, and where the next page begins.

    A negative `since` begins at the oldest kept sequence. Raises UnknownAtRemote for a sequence that is not kept.
    """
    with call.space.vault(call.agent_id) as vault:
        first = vault.sequences(limit=1) if since < 0 else [vault.sequence(since)]
        rows = [*first, *(vault.sequences(first[0].number, limit + 1) if first else ())]
    pairs = list(pairwise(rows))
    found = [
        DeltaPlace(
            row.number,
            base.number,
            call.signed_url("GET", f"{DELTA}/{base.number}-{row.number}", limit=0),
            0,
            row.time,
            row.digest.hex(),
        )
        for base, row in pairs[:limit]
    ]
    return found, found[-1].sequence if len(pairs) > limit else None


def fetch_delta(call: Call) -> RouteResponse:
    """Return what changed between any two kept sequences, as a file."""
    asked: DeltaQuery = call.query
    number = int(call.path["sequence"])
    return delta_file(call, _base(call, number) if asked.base is None else asked.base, number)


def delta_file(call: Call, base: int, number: int) -> RouteResponse:
    """Answer with the file that a signed address of `DELTA` permits."""
    bundle = call.space.delta(call.agent_id, base, number)
    headers = {"X-Sequence": str(number), "X-Base-Sequence": str(base)}
    return RouteResponse(headers=headers, file=bundle.file, size=bundle.size)


def list_sequences(call: Call) -> RouteResponse:
    """List the kept sequences, oldest first."""
    asked: SinceQuery = call.query
    with call.space.vault(call.agent_id) as vault:
        rows = vault.sequences(asked.since, asked.limit)
    following = rows[-1].number if len(rows) == asked.limit else None
    return RouteResponse(SequenceList([sequence_of(state_bundles.to_remote_sequence(row)) for row in rows], following))


def _base(call: Call, number: int) -> int:
    """Return the kept sequence before one."""
    with call.space.vault(call.agent_id) as vault:
        row = vault.sequence(number)
        base = row.base if row.base is not None and vault.find(row.base) is not None else None
        if base is None:
            base = next((each.number for each in reversed(vault.sequences()) if each.number < number), None)
    if base is None:
        raise UnknownAtRemote("the endpoint has no earlier sequence; fetch this sequence as a snapshot")
    return base


def list_damaged_states(call: Call) -> RouteResponse:
    """List kept sequences that are not as they were signed. A machine that pushes one of them again repairs it."""
    asked: DamagedStatesRequest = call.body
    return RouteResponse(DamagedStates(call.space.damaged_states(call.agent_id, read=asked.read)))


ROUTES = (
    Route(
        "POST",
        "/agents/{agent_id}/deltas",
        push_delta,
        (PUSH,),
        {200: PushedDelta, 201: PushedDelta},
        query=BaseQuery,
        body=Octets("direct_bytes"),
        problems=(409, 422, 507),
        headers=MACHINE_SAYS,
        audit="write.delta",
        pushes=True,
    ),
    Route(
        "GET",
        "/agents/{agent_id}/deltas",
        list_deltas,
        (PULL,),
        {200: DeltaList},
        query=SinceQuery,
        problems=(422,),
        audit="read.deltas",
    ),
    Route(
        "GET",
        "/agents/{agent_id}/deltas/{sequence}",
        fetch_delta,
        (PULL,),
        {200: OCTETS},
        query=DeltaQuery,
        problems=(422,),
        answer_headers={
            "X-Sequence": "Number of the resulting sequence.",
            "X-Base-Sequence": "Number of the base sequence.",
        },
        audit="read.delta",
    ),
    Route(
        "GET",
        "/agents/{agent_id}/sequences",
        list_sequences,
        (PULL,),
        {200: SequenceList},
        query=SinceQuery,
        problems=(422,),
        audit="read.sequences",
    ),
    Route(
        "POST",
        "/agents/{agent_id}/sequences/damaged",
        list_damaged_states,
        (PUSH,),
        {200: DamagedStates},
        body=DamagedStatesRequest,
        problems=(507,),
        audit="read.damaged",
    ),
)
