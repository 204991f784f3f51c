"""Wrapped data keys of the tenants of a shared endpoint, as objects.

A document names the key source that is asked. An attacker who replaced it would receive data keys and the tokens for
key services. The object store is not trusted with this: the name of a document, which a row holds, includes the digest
of its content.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from lifeboat_alf.common import times
from lifeboat_endpoint.engines import shared_statements as sql
from lifeboat_endpoint.engines.contract import Sources
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_vault import errors
from lifeboat_vault.at_rest import wrapped_keys

if TYPE_CHECKING:
    from lifeboat_endpoint.engines.shared import SharedEngine

KEYS = "keys"
"""Folder of the object store with one folder per tenant."""
_LOCK_SECONDS = 30.0
_MOVED = "if the tenant uses another key source now: lifeboat endpoint rotate-key TENANT --key-source SOURCE --data DIR"
_TIME, _DIGEST, _RANDOM = 16, 64, 16
"""Hexadecimal digits in the last part of a name: microseconds since 1970, SHA-256, random."""


def nothing_known() -> Collection[str]:
    return ()


class _DocumentName(NamedTuple):
    """Parts of the name of a document: the time, which is later than that of the document before, and the digest."""

    time: int
    digest: str


def new_name(tenant_id: str, data: bytes, now: datetime, before: str | None) -> str:
    """Return a new name. It is later than `before`, the name of the replaced document, even if clocks differ."""
    found = None if before is None else _named(before)
    time = (now - times.from_nanoseconds(0)) // timedelta(microseconds=1)
    time = time if found is None else max(time, found.time + 1)
    digest = hashlib.sha256(data).hexdigest()
    last = f"{time:0{_TIME}x}{digest}{secrets.token_hex(_RANDOM // 2)}"
    return f"{KEYS}/{tenant_id}/{secrets.token_hex(1)}/{last}"


def is_of(name: str, data: bytes) -> bool:
    """Whether this content was written under a name."""
    found = _named(name)
    return found is not None and found.digest == hashlib.sha256(data).hexdigest()


def find_newer(names: Collection[str], than: str) -> str | None:
    """Return the newest of these documents, or None if none is newer than `than`."""
    before = _named(than)
    later = [(found.time, each) for each in names if (found := _named(each)) and before and found.time > before.time]
    return max(later)[1] if later else None


def _named(name: str) -> _DocumentName | None:
    last = name.rpartition("/")[2]
    if len(last) != _TIME + _DIGEST + _RANDOM or not set(last) <= set("0123456789abcdef"):
        return None
    return _DocumentName(int(last[:_TIME], 16), last[_TIME : _TIME + _DIGEST])


class ObjectKeyDocuments:
    """`KeyDocuments` as immutable objects; a row names the current one.

    The object is written before the row and deleted after it. The sweep of the bucket removes what a crash leaves
    between.
    """

    def __init__(self, engine: SharedEngine, tenant_id: str, sources: Sources) -> None:
        self._engine = engine
        self._tenant = tenant_id
        self._sources = sources
        self._before: str | None = None

    @property
    def _rows(self) -> PostgresStore:
        """The row of the tenant. A new store each time, since many threads read the keys of a tenant."""
        return PostgresStore(self._engine.pools.control, "control", tenant=self._tenant)

    @property
    def name(self) -> str:
        return f"the key document of {self._tenant}"

    def read(self) -> bytes:
        """Return the current document. Raises VaultMissing, VaultDamaged, KeySourceRefused."""
        key = self._key()
        if key is None:
            raise errors.VaultMissing(f"{self.name} does not exist")
        found = self._engine.document(key)
        return found if found is not None else self._successor(key)

    def _successor(self, missing: str) -> bytes:
        """Return the document that replaced a missing one, after the database was restored to an earlier time.

        A newer document holds all keys that were not destroyed since. An older one may lack some and is not used: the
        bucket may yet be restored.
        """
        listed = [each.key for each in self._engine.bucket.list(f"{KEYS}/{self._tenant}")]
        now = self._key()
        if now is not None and now != missing:
            return self._there(now)  # another process replaced it a moment ago
        newest = find_newer(listed, than=missing)
        if newest is None:
            older_version_note = ", which has only an older version" if set(listed) - {missing} else ""
            raise errors.VaultDamaged(f"{self.name} is missing from the object store{older_version_note}")
        found = self._there(newest)
        self._check_source(found)
        written = times.to_text(self._engine.clock.now())
        # No check of the row count: another process may have found the same document.
        self._rows.execute(sql.REPLACE_DOCUMENT, (newest, written, self._tenant, missing))
        return found

    def _there(self, key: str) -> bytes:
        found = self._engine.document(key)
        if found is None:
            raise errors.VaultDamaged(f"{self.name} is missing from the object store")
        return found

    def _check_source(self, data: bytes) -> None:
        """Raise KeySourceRefused if the document names an unknown key source: no row vouches for its content."""
        if wrapped_keys.decode_key_document(data, self.name, self._tenant).source not in self._sources():
            raise errors.KeySourceRefused(
                f"{self.name} is newer than the database and uses another key source than the tenant",
                fix=_MOVED,
            )

    def replace(self, data: bytes) -> None:
        """Replace the document. Raises VaultBusy if another process did so since `changing` began.

        The lock ends with its connection, even while this process still works.
        """
        key = new_name(self._tenant, data, self._engine.clock.now(), self._before)
        self._engine.bucket.put(key, data)
        if not self._named(key):
            self._engine.bucket.delete(key)
            raise errors.VaultBusy(f"{self.name}: another process changed the data keys at the same time")
        self._before = key
        self._remove_others(key)

    def _named(self, key: str) -> bool:
        """Make the row name this document; return whether it still named the one from the beginning of `changing`."""
        now = times.to_text(self._engine.clock.now())
        if self._before is None:
            return self._rows.execute(sql.ADD_DOCUMENT, (self._tenant, key, now)) == 1
        return self._rows.execute(sql.REPLACE_DOCUMENT, (key, now, self._tenant, self._before)) == 1

    def _remove_others(self, key: str | None) -> None:
        """Delete all other documents, including those an earlier change failed to delete: they may hold destroyed
        keys."""
        for each in list(self._engine.bucket.list(f"{KEYS}/{self._tenant}")):
            if each.key != key:
                self._engine.bucket.delete(each.key)

    def remove(self) -> None:
        """Delete the object first, so that the keys are gone before the removal is acknowledged."""
        key = self._key()
        if key is not None:
            self._engine.bucket.delete(key)
            self._remove_others(None)
            self._rows.execute(sql.DROP_DOCUMENT, (self._tenant,))

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        try:
            with self._engine.alone(f"keys of {self._tenant}", seconds=_LOCK_SECONDS):
                self._before = self._key()
                yield
        except errors.EndpointBusy:
            raise errors.VaultBusy(f"{self.name}: another process is changing the data keys") from None

    def _key(self) -> str | None:
        row = self._rows.row(sql.DOCUMENT, (self._tenant,))
        return None if row is None else str(row[0])
