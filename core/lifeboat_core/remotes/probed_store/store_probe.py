"""What a store does, found by trying: never by its name, its provider or what it says of itself."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum

from lifeboat_core.remotes import contract
from lifeboat_core.remotes.contract import StoreFindings
from lifeboat_core.remotes.probed_store.store_client import (
    ConditionFailed,
    ConditionUnsupported,
    ObjectVersion,
    StoreClient,
)
from lifeboat_vault.errors import RemoteRefused

FOLDER = "probes"
_RACERS, _RACER = 4, b"racer "
_CREATED, _NEWER, _STALE = b"created", b"newer 1", b"stale 1"
_LOOKS = 5
_PAUSE = 1.0
"""Seconds between two looks at a listing. A store whose listing stays behind longer is refused."""


class Writers(StrEnum):
    """How many machines may write to a remote."""

    SEVERAL = contract.SEVERAL
    """The store compares and sets: of two machines that replace the same head, one fails."""
    ONE = contract.ONE
    """The store ignores conditions, or does not know them: machines take turns by a lease."""


def probe_store(
    client: StoreClient, *, tells_versions: bool = True, races: int = 1, sleep: Callable[[float], None] = time.sleep
) -> StoreFindings:
    """Write, list, replace and delete a small object. Raises RemoteRefused for a store that does not return or list
    what was just written, and what requests raise. `races`: how often several writers replace it at once."""
    key = f"{FOLDER}/{secrets.token_hex(8)}"
    words = client.words
    written = client.put(key, b"1")
    try:
        _check_reading(client, key, b"1")
        _check_listing(client, key, sleep)
        is_safe = _compares(client, key, races) and not client.shows_partial_writes(key)
        _check_replacing(client, key)
    finally:
        client.delete(key)
    if client.get(key) is not None:
        raise RemoteRefused(f"the {words.store} returns {words.one} that was deleted, so it cannot store a remote")
    # "null" is the version in a bucket that stopped keeping versions. Google's store gives one to every object, and
    # Azure's keeps deleted objects without telling.
    writers = Writers.SEVERAL if is_safe else Writers.ONE
    return StoreFindings(writers, written.version not in (None, "null") if tells_versions else None)


def _check_reading(client: StoreClient, key: str, data: bytes) -> None:
    found = client.get(key)
    if found is None or found.data != data:
        words = client.words
        raise RemoteRefused(
            f"the {words.store} does not return the {words.unit} that Lifeboat has just written, so it cannot store a "
            "remote"
        )


def _check_replacing(client: StoreClient, key: str) -> None:
    client.put(key, b"last")
    _check_reading(client, key, b"last")


def _check_listing(client: StoreClient, key: str, sleep: Callable[[float], None]) -> None:
    for look in range(_LOOKS):
        if look:
            sleep(_PAUSE)
        if key in [each.key for each in client.list_objects(FOLDER)]:
            return
    words = client.words
    raise RemoteRefused(
        f"the listing of the {words.place} does not show {words.one} that was written {_LOOKS - 1} seconds before, so "
        f"the {words.store} cannot store a remote"
    )


def _compares(client: StoreClient, key: str, races: int) -> bool:
    """Return whether every condition that fails is refused, also when several machines write at once."""
    try:
        with contextlib.suppress(ConditionFailed):
            client.put_if(key, _CREATED, None)
            return False
        return all(_refuses_stale(client, key) for _ in range(races))
    except (ConditionFailed, ConditionUnsupported):
        return False


def _refuses_stale(client: StoreClient, key: str) -> bool:
    """Replace the object with one of the same size, which a version made of size and seconds does not tell apart."""
    first = client.get(key)
    if first is None or not first.version.is_known:
        return False
    second = _replace(client, key, _NEWER, first.version)
    with contextlib.suppress(ConditionFailed):
        client.put_if(key, _STALE, first.version)
        return False
    return _one_wins(client, key, second)


def _one_wins(client: StoreClient, key: str, version: ObjectVersion) -> bool:
    def race(number: int) -> bytes | None:
        data = _RACER + str(number).encode()
        with contextlib.suppress(ConditionFailed):
            client.put_if(key, data, version)
            return data
        return None

    with ThreadPoolExecutor(_RACERS) as racers:
        won = [each for each in racers.map(race, range(_RACERS)) if each is not None]
    found = client.get(key)
    # The winner does not know that it won if its answer was lost.
    return found is not None and found.data.startswith(_RACER) and won in ([found.data], [])


def _replace(client: StoreClient, key: str, data: bytes, expected: ObjectVersion) -> ObjectVersion:
    """Replace an object, also if the answer is lost and the retry meets what the first try wrote. Raises
    ConditionFailed."""
    try:
        version = client.put_if(key, data, expected)
        if version.is_known:
            return version
    except ConditionFailed:
        pass
    found = client.get(key)
    if found is None or found.data != data:
        raise ConditionFailed
    return found.version
