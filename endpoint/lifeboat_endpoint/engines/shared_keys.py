"""Where a shared endpoint keeps the wrapped data keys of its tenants.

A document says which key source is asked, so whoever could change one would be shown data keys, and the tokens that
key services are asked with. An object store is trusted with neither: the name of a document, which stands in the
database, holds the digest of what was written.
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
"""A folder of the object store; each tenant has one of its own below."""
_LOCK_SECONDS = 30.0
_MOVED = "where it was given another one since: lifeboat endpoint rotate-key TENANT --key-source SOURCE --data DIR"
_TIME, _DIGEST, _RANDOM = 16, 64, 16
"""Hexadecimal digits of which the last part of a name consists: microseconds since 1970, SHA-256, and at random."""


def nothing_known() -> Collection[str]:
    return ()


class _DocumentName(NamedTuple):
    """What the name of a document says: when it was written, later than the one before, and the digest of it."""

    time: int
    digest: str


def new_name(tenant_id: str, data: bytes, now: datetime, before: str | None) -> str:
    """`before` is the name of the document that this one replaces, whatever the clock of its writer said."""
    found = None if before is None else _named(before)
    time = (now - times.from_nanoseconds(0)) // timedelta(microseconds=1)
    time = time if found is None else max(time, found.time + 1)
    digest = hashlib.sha256(data).hexdigest()
    last = f"{time:0{_TIME}x}{digest}{secrets.token_hex(_RANDOM // 2)}"
    return f"{KEYS}/{tenant_id}/{secrets.token_hex(1)}/{last}"


def is_of(name: str, data: bytes) -> bool:
    """Whether this is what was written under a name."""
    found = _named(name)
    return found is not None and found.digest == hashlib.sha256(data).hexdigest()


def find_newer(names: Collection[str], than: str) -> str | None:
    """The newest of these documents, None when none is newer."""
    before = _named(than)
    later = [(found.time, each) for each in names if (found := _named(each)) and before and found.time > before.time]
    return max(later)[1] if later else None


def _named(name: str) -> _DocumentName | None:
    last = name.rpartition("/")[2]
    if len(last) != _TIME + _DIGEST + _RANDOM or not set(last) <= set("0123456789abcdef"):
        return None
    return _DocumentName(int(last[:_TIME], 16), last[_TIME : _TIME + _DIGEST])


class ObjectKeyDocuments:
    """`KeyDocuments` as objects that never change, the one in force named by a row. The object comes before the row
    and goes after it; what a crash leaves in between nobody names, and the sweep of the bucket takes it."""

    def __init__(self, engine: SharedEngine, tenant_id: str, sources: Sources) -> None:
        self._engine = engine
        self._tenant = tenant_id
        self._sources = sources
        self._before: str | None = None

    @property
    def _rows(self) -> PostgresStore:
        """Another one each time: many threads read the keys of a tenant."""
        return PostgresStore(self._engine.pools.control, "control", tenant=self._tenant)

    @property
    def name(self) -> str:
        return f"the key document of {self._tenant}"

    def read(self) -> bytes:
        """Raises VaultMissing, VaultDamaged, KeySourceRefused."""
        key = self._key()
        if key is None:
            raise errors.VaultMissing(f"{self.name} does not exist")
        found = self._engine.document(key)
        return found if found is not None else self._successor(key)

    def _successor(self, missing: str) -> bytes:
        """What replaced a document that a row still names: the database was restored to an earlier moment. It holds all
        keys that were not destroyed since. An older one does not, and is left alone: the bucket may be put back yet."""
        listed = [each.key for each in self._engine.bucket.list(f"{KEYS}/{self._tenant}")]
        now = self._key()
        if now is not None and now != missing:
            return self._there(now)  # somebody replaced it a moment ago
        newest = find_newer(listed, than=missing)
        if newest is None:
            what_is = "; what lies there is older" if set(listed) - {missing} else ""
            raise errors.VaultDamaged(f"{self.name} is missing in the object store{what_is}")
        found = self._there(newest)
        self._check_source(found)
        written = times.to_text(self._engine.clock.now())
        self._rows.execute(sql.REPLACE_DOCUMENT, (newest, written, self._tenant, missing))
        return found

    def _there(self, key: str) -> bytes:
        found = self._engine.document(key)
        if found is None:
            raise errors.VaultDamaged(f"{self.name} is missing in the object store")
        return found

    def _check_source(self, data: bytes) -> None:
        """No row vouches for this document, and whoever can write to the object store could have put it there."""
        if wrapped_keys.decode_key_document(data, self.name, self._tenant).source not in self._sources():
            raise errors.KeySourceRefused(
                f"{self.name} is newer than the database, and names another key source than the tenant has there",
                fix=_MOVED,
            )

    def replace(self, data: bytes) -> None:
        """Raises VaultBusy where another process replaced it since `changing` began: the lock ends with its connection,
        whatever its holder is at."""
        key = new_name(self._tenant, data, self._engine.clock.now(), self._before)
        self._engine.bucket.put(key, data)
        if not self._named(key):
            self._engine.bucket.delete(key)
            raise errors.VaultBusy(f"{self.name}: another process changed the data keys meanwhile")
        self._before = key
        self._remove_others(key)

    def _named(self, key: str) -> bool:
        """Whether the row that was there when `changing` began names this one now."""
        now = times.to_text(self._engine.clock.now())
        if self._before is None:
            return self._rows.execute(sql.ADD_DOCUMENT, (self._tenant, key, now)) == 1
        return self._rows.execute(sql.REPLACE_DOCUMENT, (key, now, self._tenant, self._before)) == 1

    def _remove_others(self, key: str | None) -> None:
        """Also what an earlier change left that could not remove it: it holds keys that were destroyed, perhaps."""
        for each in list(self._engine.bucket.list(f"{KEYS}/{self._tenant}")):
            if each.key != key:
                self._engine.bucket.delete(each.key)

    def remove(self) -> None:
        """The object first: what is destroyed is gone before anybody is told so."""
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
