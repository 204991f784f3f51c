"""The key that signs addresses: 32 random bytes, the same for all processes of an endpoint, kept in control.db wrapped
by the endpoint's key source. Nothing but addresses of some minutes rests on it, so where the source changed a new one
is made."""

from __future__ import annotations

import base64
import os

import filelock

from lifeboat_endpoint.at_rest.key_sources import registry
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.errors import KeyRevoked, VaultDamaged
from lifeboat_endpoint.server.presigned import KEY_BYTES

_NAME = "transfer_key"
_LOCK = "transfer_key.lock"


def kept_key(endpoint: Endpoint) -> bytes:
    """The key, made when there is none that opens. Raises KeyRevoked, KeySourceRefused where the source gives none."""
    source = registry.key_source(endpoint.settings.key_source, outside=endpoint.folder)
    with filelock.FileLock(endpoint.folder / _LOCK, mode=0o600):
        kept = endpoint.control.get(_NAME)
        if isinstance(kept, str):
            try:
                return source.unwrap(base64.b64decode(kept))
            except (KeyRevoked, VaultDamaged):
                pass  # another source wrapped it
        made = os.urandom(KEY_BYTES)
        endpoint.control.set(_NAME, base64.b64encode(source.wrap(made)).decode())
        return made
