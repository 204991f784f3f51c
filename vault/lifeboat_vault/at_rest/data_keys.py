"""Manage the data keys of one tenant: 32 random bytes each, in one document, wrapped by a key source (ALF §8.5.3.2).

A key belongs to a scope: "" for the tenant as a whole, or the id of an agent that has its own key. The newest of
a scope is the current one. Tenant, scope and id are wrapped together with a key, so that no key can be put in
another's place. Unwrapped keys are cached for a while; then the source is asked again, so that a key that was
taken away makes the tenant unreadable.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Self

from lifeboat_alf.common import times
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_vault import errors
from lifeboat_vault.at_rest.data_key_cache import DataKeyCache, UnwrappedKey, drop_when_refused
from lifeboat_vault.at_rest.key_document_store import KeyDocumentStore
from lifeboat_vault.at_rest.key_sources import key_source_registry
from lifeboat_vault.at_rest.key_sources.key_source_contract import KeySource
from lifeboat_vault.at_rest.keyed_sealer import KEY_BYTES, KeyedSealer, new_key_id
from lifeboat_vault.at_rest.sealer import Sealer
from lifeboat_vault.at_rest.wrapped_keys import (
    KeyDocument,
    WrappedKey,
    decode_key_document,
    encode_key_document,
    pack_key_payload,
    unpack_key_payload,
)
from lifeboat_vault.store.timed_operations import report_key_wanted

TENANT, AGENT = "tenant", "agent"
SCOPES = (TENANT, AGENT)
WHOLE = ""
"""The scope of the tenant as a whole."""


_Made = dict[tuple[str, str], WrappedKey]


class DataKeys:
    """The data keys in a document. Safe for several threads and several processes."""

    def __init__(self, documents: KeyDocumentStore, tenant_id: str, *, clock: Clock, outside: Path) -> None:
        self._documents = documents
        self._tenant = tenant_id
        self._clock = clock
        self._outside = outside
        self._guard = threading.Lock()
        self._change = threading.RLock()
        self._held = DataKeyCache(tenant_id, self._asked, clock)
        self._data: bytes | None = None
        self._document = self._fresh()
        self.on_use: Callable[[str], None] = _unnoticed
        """Called with the id of a data key whenever the source has unwrapped it; it must not raise."""

    # Making and opening -----------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls, documents: KeyDocumentStore, tenant_id: str, *, source: str, scope: str, clock: Clock, outside: Path
    ) -> Self:
        """Make the first data key of a tenant. `scope` is "tenant" or "agent".

        The key of `source` already exists (`key_source_registry.make_key` makes it, once); it must not be in `outside`,
        the folder of the endpoint's data. Raises KeySourceRefused, KeyRevoked, VaultError.EXISTS.
        """
        if scope not in SCOPES:
            raise ValueError(f"the scope must be `tenant` or `agent`, but is {scope!r}")
        with documents.changing():
            with contextlib.suppress(errors.VaultMissing):
                documents.read()
                raise errors.VaultError.EXISTS(f"data keys exist already in {documents.name}")
            wrapping = key_source_registry.open_key_source(source, outside=outside)
            document = KeyDocument(tenant_id, wrapping.spec, scope)
            document = document.with_key(_wrapped(tenant_id, WHOLE, os.urandom(KEY_BYTES), wrapping, clock))
            documents.replace(encode_key_document(document))
        return cls.open(documents, tenant_id, clock=clock, outside=outside)

    @classmethod
    def open(cls, documents: KeyDocumentStore, tenant_id: str, *, clock: Clock, outside: Path) -> Self:
        """Open the document without asking the source. Raises VaultMissing, VaultDamaged."""
        return cls(documents, tenant_id, clock=clock, outside=outside)

    # Keys -------------------------------------------------------------------------------------------------------

    @property
    def scope(self) -> str:
        """Return "tenant" or "agent"."""
        return self._document.scope

    @property
    def source(self) -> str:
        """Return the specification of the key source."""
        return self._fresh().source

    def ids(self) -> list[str]:
        """Return the ids of all data keys, oldest first."""
        return self._fresh().ids()

    def current(self, agent_id: str | None = None) -> str:
        """Return the id of the key that seals new content of an agent (None: of the tenant)."""
        return self._current(agent_id).id

    # Sealing ----------------------------------------------------------------------------------------------------

    def sealer(self, agent_id: str | None = None) -> Sealer:
        """Return a sealer with the current key. With scope "agent", an agent without a key gets one.

        Raises KeyRevoked, KeySourceAway, KeySourceRefused, now and on every later use after the source revoked the key.
        """
        return self._sealer(self._current(agent_id), agent_id)

    def sealer_of(self, key_id: str, agent_id: str | None = None) -> Sealer:
        """Return a sealer with a key that may not be the current one. Raises KeyRevoked when it was destroyed. Keys
        never change, so a document that was read earlier is sufficient."""
        return self._sealer(self._document.named(key_id) or self._named(key_id), agent_id)

    def _sealer(self, wrapped: WrappedKey, agent_id: str | None) -> Sealer:
        report_key_wanted()
        agent = agent_id or WHOLE
        lend = partial(self._held.of, wrapped.id, agent)
        lend()
        return KeyedSealer(lend, key_id=wrapped.id, tenant=self._tenant, agent=agent)

    def _current(self, agent_id: str | None) -> WrappedKey:
        document = self._fresh()
        scope = agent_id if agent_id is not None and document.scope == AGENT else WHOLE
        return document.current(scope) or self._first_of(scope)

    def _first_of(self, scope: str) -> WrappedKey:
        made = self._made({}, self._fresh(), [scope])
        with self._changing() as document:
            if document.current(scope) is None:
                made = self._made(made, document, [scope])
                document = self._replace(document.with_key(made[document.source, scope]))
        found = document.current(scope)
        assert found is not None
        return found

    def _named(self, key_id: str) -> WrappedKey:
        return _named(self._fresh(), key_id)

    def _asked(self, key_id: str) -> UnwrappedKey:
        document = self._fresh()
        wrapped, source = _named(document, key_id), self._source(document)
        with drop_when_refused(source.spec):
            key = unpack_key_payload(source.unwrap(wrapped.wrapped), self._tenant, wrapped)
        self.on_use(key_id)
        return UnwrappedKey(key, source.spec, source.cache_seconds)

    # Changing ---------------------------------------------------------------------------------------------------

    def rotate(self) -> str:
        """Make new current keys for the tenant and for each agent with its own key; return the id of the tenant's new
        key. Old keys still open what they sealed, until they are destroyed."""
        before = self._fresh()
        made = self._made({}, before, before.scopes())
        with self._changing() as document:
            made = self._made(made, document, document.scopes())
            for scope in document.scopes():
                document = document.with_key(made[document.source, scope])
            reach_crash_point(CrashPoint.REENCRYPT_KEY_MADE)
            self._replace(document)
        return self.current()

    def is_own(self, agent_id: str) -> bool:
        """Return whether an agent has its own keys."""
        return bool(agent_id) and self._fresh().scope == AGENT

    def renew(self, agent_id: str) -> str:
        """Make a new current key for one agent that has its own keys."""
        made = self._made({}, self._fresh(), [agent_id])
        with self._changing() as document:
            made = self._made(made, document, [agent_id])
            reach_crash_point(CrashPoint.REENCRYPT_KEY_MADE)
            self._replace(document.with_key(made[document.source, agent_id]))
        return made[document.source, agent_id].id

    def destroy_older(self, agent_id: str, than: str) -> list[str]:
        """Destroy the keys of only this agent that are older than the given one; return their ids. Newer ones stay,
        because another process may be sealing with them."""
        with self._changing() as document:
            own = [each.id for each in document.keys if each.scope == agent_id]
            gone = own[: own.index(than)] if than in own else []
            self._drop(document, gone)
        return gone

    def older(self) -> list[str]:
        """Return the ids of the keys that are not current. None of them becomes current again."""
        return _older(self._fresh())

    def destroy(self, keep: Collection[str], among: Collection[str] | None = None) -> list[str]:
        """Destroy every key that is neither current nor in `keep`; return their ids. What they sealed is lost for good.

        `among` limits this to keys that were already `older` before content was sealed again. A key replaced after that
        still protects content that was just sealed again.
        """
        with self._changing() as document:
            gone = [each for each in _older(document) if each not in keep and (among is None or each in among)]
            self._drop(document, gone)
        return gone

    def destroy_agent(self, agent_id: str) -> list[str]:
        """Destroy the keys of only this agent; return their ids. None are destroyed where the whole tenant shares a
        key."""
        with self._changing() as document:
            gone = [each.id for each in document.keys if agent_id and each.scope == agent_id]
            self._drop(document, gone)
        return gone

    def _drop(self, document: KeyDocument, gone: list[str]) -> None:
        if not gone:
            return
        reach_crash_point(CrashPoint.REENCRYPT_KEY_DESTROYED)
        self._replace(document.without(gone))
        self._held.drop(gone)

    def move(self, source: str) -> None:
        """Wrap every key with another source, whose key already exists. Raises KeyRevoked when the present source does
        not give its key, KeySourceRefused."""
        target = key_source_registry.open_key_source(source, outside=self._outside)
        moved = self._rewrapped({}, self._fresh(), target)
        with self._changing() as document:
            moved = self._rewrapped(moved, document, target)
            keys = [each.wrapped_as(moved[each.id]) for each in document.keys]
            self._replace(document.moved(target.spec, keys))
        self._held.drop(document.ids())

    def _made(self, made: _Made, document: KeyDocument, scopes: list[str]) -> _Made:
        """Return new keys for the scopes, by source and scope, reusing those in `made`. A remote source is asked before
        the document is locked; under the lock only for scopes that came meanwhile."""
        source = self._source(document)
        return made | {
            (document.source, scope): _wrapped(self._tenant, scope, os.urandom(KEY_BYTES), source, self._clock)
            for scope in scopes
            if (document.source, scope) not in made
        }

    def _rewrapped(self, done: dict[str, bytes], document: KeyDocument, target: KeySource) -> dict[str, bytes]:
        """Return all keys wrapped by another source, by id, reusing those in `done`."""
        before = self._source(document)

        def moved(each: WrappedKey) -> bytes:
            key = unpack_key_payload(before.unwrap(each.wrapped), self._tenant, each)
            return target.wrap(pack_key_payload(key, each, self._tenant))

        return done | {each.id: moved(each) for each in document.keys if each.id not in done}

    def _source(self, document: KeyDocument) -> KeySource:
        return key_source_registry.open_key_source(document.source, outside=self._outside)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[KeyDocument]:
        """Lock the document against other threads and processes and yield its current content. Readers never wait."""
        with self._change, self._documents.changing():
            yield self._fresh()

    def _replace(self, document: KeyDocument) -> KeyDocument:
        self._documents.replace(encode_key_document(document))
        return self._fresh()

    def _fresh(self) -> KeyDocument:
        """Return the current document, which another process may have changed. Unchanged bytes are not decoded again,
        because the document of thousands of agents is large."""
        data = self._documents.read()
        with self._guard:
            if data is not self._data:
                self._document, self._data = decode_key_document(data, self._documents.name, self._tenant), data
            return self._document


def _older(document: KeyDocument) -> list[str]:
    current = {each.id for scope in document.scopes() if (each := document.current(scope)) is not None}
    return [each for each in document.ids() if each not in current]


def _unnoticed(key_id: str) -> None:
    """Ignore the use of a key, where no audit is kept."""


def _named(document: KeyDocument, key_id: str) -> WrappedKey:
    found = document.named(key_id)
    if found is None:
        raise errors.KeyRevoked(f"the data key {key_id} does not exist, because it was destroyed", only_this=True)
    return found


def _wrapped(tenant: str, scope: str, key: bytes, source: KeySource, clock: Clock) -> WrappedKey:
    blank = WrappedKey(new_key_id(), scope, times.to_text(clock.now()), b"")
    return blank.wrapped_as(source.wrap(pack_key_payload(key, blank, tenant)))
