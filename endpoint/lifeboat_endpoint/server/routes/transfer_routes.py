"""Routes of signed addresses (see `presigned`), which need no token and permit one transfer each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from lifeboat_endpoint.server import presigned
from lifeboat_endpoint.server.api import NOTHING, OCTETS, OPEN, Octets, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.presigned import Permission
from lifeboat_endpoint.server.routes import delta_routes, snapshot_routes, upload_routes
from lifeboat_endpoint.tenancy.callers import Caller
from lifeboat_vault.errors import RemoteDenied, RemoteTooLarge, UnknownAtRemote, UnknownTenant


def fetch_transfer(call: Call) -> RouteResponse:
    """Fetch what a signed address is for."""
    permission = _permission(call, "GET")
    kind, _, what = permission.object.partition("/")
    call.note(object=permission.object)
    if kind == snapshot_routes.SNAPSHOT:
        return snapshot_routes.snapshot_file(call, int(what))
    if kind == snapshot_routes.RESTORE:
        return snapshot_routes.restore_file(call, int(what))
    if kind == delta_routes.DELTA:
        base, _, number = what.partition("-")
        return delta_routes.delta_file(call, int(base), int(number))
    raise UnknownAtRemote("this signed URL is not valid")


def put_transfer(call: Call) -> RouteResponse:
    """Send what a signed address is for, once."""
    permission = _permission(call, "PUT")
    kind, _, upload_id = permission.object.partition("/")
    expires = datetime.fromtimestamp(permission.expires, UTC)
    with call.server.streaming(permission.tenant):
        if kind != upload_routes.UPLOAD or not call.space.use_once(permission.use, expires):
            raise UnknownAtRemote("this signed URL is not valid: it was used before")
        size = call.space.uploads.put_body(upload_id, _limited(call, permission.limit))
    call.note(bytes=size)
    return RouteResponse(status=204)


def _limited(call: Call, limit: int) -> Iterator[bytes]:
    size = 0
    for part in call.body:
        size += len(part)
        if size > limit:
            raise RemoteTooLarge(f"the request must send at most {limit} bytes")
        yield part


def _permission(call: Call, method: str) -> Permission:
    """Return the permission of the address, and act as the caller who requested it.

    An address ends when its token is revoked or its tenant removed. Raises UnknownAtRemote.
    """
    server = call.server
    found = presigned.check_permission(server.transfer_key(), call.path["transfer"], method, call.now)
    call.known = Caller(found.tenant, "", "a signed address", frozenset())
    call.path["agent_id"] = found.agent
    try:
        server.endpoint.control.check_token(found.token, found.tenant)
        server.endpoint.space(found.tenant)
    except (RemoteDenied, UnknownTenant):
        raise UnknownAtRemote("this signed URL is not valid: it has expired") from None
    call.let_in(call.caller)
    return found


ROUTES = (
    Route(
        "GET",
        "/transfers/{transfer}",
        fetch_transfer,
        OPEN,
        {200: OCTETS},
        problems=(403, 422, 503),
        audit="read.transfer",
    ),
    Route(
        "PUT",
        "/transfers/{transfer}",
        put_transfer,
        OPEN,
        {204: NOTHING},
        body=Octets("bundle_bytes", streamed=True),
        problems=(403, 422, 507),
        audit="write.transfer",
    ),
)
