"""Small secrets of an endpoint that all of its processes share: kept among the notes of control, wrapped by the
endpoint's key source."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from lifeboat_endpoint.at_rest.key_sources.contract import KeySource
from lifeboat_endpoint.errors import KeyRevoked, VaultDamaged


class Notes(Protocol):
    """What this needs of `tenancy.control.Control`."""

    def get(self, name: str) -> Any: ...

    def set(self, name: str, value: Any) -> None: ...


def kept(
    notes: Notes,
    source: KeySource,
    name: str,
    make: Callable[[], bytes],
    alone: AbstractContextManager[None],
    *,
    renews: bool = False,
) -> bytes:
    """The secret of a name, made when there is none; `alone` keeps two processes from making it. With `renews` another
    one takes the place of a secret that does not open; else raises KeyRevoked where the source does not give its key or
    another one wrapped the secret, VaultDamaged. Raises KeySourceRefused."""
    with alone:
        found = notes.get(name)
        if isinstance(found, str):
            try:
                return source.unwrap(base64.b64decode(found))
            except (KeyRevoked, VaultDamaged):
                if not renews:
                    raise
        made = make()
        keep(notes, source, name, made)
        return made


def keep(notes: Notes, source: KeySource, name: str, secret: bytes) -> None:
    """Put a secret in the place of what is there."""
    notes.set(name, base64.b64encode(source.wrap(secret)).decode())


def rewrap(notes: Notes, before: KeySource, after: KeySource, names: Iterable[str]) -> None:
    """Wrap those that there are under another source. One that does not open stays: whoever needs it says so, or makes
    it anew."""
    for name in names:
        found = notes.get(name)
        if isinstance(found, str):
            with contextlib.suppress(KeyRevoked, VaultDamaged):
                keep(notes, after, name, before.unwrap(base64.b64decode(found)))
