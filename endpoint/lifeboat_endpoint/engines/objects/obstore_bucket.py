"""A bucket of S3, Google Cloud Storage or Azure through the library `obstore`. No other module imports it.

Every setting that decides where bytes go is passed explicitly. Otherwise the library would read it from the
environment, where an `AWS_ENDPOINT_URL` would override the checked address.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore.store import AzureStore, GCSStore, S3Store

from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_endpoint.engines.objects import store_credentials, store_failures
from lifeboat_endpoint.engines.objects.bucket import LARGEST, MARKER, TRIAL, ListedObject
from lifeboat_endpoint.engines.objects.store_address import ObjectStore, RequestTimeouts
from lifeboat_vault import errors
from lifeboat_vault.store.timed_operations import TimedOperation, code_of

T = TypeVar("T")
Library = S3Store | GCSStore | AzureStore

PART = 8 << 20
"""Bytes above which a body is written in parts of this size."""

_PARTS_AT_ONCE = 3
_AT_ONCE = 1.0
"""Seconds within which a failed delete is tried a second time."""

_CHUNK = 1 << 20
_PER_LISTING = 1000


class ObstoreBucket:
    """A `Bucket`. `put` needs the memory of the body and three parts, `get` that of the body twice."""

    def __init__(self, place: ObjectStore, store: Library) -> None:
        self._place = place
        self._store = store

    def __repr__(self) -> str:
        return f"OpenedBucket({self._place})"

    def put(self, key: str, data: bytes) -> None:
        def write() -> None:
            is_large = len(data) > PART
            obstore.put(self._store, key, data, use_multipart=is_large, chunk_size=PART, max_concurrency=_PARTS_AT_ONCE)

        try:
            self._asked("writing", write)
            reach_crash_point(CrashPoint.BLOB_COMPARED)
            if self._asked("reading back", lambda: self._is(key, data)):
                return
            wrong = f"{self._place} returned other data than Lifeboat had written"
        except store_failures.NoObject:
            wrong = f"{self._place} confirmed that an object was written, but does not have the object"
        with contextlib.suppress(errors.VaultError):
            self.delete(key)
        raise errors.VaultBusy(wrong)

    def _is(self, key: str, data: bytes) -> bool:
        """Return whether the object has these bytes. Reading stops when it is longer."""
        digest, size = hashlib.sha256(), 0
        for chunk in obstore.get(self._store, key).stream(min_chunk_size=_CHUNK):
            size += len(chunk)
            if size > len(data):
                return False
            digest.update(chunk)
        return digest.digest() == hashlib.sha256(data).digest()

    def get(self, key: str, most: int = LARGEST) -> bytes:
        try:
            found = self._asked("reading", lambda: self._read(key, most))
        except store_failures.NoObject:
            raise errors.VaultDamaged(f"{self._place} does not have the object {key}") from None
        if found is None:
            raise errors.VaultDamaged(f"the object {key} in {self._place} has more than {most} bytes")
        return found

    def _read(self, key: str, most: int) -> bytes | None:
        """Return the bytes, or None if the store announces more than `most`.

        The library reserves as much memory as is announced, and ends the process if there is not enough.
        """
        found = obstore.get(self._store, key)
        return bytes(found.bytes()) if found.meta["size"] <= most else None

    def delete(self, key: str) -> None:
        begun = time.monotonic()
        try:
            self._delete(key)
        except store_failures.NoObject:
            self.check()  # Some stores answer the same for a missing bucket.
        except errors.VaultBusy:
            # The library does not retry a delete whose connection broke, and stores close idle connections.
            if time.monotonic() - begun > _AT_ONCE:
                raise
            with contextlib.suppress(store_failures.NoObject):
                self._delete(key)

    def _delete(self, key: str) -> None:
        self._asked("deleting", lambda: obstore.delete(self._store, key))

    def list(self, prefix: str) -> Iterator[ListedObject]:
        chunks = obstore.list(self._store, prefix, chunk_size=_PER_LISTING)
        while (chunk := self._asked("listing", lambda: next(chunks, None))) is not None:
            for each in chunk:
                yield ListedObject(each["path"], each["size"], each["last_modified"])

    def keeps_versions(self) -> bool | None:
        """Decide by the version that the store gives to a written object.

        "null" is the version in a store whose versioning is suspended. Google's store gives a version to every object.
        """
        written = self._asked("writing", lambda: obstore.put(self._store, TRIAL, b"lifeboat", use_multipart=False))
        self.delete(TRIAL)
        return None if isinstance(self._store, GCSStore) else written["version"] not in (None, "null")

    def check(self) -> None:
        """Read the marker: credentials without the right to list still learn that an object is missing."""
        with contextlib.suppress(store_failures.NoObject):
            self._asked("asking", lambda: self._read(MARKER, LARGEST))

    def _asked(self, doing: str, ask: Callable[[], T]) -> T:
        with TimedOperation("objects", doing, _code_of):
            return store_failures.ask_store(self._place, doing, ask)


def _code_of(error: BaseException) -> str:
    """Return the error code for metrics. A missing object is an answer, not an error."""
    return "" if isinstance(error, store_failures.NoObject) else code_of(error)


def open_bucket(place: ObjectStore, waits: RequestTimeouts) -> ObstoreBucket:
    """Open a bucket without sending a request. Raises EndpointSettings."""
    if place.is_plain:
        _refuse_proxy(place)
    common: dict[str, Any] = {
        "prefix": place.prefix or None,
        "client_options": _client(place, waits),
        "retry_config": {
            "max_retries": waits.retries,
            "retry_timeout": timedelta(seconds=waits.retrying),
            "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=3), "base": 2},
        },
    }
    try:
        return ObstoreBucket(place, _OPENING[place.scheme](place, common))
    except (obstore.exceptions.BaseError, OSError, ValueError):
        pass
    raise errors.EndpointSettings(f"{place} cannot be opened with these object_options")


def _client(place: ObjectStore, waits: RequestTimeouts) -> dict[str, Any]:
    client: dict[str, Any] = {
        "allow_http": place.is_plain,
        "allow_invalid_certificates": False,
        "connect_timeout": timedelta(seconds=waits.connect),
        "read_timeout": timedelta(seconds=min(waits.stalled, waits.request)),
        "timeout": timedelta(seconds=waits.request),
        "user_agent": "agent-lifeboat",
    }
    authority = place.options.get("root_certificate")
    if authority is not None:
        try:
            client["root_certificate"] = Path(authority).read_bytes()
        except OSError as error:
            raise errors.EndpointSettings(f"{authority} cannot be read: {error.strerror or error}") from None
    return client


def _refuse_proxy(place: ObjectStore) -> None:
    """Refuse a proxy for requests without TLS, which must stay on this machine."""
    host = urlsplit(place.endpoint).hostname or ""
    proxies = urllib.request.getproxies_environment()
    if ("http" in proxies or "all" in proxies) and not urllib.request.proxy_bypass(host):
        raise errors.EndpointSettings(
            f"the connection to {host} has no TLS, but would go through a proxy", fix=f"NO_PROXY={host}"
        )


def _s3(place: ObjectStore, common: dict[str, Any]) -> S3Store:
    options = place.options
    region = options.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    region = region or "us-east-1"
    endpoint = place.endpoint or f"https://s3.{region}.amazonaws.com"
    if "credentials_file" in options:
        file, profile = Path(options["credentials_file"]), options.get("profile", "default")
        common["credential_provider"] = store_credentials.make_provider(file, profile)
    return S3Store(
        place.bucket,
        region=region,
        endpoint=endpoint,
        aws_endpoint_url_s3=endpoint,
        virtual_hosted_style_request=False,
        skip_signature=False,
        # Swift requires an MD5 with a bulk delete, and other stores have no bulk delete.
        disable_bulk_delete=True,
        **common,
    )


def _gs(place: ObjectStore, common: dict[str, Any]) -> GCSStore:
    if "service_account" in place.options:
        store_credentials.read_credential_text(Path(place.options["service_account"]))
        common["service_account"] = place.options["service_account"]
    endpoint = place.endpoint or "https://storage.googleapis.com"
    return GCSStore(place.bucket, base_url=endpoint, skip_signature=False, **common)


def _az(place: ObjectStore, common: dict[str, Any]) -> AzureStore:
    endpoint = place.endpoint or f"https://{place.account}.blob.core.windows.net"
    return AzureStore(
        place.bucket,
        account_name=place.account,
        endpoint=endpoint,
        use_emulator=False,
        use_fabric_endpoint=False,
        skip_signature=False,
        **common,
    )


_OPENING: Mapping[str, Callable[[ObjectStore, dict[str, Any]], Library]] = {"s3": _s3, "gs": _gs, "az": _az}
