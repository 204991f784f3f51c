"""Routes of snapshots: push one, and fetch one as a file or by a signed address."""

from __future__ import annotations

import io
from urllib.parse import quote

from lifeboat_endpoint.server.api import OCTETS, ZIP, Octets, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.http_shapes import (
    PAGE,
    NumberQuery,
    PushedSnapshot,
    RestoreInfo,
    SnapshotInfo,
    SnapshotPlace,
    SnapshotQuery,
)
from lifeboat_endpoint.server.routes.delta_routes import delta_places
from lifeboat_endpoint.server.routes.shape_conversion import MACHINE_SAYS, head_of, machine_of, state_id, status_of
from lifeboat_endpoint.service.bundle_receiver import PushResult, SentBundle
from lifeboat_endpoint.tenancy.callers import PULL, PUSH
from lifeboat_vault.errors import UnknownAtRemote
from lifeboat_vault.remote.remote_contract import RemoteBundle

SNAPSHOT, RESTORE = "snapshot", "restore"
"""Kinds of signed addresses: `snapshot/<number>`, `restore/<number>`."""
_FILES = ("application/zip", "application/octet-stream")
_ACCEPT = {"Accept": f"{' or '.join(_FILES)} to get the file, JSON to get its URL."}


def push_snapshot(call: Call) -> RouteResponse:
    """Push a whole sequence: the first one of an agent, or any one of a client that signs nothing."""
    asked: NumberQuery = call.query
    machine = machine_of(call.headers)
    sent = SentBundle("snapshot", io.BytesIO(call.body), len(call.body), number=asked.sequence, machine=machine)
    received = call.space.receive(call.agent_id, sent)
    return answer_snapshot_push(call, received, len(call.body))


def answer_snapshot_push(call: Call, received: PushResult, size: int) -> RouteResponse:
    """Answer a snapshot that was accepted by any way."""
    number = received.head.number
    call.note(sequence=number, bytes=size)
    made = state_id(call.agent_id, number)
    content = PushedSnapshot(number, size, head_of(received.head), made)
    return RouteResponse(content, status_of(received))


def fetch_snapshot(call: Call) -> RouteResponse:
    """Return a whole sequence as a file, or an address that is valid for some minutes."""
    asked: SnapshotQuery = call.query
    media_type = wanted_file(call)
    if media_type:
        return sent_file(call.space.snapshot(call.agent_id, asked.sequence), media_type, call.agent_id)
    number = _kept(call, asked.sequence)
    place = _place(call, SNAPSHOT, number)
    deltas, following = delta_places(call, number, PAGE) if asked.include_deltas else ([], None)
    return RouteResponse(SnapshotInfo(place, place.url, place.snapshot_id, number, deltas, following))


def get_restore(call: Call) -> RouteResponse:
    """Return the newest sequence for clients that know no deltas.

    It is one file, because such clients know neither successors nor cuts.
    """
    head = call.space.head(call.agent_id)
    if head is None:
        return RouteResponse(RestoreInfo(None, []))
    call.space.check_whole(call.agent_id)
    return RouteResponse(RestoreInfo(_place(call, RESTORE, head.number), []))


def snapshot_file(call: Call, number: int) -> RouteResponse:
    """Answer with the file that a signed address of `SNAPSHOT` permits."""
    return sent_file(call.space.snapshot(call.agent_id, number), "", call.agent_id)


def restore_file(call: Call, number: int) -> RouteResponse:
    """Answer with the file that a signed address of `RESTORE` permits."""
    return sent_file(call.space.older_view(call.agent_id, number), "", call.agent_id)


def wanted_file(call: Call) -> str:
    """Return the media type of the file if the request prefers it, "" for JSON."""
    for part in call.headers.get("accept", "").split(","):
        media_type = part.partition(";")[0].strip().lower()
        if media_type in _FILES:
            return media_type
        if media_type == "application/json":
            return ""
    return ""


def sent_file(bundle: RemoteBundle, media_type: str, agent_id: str) -> RouteResponse:
    """Answer with a bundle."""
    ending = "alf" if bundle.kind == "snapshot" else "alf-delta"
    name = quote(f"{agent_id}-{bundle.number}.{ending}")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Sequence": str(bundle.number)}
    return RouteResponse(headers=headers, media_type=media_type, file=bundle.file, size=bundle.size)


def _kept(call: Call, number: int | None) -> int:
    with call.space.vault(call.agent_id) as vault:
        row = vault.head() if number is None else vault.find(number)
    if row is None:
        raise UnknownAtRemote("the agent has no sequence with this number")
    return row.number


def _place(call: Call, kind: str, number: int) -> SnapshotPlace:
    url = call.signed_url("GET", f"{kind}/{number}", limit=0)
    return SnapshotPlace(url, state_id(call.agent_id, number), number)


_BODY = Octets("direct_bytes")
_SEQUENCE = {
    "X-Sequence": "The number of the sequence in the file.",
    "Content-Disposition": "A name for the downloaded file.",
}
ROUTES = (
    Route(
        "PUT",
        "/agents/{agent_id}/snapshot",
        push_snapshot,
        (PUSH,),
        {200: PushedSnapshot, 201: PushedSnapshot},
        query=NumberQuery,
        body=_BODY,
        problems=(409, 422, 507),
        headers=MACHINE_SAYS,
        audit="write.snapshot",
        pushes=True,
    ),
    Route(
        "GET",
        "/agents/{agent_id}/snapshot",
        fetch_snapshot,
        (PULL,),
        {200: (SnapshotInfo, OCTETS, ZIP)},
        query=SnapshotQuery,
        problems=(422,),
        headers=_ACCEPT,
        answer_headers=_SEQUENCE,
        audit="read.snapshot",
    ),
    Route(
        "GET",
        "/agents/{agent_id}/restore",
        get_restore,
        (PULL,),
        {200: RestoreInfo},
        problems=(422,),
        audit="read.restore",
    ),
)
