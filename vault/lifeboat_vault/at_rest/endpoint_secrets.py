"""Small secrets that all processes of an endpoint share, stored in the control notes and wrapped by the endpoint's key
source."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from lifeboat_vault.at_rest.key_sources.key_source_contract import KeySource
from lifeboat_vault.errors import KeyRevoked, KeySourceRefused, VaultDamaged


class SecretNotes(Protocol):
    """The part of `tenancy.control.Control` that is needed here."""

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
    """Return the secret of a name; make it when there is none. `alone` prevents two processes from making it.

    With `renews`, a secret that is damaged or wrapped by another key is replaced; otherwise it raises VaultDamaged or
    KeyRevoked. Raises KeyRevoked where the source does not give its key, KeySourceRefused.
    """
    found = _opened(notes, source, name, renews)
    if found is None:
        with alone:
            found = _opened(notes, source, name, renews)
            if found is None:
                found = make()
                write_secret(notes, source, name, found)
    return found


def read_secret(notes: SecretNotes, source: KeySource, name: str) -> bytes | None:
    """Return the secret of a name, None without one. Raises KeyRevoked, KeySourceRefused, VaultDamaged."""
    found = notes.get(name)
    return source.unwrap(base64.b64decode(found)) if isinstance(found, str) else None


def _opened(notes: SecretNotes, source: KeySource, name: str, renews: bool) -> bytes | None:
    """Return the secret; None when there is no valid one."""
    try:
        return read_secret(notes, source, name)
    except (KeyRevoked, VaultDamaged) as error:
        # A withheld secret is still in use by the other processes.
        if not renews or (isinstance(error, KeyRevoked) and not error.only_this):
            raise
    return None


def write_secret(notes: SecretNotes, source: KeySource, name: str, secret: bytes) -> None:
    """Write a secret, replacing the present one."""
    notes.set(name, base64.b64encode(source.wrap(secret)).decode())


def rewrap_secret(notes: SecretNotes, before: KeySource, after: KeySource, name: str) -> str | None:
    """Return the note of a secret wrapped by another source; None without one. Raises KeyRevoked, and VaultDamaged for
    one that neither source opens."""
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
