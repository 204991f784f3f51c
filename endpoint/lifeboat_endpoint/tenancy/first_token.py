"""The secret of an endpoint's first token, stored until the tenant is used for the first time.

The server prints the join line again at each start until then: a first start may have been stopped before anybody read
it. The secret is wrapped by the endpoint's key source, as the keys of the data are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lifeboat_alf.common import times
from lifeboat_endpoint.tenancy import token_secrets
from lifeboat_endpoint.tenancy.control import FIRST_TOKEN
from lifeboat_vault import errors
from lifeboat_vault.at_rest import endpoint_secrets
from lifeboat_vault.at_rest.key_sources import key_source_registry

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint


class FirstToken(NamedTuple):
    """The name of a tenant and the secret of its first token."""

    tenant: str
    secret: str


def save_first_token(endpoint: Endpoint, secret: str) -> None:
    """Store the secret of the first token. Raises KeyRevoked, KeySourceAway, KeySourceRefused."""
    source = key_source_registry.open_key_source(endpoint.key_source, outside=endpoint.folder)
    endpoint_secrets.write_secret(endpoint.control, source, FIRST_TOKEN, secret.encode())


def load_unused_first_token(endpoint: Endpoint) -> FirstToken | None:
    """Return the first token while its tenant was never used; None without one.

    The stored secret is destroyed here when the token was revoked or cannot be unwrapped. The server destroys it some
    seconds after the first use of the tenant (see `control`).
    """
    if endpoint.control.get(FIRST_TOKEN) is None:
        return None
    try:
        found = _read_unused(endpoint)
    except errors.KeySourceAway:  # the source may answer at the next start
        return None
    except (errors.EndpointError, errors.VaultDamaged, UnicodeDecodeError):
        found = None
    if found is None:
        endpoint.control.set(FIRST_TOKEN, None)
    return found


def _read_unused(endpoint: Endpoint) -> FirstToken | None:
    """Raises EndpointError (the key source refuses, or the token or its tenant was removed), VaultDamaged."""
    source = key_source_registry.open_key_source(endpoint.key_source, outside=endpoint.folder)
    secret = (endpoint_secrets.read_secret(endpoint.control, source, FIRST_TOKEN) or b"").decode()
    token = endpoint.control.token(token_secrets.parse_token_id(secret) or "")
    tenant = endpoint.control.tenant(token.tenant_id)
    was_used = any(each.last_used_at is not None for each in endpoint.control.tokens(tenant.id))
    if was_used or not token.counts_at(times.to_text(endpoint.clock.now())):
        return None
    return FirstToken(tenant.name, secret)
