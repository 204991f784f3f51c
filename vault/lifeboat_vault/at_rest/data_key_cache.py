"""Cache unwrapped data keys in this process's memory for a limited time.

When a source refuses a key, all its keys are dropped at once, for every tenant of this process, because the source may
have been revoked. Dropped keys are overwritten where possible, and the keys derived from them are dropped too.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from lifeboat_alf.seams.system_clock import Clock
from lifeboat_vault.at_rest.keyed_sealer import SealingKeys, sealing_keys
from lifeboat_vault.errors import KeyRevoked, KeySourceAway

_PATIENCE = 2.0
"""Seconds that a thread waits for another thread that asks for the same key."""
_SWEEP = 10.0
"""Seconds between two sweeps for expired keys."""


@dataclass(frozen=True, slots=True)
class UnwrappedKey:
    """A data key unwrapped by the source with this specification, and how many seconds it may be cached."""

    key: bytes = field(repr=False)
    source: str
    seconds: float


class _CachedKey:
    """One data key until a moment (monotonic seconds), with the agent keys derived from it so far."""

    def __init__(self, given: UnwrappedKey, until: float) -> None:
        self.source = given.source
        self.until = until
        self._key = bytearray(given.key)
        self._following: dict[str, SealingKeys] = {}
        self._guard = threading.Lock()

    def following(self, key_id: str, tenant: str, agent: str) -> SealingKeys | None:
        """Return the derived keys of an agent; None after the data key was dropped."""
        found = self._following.get(agent)
        if found is None:
            with self._guard:
                if not self._key:
                    return None
                found = self._following[agent] = sealing_keys(self._key, tenant=tenant, agent=agent, key_id=key_id)
        return found

    def wipe(self) -> None:
        with self._guard:
            self._key[:] = bytes(len(self._key))
            self._key.clear()
            self._following.clear()


class DataKeyCache:
    """Cache of one tenant's data keys. Thread-safe. `ask` unwraps a key by its id.

    `ask` raises KeyRevoked, KeySourceAway and KeySourceRefused, and drops cached keys on the first
    (`drop_when_refused`).
    """

    def __init__(self, tenant: str, ask: Callable[[str], UnwrappedKey], clock: Clock) -> None:
        self._tenant = tenant
        self._ask = ask
        self._clock = clock
        self._guard = threading.Lock()
        self._held: dict[str, _CachedKey] = {}
        self._asking: dict[str, threading.Lock] = {}
        self._swept = clock.monotonic()
        with _EVERY_GUARD:
            _EVERY.add(self)

    def of(self, key_id: str, agent: str) -> SealingKeys:
        """Return the sealing keys of an agent ("" for the tenant as a whole), asking the source when they are not
        cached. Call it before every use. Raises KeyRevoked, KeySourceAway, KeySourceRefused, VaultDamaged."""
        while True:
            held = self._held.get(key_id)
            if held is None or self._clock.monotonic() >= held.until:
                held = self._asked(key_id)
            found = held.following(key_id, self._tenant, agent)
            if found is not None:
                return found

    def drop(self, ids: Collection[str]) -> None:
        """Drop some keys."""
        with self._guard:
            gone = [self._held.pop(key_id) for key_id in ids if key_id in self._held]
        for held in gone:
            held.wipe()

    def drop_of(self, source: str) -> None:
        """Drop all keys from a source."""
        self.drop([key_id for key_id, held in list(self._held.items()) if held.source == source])

    def drop_ended(self) -> None:
        """Drop expired keys."""
        now = self._clock.monotonic()
        self._swept = now
        self.drop([key_id for key_id, held in list(self._held.items()) if now >= held.until])
        with self._guard:
            self._asking = {key_id: lock for key_id, lock in self._asking.items() if lock.locked()}

    @property
    def is_sweep_due(self) -> bool:
        return self._clock.monotonic() >= self._swept + _SWEEP

    def _asked(self, key_id: str) -> _CachedKey:
        """Ask the source in one thread while the others wait for the answer."""
        with self._guard:
            asking = self._asking.setdefault(key_id, threading.Lock())
        if not asking.acquire(timeout=_PATIENCE):
            raise KeySourceAway(f"the key source did not deliver the data key {key_id} within {_PATIENCE:.0f} seconds")
        try:
            held = self._held.get(key_id)
            if held is not None and self._clock.monotonic() < held.until:
                return held
            self.drop([key_id])
            given = self._ask(key_id)
            held = _CachedKey(given, self._clock.monotonic() + given.seconds)
            with self._guard:
                self._held[key_id] = held
        finally:
            asking.release()
        drop_ended()
        return held


_EVERY: weakref.WeakSet[DataKeyCache] = weakref.WeakSet()
_EVERY_GUARD = threading.Lock()


@contextlib.contextmanager
def drop_when_refused(source: str) -> Iterator[None]:
    """While asking a source: if it refuses, drop its keys of every tenant in this process."""
    try:
        yield
    except KeyRevoked as error:
        if not error.only_this:
            for each in _every():
                each.drop_of(source)
        raise


def drop_ended() -> None:
    """Drop expired keys of this process. Call it periodically where no further key is requested."""
    for each in _every():
        if each.is_sweep_due:
            each.drop_ended()


def _every() -> list[DataKeyCache]:
    with _EVERY_GUARD:
        return list(_EVERY)
