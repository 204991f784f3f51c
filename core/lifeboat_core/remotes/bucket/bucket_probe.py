"""What the store of a bucket does, found by trying: never by its name, its provider or what it says of itself."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum

from lifeboat_core.remotes import contract
from lifeboat_core.remotes.bucket.bucket_client import (
    BucketClient,
    ConditionFailed,
    ConditionUnsupported,
    ObjectVersion,
)
from lifeboat_core.remotes.contract import StoreFindings
from lifeboat_vault.errors import RemoteRefused

FOLDER = "probes"
_RACERS, _RACER = 4, b"racer "
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
    client: BucketClient, *, tells_versions: bool = True, sleep: Callable[[float], None] = time.sleep
) -> StoreFindings:
    """Write, list, replace and delete a small object. Raises RemoteRefused for a store that does not return or list
    what was just written, and what requests raise."""
    key = f"{FOLDER}/{secrets.token_hex(8)}"
    written = client.put(key, b"1")
    try:
        _check_reading(client, key, b"1")
        _check_listing(client, key, sleep)
        writers = Writers.SEVERAL if _compares(client, key) else Writers.ONE
        _check_replacing(client, key)
    finally:
        client.delete(key)
    if client.get(key) is not None:
        raise RemoteRefused("the store returns an object that was deleted, so it cannot store a remote")
    # "null" is the version in a bucket that stopped keeping versions. Google's store gives one to every object, and
    # Azure's keeps deleted objects without telling.
    return StoreFindings(writers, written.version not in (None, "null") if tells_versions else None)


def _check_reading(client: BucketClient, key: str, data: bytes) -> None:
    found = client.get(key)
    if found is None or found.data != data:
        raise RemoteRefused(
            "the store does not return the object that Lifeboat has just written, so it cannot store a remote"
        )


def _check_replacing(client: BucketClient, key: str) -> None:
    client.put(key, b"last")
    _check_reading(client, key, b"last")


def _check_listing(client: BucketClient, key: str, sleep: Callable[[float], None]) -> None:
    for look in range(_LOOKS):
        if look:
            sleep(_PAUSE)
        if key in [each.key for each in client.list_objects(FOLDER)]:
            return
    raise RemoteRefused(
        f"the listing of the bucket does not show an object that was written {_LOOKS - 1} seconds before, so the store "
        "cannot store a remote"
    )


def _compares(client: BucketClient, key: str) -> bool:
    """Return whether every condition that fails is refused, also when several machines write at once."""
    try:
        with contextlib.suppress(ConditionFailed):
            client.put_if(key, b"2", None)
            return False
        first = client.get(key)
        if first is None:
            return False
        second = _replace(client, key, b"3", first.version)
        with contextlib.suppress(ConditionFailed):
            client.put_if(key, b"4", first.version)
            return False
        return _one_wins(client, key, second)
    except (ConditionFailed, ConditionUnsupported):
        return False


def _one_wins(client: BucketClient, key: str, version: ObjectVersion) -> bool:
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


def _replace(client: BucketClient, key: str, data: bytes, expected: ObjectVersion) -> ObjectVersion:
    """Replace an object, also if the answer is lost and the retry meets what the first try wrote. Raises
    ConditionFailed."""
    try:
        return client.put_if(key, data, expected)
    except ConditionFailed:
        found = client.get(key)
        if found is None or found.data != data:
            raise
        return found.version
