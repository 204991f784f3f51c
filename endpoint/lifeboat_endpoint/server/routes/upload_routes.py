"""Routes of bundles that are too large for one request, or that are sent without the token.

They are sent in parts, of which only the missing ones travel, or in three steps over a signed address.
"""

from __future__ import annotations

from lifeboat_endpoint.server.api import NOTHING, Octets, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.http_shapes import (
    BaseQuery,
    DeltaUpload,
    NewUpload,
    PushedDelta,
    PushedSnapshot,
    SnapshotUpload,
    UploadInfo,
)
from lifeboat_endpoint.server.routes import delta_routes, snapshot_routes
from lifeboat_endpoint.server.routes.shape_conversion import MACHINE_SAYS, machine_of, upload_id_of, upload_uuid
from lifeboat_endpoint.service import uploads as service
from lifeboat_endpoint.tenancy.callers import PUSH
from lifeboat_vault.errors import RemoteRefused, StaleBase, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import BundleKind

UPLOAD = "upload"
"""Kind of a signed address: `upload/<id>`."""


def begin_parts(call: Call) -> RouteResponse:
    """Begin to send a bundle in parts. The response names the missing ones."""
    asked: NewUpload = call.body
    kind: BundleKind = "delta" if asked.kind == "delta" else "snapshot"
    if (asked.base_sequence is None) == (kind == "delta"):
        raise RemoteRefused("a delta must have a base_sequence, and a snapshot must have none")
    parts = [service.ExpectedPart(part.sha256, part.size) for part in asked.parts]
    machine = machine_of(call.headers)
    made = call.space.uploads.begin(call.agent_id, kind, asked.base_sequence, parts, machine)
    return RouteResponse(UploadInfo(made.id, made.missing, made.expires_at), 201)


def put_part(call: Call) -> RouteResponse:
    """Send one part. Repeating it is not an error."""
    found = _upload(call)
    call.space.uploads.put_part(found.id, call.path["sha256"], call.body)
    return RouteResponse(status=204)


def commit_upload(call: Call) -> RouteResponse:
    """Push what was sent in parts."""
    found = _upload(call)
    received = call.space.receive_upload(found.id)
    if found.kind == "delta":
        return delta_routes.answer_delta_push(call, received, found.size)
    return snapshot_routes.answer_snapshot_push(call, received, found.size)


def begin_snapshot(call: Call) -> RouteResponse:
    """Return an address to send a snapshot to, without the token."""
    made = call.space.uploads.begin(call.agent_id, "snapshot", None, None, machine_of(call.headers))
    return RouteResponse(SnapshotUpload(_url(call, made.id), upload_uuid(made.id)))


def begin_delta(call: Call) -> RouteResponse:
    """Return an address to send a delta to, without the token.

    A delta whose base is not the head is refused here already, so that no body is sent in vain. An agent whose client
    used another service until now is registered.
    """
    asked: BaseQuery = call.query
    call.space.register_unnamed(call.agent_id)
    head = call.space.head(call.agent_id)
    number = None if head is None else head.number
    if head is not None and number != asked.base_sequence:
        raise StaleBase(
            f"the newest sequence at the endpoint is {number}, not the given base {asked.base_sequence}",
            sequence=number,
        )
    made = call.space.uploads.begin(call.agent_id, "delta", asked.base_sequence, None, machine_of(call.headers))
    return RouteResponse(DeltaUpload(_url(call, made.id), upload_uuid(made.id)))


def _upload(call: Call) -> service.UploadState:
    """Return an upload of this agent. Raises UnknownAtRemote, AgentErased."""
    space = call.space
    space.check_agent(call.agent_id)
    found = space.uploads.get(upload_id_of(call.path["upload_id"]))
    if found.agent_id != call.agent_id:
        raise UnknownAtRemote("unknown upload")
    return found


def _url(call: Call, upload_id: str) -> str:
    return call.signed_url("PUT", f"{UPLOAD}/{upload_id}", limit=call.server.limits.bundle_bytes)


_AGENT = "/agents/{agent_id}"
ROUTES = (
    Route(
        "POST",
        f"{_AGENT}/uploads",
        begin_parts,
        (PUSH,),
        {201: UploadInfo},
        body=NewUpload,
        problems=(507,),
        headers=MACHINE_SAYS,
        audit="write.upload",
    ),
    Route(
        "PUT",
        f"{_AGENT}/uploads/{{upload_id}}/parts/{{sha256}}",
        put_part,
        (PUSH,),
        {204: NOTHING},
        body=Octets("part_bytes"),
        problems=(422, 507),
        audit="write.part",
    ),
    Route(
        "POST",
        f"{_AGENT}/uploads/{{upload_id}}/commit",
        commit_upload,
        (PUSH,),
        {200: (PushedSnapshot, PushedDelta), 201: (PushedSnapshot, PushedDelta)},
        problems=(409, 413, 422, 507),
        audit="write.commit",
        pushes=True,
    ),
    Route(
        "POST",
        f"{_AGENT}/snapshot/upload",
        begin_snapshot,
        (PUSH,),
        {200: SnapshotUpload},
        problems=(413, 422, 507),
        headers=MACHINE_SAYS,
        audit="write.upload",
    ),
    Route(
        "POST",
        f"{_AGENT}/snapshot/upload/{{upload_id}}/confirm",
        commit_upload,
        (PUSH,),
        {200: PushedSnapshot, 201: PushedSnapshot},
        problems=(409, 413, 422, 507),
        audit="write.snapshot",
        pushes=True,
        summary="Push the snapshot that was uploaded in parts.",
    ),
    Route(
        "POST",
        f"{_AGENT}/deltas/upload",
        begin_delta,
        (PUSH,),
        {200: DeltaUpload},
        query=BaseQuery,
        problems=(409, 413, 422, 507),
        headers=MACHINE_SAYS,
        audit="write.upload",
    ),
    Route(
        "POST",
        f"{_AGENT}/deltas/upload/{{upload_id}}/confirm",
        commit_upload,
        (PUSH,),
        {200: PushedDelta, 201: PushedDelta},
        problems=(409, 413, 422, 507),
        audit="write.delta",
        pushes=True,
        summary="Push the delta that was uploaded in parts.",
    ),
)
