"""Routes about the endpoint itself: version, readiness, metrics, and the token of the caller."""

from __future__ import annotations

from lifeboat_alf.common import times
from lifeboat_endpoint.server.api import ANY, JSON, NOTHING, OPEN, PEM, TEXT, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.http_shapes import Health, NewToken, TokenInfo, VersionInfo
from lifeboat_endpoint.tenancy.callers import ADMIN, PUSH
from lifeboat_keys.pairs.strict_base64 import to_base64
from lifeboat_vault.errors import RemoteBusy, UnknownAtRemote

_NAME = "agent-lifeboat"


def get_version(call: Call) -> RouteResponse:
    """Return what answers here, and its limits."""
    server = call.server
    now = times.to_text(call.now)
    key = to_base64(server.endpoint.signing_key().public)
    return RouteResponse(VersionInfo(_NAME, server.release, server.endpoint.id, now, server.limits.to_json(), key))


def get_liveness(call: Call) -> RouteResponse:
    """Whether the process answers."""
    return RouteResponse(Health("ok"))


def get_readiness(call: Call) -> RouteResponse:
    """Whether requests can be served.

    Tokens can be looked up, bodies read and data keys unwrapped, and the server is not about to end.
    """
    missing = call.server.readiness.missing()
    if missing:
        raise RemoteBusy(f"not ready: {', '.join(missing)}", retry_after=5)
    return RouteResponse(Health("ok"))


def get_metrics(call: Call) -> RouteResponse:
    """Return metrics for Prometheus. Programs of this machine need no token.

    The metrics are those of all tenants together.
    """
    text, media_type = call.server.metrics.text(call.headers.get("accept", ""))
    return RouteResponse(text, media_type=media_type)


def get_openapi(call: Call) -> RouteResponse:
    """Return this document."""
    return RouteResponse(call.server.document, media_type=JSON.media_type)


def get_authority(call: Call) -> RouteResponse:
    """Return the certificate of the endpoint's own authority."""
    pem = call.server.settings.ca_pem
    if not pem:
        raise UnknownAtRemote("this endpoint does not use its own certificate authority")
    return RouteResponse(pem, media_type=PEM.media_type)


def get_token(call: Call) -> RouteResponse:
    """Return what the token permits."""
    endpoint = call.server.endpoint
    control = endpoint.control
    tenant, found = control.tenant(call.caller.tenant_id), control.token(call.caller.token_id)
    quota = endpoint.limits(tenant).tenant_bytes
    return RouteResponse(TokenInfo(tenant.name, found.name, sorted(found.scopes), found.expires_at, quota))


def make_restore_token(call: Call) -> RouteResponse:
    """Make a restore-only token for a recovery kit.

    It reads everything of the tenant and changes nothing. The scope push is needed, so that such a token cannot make
    others.
    """
    made, secret = call.server.endpoint.control.add_restore_token(call.caller)
    return RouteResponse(NewToken(made.id, made.name, secret, sorted(made.scopes), made.expires_at), status=201)


def revoke_own_token(call: Call) -> RouteResponse:
    """Revoke the token of the request."""
    call.server.endpoint.control.revoke_token(call.caller.token_id, by=call.caller)
    return RouteResponse(status=204)


ROUTES = (
    Route("GET", "/version", get_version, OPEN, {200: VersionInfo}),
    Route("GET", "/livez", get_liveness, OPEN, {200: Health}, quick=True),
    Route("GET", "/readyz", get_readiness, OPEN, {200: Health}, problems=(503,), probe=True),
    Route("GET", "/health/live", get_liveness, OPEN, {200: Health}, quick=True),
    Route("GET", "/health/ready", get_readiness, OPEN, {200: Health}, problems=(503,), probe=True),
    Route("GET", "/metrics", get_metrics, (ADMIN,), {200: TEXT}, near=True),
    Route("GET", "/openapi.json", get_openapi, OPEN, {200: JSON}, quick=True),
    Route("GET", "/ca.pem", get_authority, OPEN, {200: PEM}, problems=(404,), quick=True),
    Route("GET", "/token", get_token, ANY, {200: TokenInfo}),
    Route("POST", "/token", make_restore_token, (PUSH,), {201: NewToken}),
    Route("DELETE", "/token", revoke_own_token, ANY, {204: NOTHING}),
)
