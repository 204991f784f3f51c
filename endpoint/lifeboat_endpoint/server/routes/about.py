"""The endpoint itself: what it is, whether it is well, and who asks."""

from __future__ import annotations

from lifeboat_alf import times
from lifeboat_endpoint.server.api import ANY, JSON, NOTHING, OPEN, PEM, TEXT, Answer, Route
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.shapes import Health, TokenInfo, Version
from lifeboat_endpoint.tenancy.callers import ADMIN
from lifeboat_keys.encodings import to_base64
from lifeboat_vault.errors import RemoteBusy, UnknownThere

_NAME = "agent-lifeboat"
_LIVE = "Whether the process answers."
_READY = "Whether requests can be served."


def version(call: Call) -> Answer:
    server = call.server
    now = times.to_text(call.now)
    key = to_base64(server.endpoint.signing_key().public)
    return Answer(Version(_NAME, server.release, server.endpoint.id, now, server.limits.to_json(), key))


def live(call: Call) -> Answer:
    return Answer(Health("ok"))


def ready(call: Call) -> Answer:
    """Whether tokens can be looked up, bodies read and data keys unwrapped, and no end is near."""
    missing = call.server.readiness.missing()
    if missing:
        raise RemoteBusy(f"not ready: {', '.join(missing)}", retry_after=5)
    return Answer(Health("ok"))


def metrics(call: Call) -> Answer:
    """Figures of all tenants together; for programs of this machine, or whoever may look after the endpoint."""
    text, media_type = call.server.metrics.text(call.headers.get("accept", ""))
    return Answer(text, media_type=media_type)


def openapi(call: Call) -> Answer:
    return Answer(call.server.document, media_type=JSON.media_type)


def authority(call: Call) -> Answer:
    pem = call.server.settings.ca_pem
    if not pem:
        raise UnknownThere("this endpoint has no authority of its own")
    return Answer(pem, media_type=PEM.media_type)


def token(call: Call) -> Answer:
    endpoint = call.server.endpoint
    control = endpoint.control
    tenant, found = control.tenant(call.caller.tenant_id), control.token(call.caller.token_id)
    quota = endpoint.limits(tenant).tenant_bytes
    return Answer(TokenInfo(tenant.name, found.name, sorted(found.scopes), found.expires_at, quota))


def revoke(call: Call) -> Answer:
    call.server.endpoint.control.revoke_token(call.caller.token_id, by=call.caller)
    return Answer(status=204)


ROUTES = (
    Route("GET", "/version", version, "What answers here, and what it takes.", OPEN, {200: Version}),
    Route("GET", "/livez", live, _LIVE, OPEN, {200: Health}, quick=True),
    Route("GET", "/readyz", ready, _READY, OPEN, {200: Health}, problems=(503,), probe=True),
    Route("GET", "/health/live", live, _LIVE, OPEN, {200: Health}, quick=True),
    Route("GET", "/health/ready", ready, _READY, OPEN, {200: Health}, problems=(503,), probe=True),
    Route(
        "GET",
        "/metrics",
        metrics,
        "Figures for Prometheus. Programs of this machine need no token.",
        (ADMIN,),
        {200: TEXT},
        near=True,
    ),
    Route("GET", "/openapi.json", openapi, "This document.", OPEN, {200: JSON}, quick=True),
    Route(
        "GET",
        "/ca.pem",
        authority,
        "The certificate of the endpoint's own authority.",
        OPEN,
        {200: PEM},
        problems=(404,),
        quick=True,
    ),
    Route("GET", "/token", token, "Whose token this is.", ANY, {200: TokenInfo}),
    Route("DELETE", "/token", revoke, "Have the token that is used count no more.", ANY, {204: NOTHING}),
)
