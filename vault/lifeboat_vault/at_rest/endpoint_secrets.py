"""Small secrets of an endpoint that all of its processes share: kept among the notes of control, wrapped by the
endpoint's key source."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from lifeboat_vault.at_rest.key_sources.key_source_contract import KeySource
from lifeboat_vault.errors import KeyRevoked, KeySourceRefused, VaultDamaged


class SecretNotes(Protocol):
    """What this needs of `tenancy.control.Control`."""

    def get(self, name: str) -> Any: ...

    def set(self, name: str, value: Any) -> None: ...


def ensure_secret(
    notes: SecretNotes,
    source: KeySource,
    name: str,
    make: Callable[[], bytes],
    alone: AbstractContextManager[None],
    *,
    renews: bool = False,
) -> bytes:
    """The secret of a name, made when there is none; `alone` keeps two processes from making it. With `renews` another
    one takes the place of a secret that was damaged or that another key wrapped; else these raise VaultDamaged and
    KeyRevoked. Raises KeyRevoked where the source does not give its key, KeySourceRefused."""
    found = _opened(notes, source, name, renews)
    if found is None:
        with alone:
            found = _opened(notes, source, name, renews)
            if found is None:
                found = make()
                write_secret(notes, source, name, found)
    return found


def _opened(notes: SecretNotes, source: KeySource, name: str, renews: bool) -> bytes | None:
    """None where there is none that counts."""
    found = notes.get(name)
    if not isinstance(found, str):
        return None
    try:
        return source.unwrap(base64.b64decode(found))
    except (KeyRevoked, VaultDamaged) as error:
        # One that is withheld is still that of the other processes.
        if not renews or (isinstance(error, KeyRevoked) and not error.only_this):
            raise
    return None


def write_secret(notes: SecretNotes, source: KeySource, name: str, secret: bytes) -> None:
    """Put a secret in the place of what is there."""
    notes.set(name, base64.b64encode(source.wrap(secret)).decode())


def rewrap_secret(notes: SecretNotes, before: KeySource, after: KeySource, name: str) -> str | None:
    """The note of a secret as another source wraps it, None where there is none. Raises KeyRevoked, VaultDamaged for
    one that opens with neither."""
    found = notes.get(name)
    if not isinstance(found, str):
        return None
    wrapped = base64.b64decode(found)
    try:
        secret = before.unwrap(wrapped)
    except (KeyRevoked, VaultDamaged):
        with contextlib.suppress(KeyRevoked, VaultDamaged, KeySourceRefused):
            after.unwrap(wrapped)
            return found
        raise
    return base64.b64encode(after.wrap(secret)).decode()
