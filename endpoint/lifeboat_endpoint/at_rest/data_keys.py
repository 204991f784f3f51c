"""The data keys of one tenant: 32 random bytes each, in `keys.json`, wrapped by a key source (ALF §8.5.3.2).

A key belongs to a scope: "" for the tenant as a whole, or the id of an agent that has a key of its own. The newest of
a scope is the current one. Tenant, scope and id are wrapped together with a key, so that no key can be put in
another's place. What the source unwrapped is kept for a while; then the source is asked again, so that a key that was
taken away makes the tenant unreadable.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from lifeboat_alf import times
from lifeboat_alf.seams.clock import Clock
from lifeboat_alf.seams.files import FileOperations, read_all, write_atomic
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_endpoint import errors
from lifeboat_endpoint.at_rest.key_document import KeyDocument, WrappedKey, decoded, encoded, payload, unpacked
from lifeboat_endpoint.at_rest.key_sources import registry
from lifeboat_endpoint.at_rest.key_sources.contract import KeySource
from lifeboat_endpoint.at_rest.keyed import KEY_BYTES, KeyedSealer, new_key_id
from lifeboat_endpoint.at_rest.sealer import Sealer
from lifeboat_endpoint.store.disk import translated
from lifeboat_endpoint.store.lock_file import locked

FILE = "keys.json"
LOCK = "keys.lock"
TENANT, AGENT = "tenant", "agent"
SCOPES = (TENANT, AGENT)
WHOLE = ""
"""The scope of what belongs to the tenant as a whole."""
CACHE_SECONDS = 30.0
_LOCK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Held:
    """A key as the source unwrapped it, and until when (monotonic seconds) it is believed."""

    key: bytes
    until: float


class DataKeys:
    """`keys.json` in the folder of a tenant. May be used by several threads, and by several processes."""

    def __init__(
        self, folder: Path, tenant_id: str, *, files: FileOperations, clock: Clock, cache_seconds: float, outside: Path
    ) -> None:
        self._folder = folder
        self._tenant = tenant_id
        self._files = files
        self._clock = clock
        self._cache_seconds = cache_seconds
        self._outside = outside
        self._guard = threading.RLock()
        self._held: dict[str, _Held] = {}
        self._document = self._read()
        self.on_use: Callable[[str], None] = _unnoticed
        """Called with the id of a data key whenever the source has unwrapped it; it must not raise."""

    # Making and opening -----------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: Path,
        tenant_id: str,
        *,
        source: str,
        scope: str,
        files: FileOperations,
        clock: Clock,
        outside: Path | None = None,
    ) -> Self:
        """Make the first data key of a tenant, and the folder when it is missing. `scope` "tenant" or "agent".

        The key of `source` is there already (`registry.make_key` makes it, once); it must not lie in `outside`, the
        folder of the endpoint's data (found by the place of `folder` unless given). Raises KeySourceRefused,
        KeyRevoked, VaultExists.
        """
        if scope not in SCOPES:
            raise ValueError(f"{scope!r} is neither {' nor '.join(SCOPES)}")
        data = outside or data_folder_of(folder)
        with translated():
            files.make_folders(folder, 0o700)
        with _locked(folder):
            if (folder / FILE).exists():
                raise errors.VaultExists(f"{folder} holds data keys")
            wrapping = registry.key_source(source, outside=data)
            document = KeyDocument(tenant_id, wrapping.spec, scope)
            document = document.with_key(_wrapped(tenant_id, WHOLE, os.urandom(KEY_BYTES), wrapping, clock))
            _write(folder, document, files)
        return cls.open(folder, tenant_id, files=files, clock=clock, outside=data)

    @classmethod
    def open(
        cls,
        folder: Path,
        tenant_id: str,
        *,
        files: FileOperations,
        clock: Clock,
        cache_seconds: float = CACHE_SECONDS,
        outside: Path | None = None,
    ) -> Self:
        """Asks no source yet. Raises VaultMissing, VaultDamaged."""
        data = outside or data_folder_of(folder)
        return cls(folder, tenant_id, files=files, clock=clock, cache_seconds=cache_seconds, outside=data)

    # What there is ----------------------------------------------------------------------------------------------

    @property
    def scope(self) -> str:
        """ "tenant" or "agent"."""
        return self._document.scope

    @property
    def source(self) -> str:
        """The specification of the key source."""
        return self._fresh().source

    def ids(self) -> list[str]:
        """Of all data keys, oldest first."""
        return [each.id for each in self._fresh().keys]

    def current(self, agent_id: str | None = None) -> str:
        """The id of the key that new content of an agent (None: of the tenant) is sealed under."""
        return self._current(agent_id).id

    # Sealing ----------------------------------------------------------------------------------------------------

    def sealer(self, agent_id: str | None = None) -> Sealer:
        """Seals with the current key; an agent's own one is made when the scope is "agent" and it has none.

        Raises KeyRevoked, KeySourceRefused, now and whenever it is used after the source took the key away.
        """
        return self._sealer(self._current(agent_id), agent_id)

    def sealer_of(self, key_id: str, agent_id: str | None = None) -> Sealer:
        """As `sealer`, with a key that may not be the current one. Raises KeyRevoked when it was destroyed."""
        return self._sealer(self._named(key_id), agent_id)

    def _sealer(self, wrapped: WrappedKey, agent_id: str | None) -> Sealer:
        key = self._unwrapped(wrapped.id)
        still_held = partial(self._renew, wrapped.id)
        agent = agent_id or WHOLE
        return KeyedSealer(key, key_id=wrapped.id, tenant=self._tenant, agent=agent, still_held=still_held)

    def _current(self, agent_id: str | None) -> WrappedKey:
        with self._guard:
            document = self._fresh()
            scope = agent_id if agent_id is not None and document.scope == AGENT else WHOLE
            found = document.current(scope)
            return found or self._first_of(scope)

    def _first_of(self, scope: str) -> WrappedKey:
        with self._changing() as document:
            if document.current(scope) is None:
                document = self._replace(document.with_key(self._made(scope, self._source(document))))
        found = document.current(scope)
        assert found is not None
        return found

    def _named(self, key_id: str) -> WrappedKey:
        found = self._fresh().named(key_id)
        if found is None:
            raise errors.KeyRevoked(f"there is no data key {key_id}: it was destroyed")
        return found

    def _renew(self, key_id: str) -> None:
        held = self._held.get(key_id)
        if held is None or self._clock.monotonic() >= held.until:
            self._unwrapped(key_id)

    def _unwrapped(self, key_id: str) -> bytes:
        with self._guard:
            now = self._clock.monotonic()
            held = self._held.get(key_id)
            if held is not None and now < held.until:
                return held.key
            self._held.pop(key_id, None)
            wrapped, source = self._named(key_id), self._source(self._document)
            key = unpacked(source.unwrap(wrapped.wrapped), self._tenant, wrapped)
            self._held[key_id] = _Held(key, now + self._cache_seconds)
            self.on_use(key_id)
            return key

    # Changing ---------------------------------------------------------------------------------------------------

    def rotate(self) -> str:
        """A new key becomes current, for the tenant and for each agent that has one of its own; the old ones open what
        they sealed until they are destroyed. The id of the tenant's new key."""
        with self._changing() as document:
            source = self._source(document)
            for scope in document.scopes():
                document = document.with_key(self._made(scope, source))
            reached(Step.REENCRYPT_KEY_MADE)
            self._replace(document)
        return self.current()

    def destroy(self, keep: Collection[str]) -> list[str]:
        """Let go of every key that is neither current nor in `keep`; their ids. What they sealed is gone for good."""
        with self._changing() as document:
            current = {each.id for scope in document.scopes() if (each := document.current(scope)) is not None}
            gone = [each.id for each in document.keys if each.id not in current and each.id not in keep]
            self._drop(document, gone)
        return gone

    def destroy_agent(self, agent_id: str) -> list[str]:
        """Let go of the keys that only this agent has; their ids. None where the whole tenant has one key."""
        with self._changing() as document:
            gone = [each.id for each in document.keys if agent_id and each.scope == agent_id]
            self._drop(document, gone)
        return gone

    def _drop(self, document: KeyDocument, gone: list[str]) -> None:
        if not gone:
            return
        reached(Step.REENCRYPT_KEY_DESTROYED)
        self._replace(document.without(gone))
        for key_id in gone:
            self._held.pop(key_id, None)

    def move(self, source: str) -> None:
        """Wrap every key under another source, whose key is there already. Raises KeyRevoked when the present source
        does not give its key, KeySourceRefused."""
        with self._changing() as document:
            target = registry.key_source(source, outside=self._outside)
            before = self._source(document)
            moved = [
                each.wrapped_as(
                    target.wrap(payload(unpacked(before.unwrap(each.wrapped), self._tenant, each), each, self._tenant))
                )
                for each in document.keys
            ]
            self._replace(document.moved(target.spec, moved))
            self._held.clear()

    def _made(self, scope: str, source: KeySource) -> WrappedKey:
        return _wrapped(self._tenant, scope, os.urandom(KEY_BYTES), source, self._clock)

    def _source(self, document: KeyDocument) -> KeySource:
        return registry.key_source(document.source, outside=self._outside)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[KeyDocument]:
        """Alone, in this process and among others, with the document as it is now."""
        with self._guard, _locked(self._folder):
            yield self._fresh()

    def _replace(self, document: KeyDocument) -> KeyDocument:
        _write(self._folder, document, self._files)
        self._document = document
        return document

    def _fresh(self) -> KeyDocument:
        """The document as the file has it: another process may have changed it."""
        with self._guard:
            self._document = self._read()
            return self._document

    def _read(self) -> KeyDocument:
        path = self._folder / FILE
        try:
            with translated():
                data = read_all(self._files, path)
        except FileNotFoundError:
            raise errors.VaultMissing(f"{path} does not exist") from None
        return decoded(data, path, self._tenant)


def _unnoticed(key_id: str) -> None:
    """Nobody keeps an audit."""


def data_folder_of(folder: Path) -> Path:
    """The data folder of the endpoint that a tenant's folder lies in (`DATA/tenants/<id>`); elsewhere the folder."""
    return folder.parents[1] if folder.parent.name == "tenants" else folder


def _wrapped(tenant: str, scope: str, key: bytes, source: KeySource, clock: Clock) -> WrappedKey:
    blank = WrappedKey(new_key_id(), scope, times.to_text(clock.now()), b"")
    return blank.wrapped_as(source.wrap(payload(key, blank, tenant)))


def _write(folder: Path, document: KeyDocument, files: FileOperations) -> None:
    with translated():
        write_atomic(files, folder / FILE, encoded(document), mode=0o600)


def _locked(folder: Path) -> AbstractContextManager[None]:
    busy = errors.VaultBusy(f"{folder}: another process is changing the data keys")
    return locked(folder / LOCK, seconds=_LOCK_SECONDS, busy=busy)
