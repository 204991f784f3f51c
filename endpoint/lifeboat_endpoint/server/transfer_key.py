"""The key that signs addresses: 32 random bytes, the same for all processes of an endpoint.

Only addresses that last for minutes depend on it, so a new one is made when the key source changed.
"""

from __future__ import annotations

import os
from functools import partial

from lifeboat_endpoint.endpoint import TRANSFER_KEY, Endpoint
from lifeboat_endpoint.server.presigned import KEY_BYTES
from lifeboat_vault.at_rest import endpoint_secrets
from lifeboat_vault.at_rest.key_sources import key_source_registry
from lifeboat_vault.errors import VaultDamaged

_SECONDS = 30.0


def load_transfer_key(endpoint: Endpoint) -> bytes:
    """Return the key, and make one if none can be unwrapped.

    Raises KeyRevoked, KeySourceRefused if the source gives no key, VaultDamaged if it unwraps something else.
    """
    source = key_source_registry.open_key_source(endpoint.key_source, outside=endpoint.folder)
    alone = endpoint.engine.alone(TRANSFER_KEY, seconds=_SECONDS)
    make = partial(os.urandom, KEY_BYTES)
    found = endpoint_secrets.ensure_secret(endpoint.control, source, TRANSFER_KEY, make, alone, renews=True)
    if len(found) != KEY_BYTES:
        raise VaultDamaged(f"the key source {source.spec} cannot decrypt the key that signs URLs")
    return found
