"""Find the installed kinds of key sources, by the entry point group `lifeboat.key_sources`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from lifeboat_vault.at_rest.key_sources.key_source_contract import KeySource, KeySourceKind
from lifeboat_vault.errors import KeySourceRefused
from lifeboat_vault.store.timed_operations import TimedOperation

GROUP = "lifeboat.key_sources"


def list_kinds() -> list[str]:
    """Return the sorted names of the kinds."""
    return sorted(_entry_points())


def open_key_source(spec: str, *, outside: Path) -> KeySource:
    """Return the source that `spec` names (`file:/path`, `keyring:NAME`, `env:VARIABLE`, or of a plug-in), without
    reading or making its key. `outside` is the folder of the data. Raises KeySourceRefused."""
    kind, where = _found(spec)
    return _TimedKeySource(kind.open(where, outside=outside))


def make_key(spec: str, *, outside: Path) -> None:
    """Make the key of a source when there is none: once, for a new endpoint or a tenant that gets its own source. An
    existing key stays. Raises KeySourceRefused."""
    kind, where = _found(spec)
    kind.make(where, outside=outside)


class _TimedKeySource:
    """A key source that reports its calls to the metrics of this process."""

    def __init__(self, source: KeySource) -> None:
        self._source = source

    @property
    def spec(self) -> str:
        return self._source.spec

    @property
    def cache_seconds(self) -> float:
        return self._source.cache_seconds

    def wrap(self, secret: bytes) -> bytes:
        with TimedOperation("key", "wrap"):
            return self._source.wrap(secret)

    def unwrap(self, wrapped: bytes) -> bytes:
        with TimedOperation("key", "unwrap"):
            return self._source.unwrap(wrapped)


def _found(spec: str) -> tuple[KeySourceKind, str]:
    name, _, where = spec.partition(":")
    point = _entry_points().get(name)
    if point is None or not where:
        raise KeySourceRefused(
            f"the key source {spec!r} is unknown; use one of: {', '.join(f'{each}:...' for each in list_kinds())}"
        )
    kind: KeySourceKind = point.load()
    return kind, where


@cache
def _entry_points() -> dict[str, EntryPoint]:
    """Return the entry points by kind; of two with one name the first counts.

    Cached, because an endpoint opens its source for every data key, and scanning all installed packages takes 3 ms.
    """
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, point)
    return found
