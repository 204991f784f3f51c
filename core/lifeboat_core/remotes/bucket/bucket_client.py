"""The objects of one bucket through the library `obstore`. No other module of this package imports it.

Every setting that decides where bytes go is passed explicitly. Otherwise the library would read it from the
environment, where an `AWS_ENDPOINT_URL` would override the checked address.
"""

from __future__ import annotations

import contextlib
import urllib.request
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar, cast

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import AzureStore, GCSStore, S3Store

from lifeboat_core.network import http_addresses
from lifeboat_core.remotes.bucket.bucket_address import AZURE, DEFAULT_REGION, GOOGLE, S3, WORDS, BucketAddress
from lifeboat_core.remotes.bucket.bucket_problems import explain_answer
from lifeboat_core.remotes.probed_store.store_client import (
    ONE_TRY,
    ConditionFailed,
    ConditionUnsupported,
    ListedStoreObject,
    ObjectVersion,
    ReadObject,
)
from lifeboat_core.remotes.sealed.bundle_store import measure_file
from lifeboat_vault.errors import RemoteDamaged, RemoteRefused, RemoteUnreachable
from lifeboat_vault.store.object_store_answers import answer_of

if TYPE_CHECKING:
    from obstore import PutMode, UpdateVersion

T = TypeVar("T")
Library = S3Store | GCSStore | AzureStore

PART = 8 << 20
"""Bytes above which an object is written in parts of this size."""
LARGEST_DOCUMENT = 16 << 20
"""Bytes. Heads stay far below (see `log_contents`)."""
_PARTS_AT_ONCE = 2
_CHUNK = 1 << 20
_PER_LISTING = 1000
_CONFLICT, _UNSUPPORTED = 409, 501


class Waits(NamedTuple):
    """Limits in seconds: to connect, without a byte, and for one whole request; and how often a failure is retried."""

    connect: float = 5.0
    stalled: float = 30.0
    request: float = 120.0
    retries: int = 3
    retrying: float = 30.0


_SMALL = Waits()
_STREAMED = Waits(request=24 * 3600.0)
_ONCE = Waits(stalled=ONE_TRY, request=ONE_TRY, retries=0)


class BucketClient:
    """Objects below the prefix of `address`. `add` is the command that adds this remote. Nothing is sent before a
    method is called. Every method raises RemoteUnreachable, RemoteBusy, RemoteDenied, RemoteRefused."""

    words = WORDS
    leaves_parts = False

    def __init__(self, address: BucketAddress, add: str, credentials: Mapping[str, Any]) -> None:
        self._address = address
        self._add = add
        self._credentials = credentials
        self._opened: dict[Waits, Library] = {}
        if address.is_plain_http:
            _refuse_proxy(address)

    def get(self, key: str) -> ReadObject | None:
        """Return a small object, None if there is none. Raises RemoteDamaged for one that is too large."""
        return self._get(key, _SMALL)

    def get_once(self, key: str) -> ReadObject | None:
        """Return a small object as `get` does, in one try. Afterwards `put_once` has its credentials: the identity of a
        machine may take longer to ask than the write may take."""
        return self._get(key, _ONCE)

    def _get(self, key: str, waits: Waits) -> ReadObject | None:
        def ask() -> ReadObject:
            found = obstore.get(self._store(waits), key)
            meta = found.meta
            if meta["size"] > LARGEST_DOCUMENT:
                # The library reserves as much memory as is announced.
                raise RemoteDamaged(
                    f"the object {key} has {meta['size']} bytes, more than Lifeboat ever writes into it"
                )
            return ReadObject(bytes(found.bytes()), _version(meta))

        return self._asked("reading", ask)

    def fetch(self, key: str, target: BinaryIO) -> bool:
        """Write the content of an object to a file; return False if there is none."""

        def ask() -> bool:
            found = obstore.get(self._store(_STREAMED), key)
            size = 0
            for chunk in found.stream(min_chunk_size=_CHUNK):
                size += target.write(chunk)
            if size != found.meta["size"]:
                raise RemoteUnreachable(f"{self._address.place}: the download of the object {key} was incomplete")
            return True

        return self._asked("reading", ask) is True

    def put(self, key: str, data: bytes) -> ObjectVersion:
        """Write a small object, also over another one."""
        put = obstore.put
        found = self._asked("writing", lambda: _version(put(self._store(_SMALL), key, data, use_multipart=False)))
        return self._written(found)

    def put_file(self, key: str, source: BinaryIO) -> None:
        """Write an object from the current position of a file, a large one in parts."""
        start = source.tell()
        size = measure_file(source) - start
        source.seek(start)
        if size <= PART:
            self.put(key, source.read())
            return
        file = cast("IO[bytes]", source)

        def ask() -> ObjectVersion:
            return _version(
                obstore.put(self._store(_SMALL), key, file, chunk_size=PART, max_concurrency=_PARTS_AT_ONCE)
            )

        self._written(self._asked("writing", ask))

    def put_once(self, key: str, data: bytes) -> ObjectVersion:
        """Write an object in one try that ends within `ONE_TRY` seconds."""
        put = obstore.put
        found = self._asked("writing", lambda: _version(put(self._store(_ONCE), key, data, use_multipart=False)))
        return self._written(found)

    def put_if(self, key: str, data: bytes, expected: ObjectVersion | None) -> ObjectVersion:
        """Write an object if it is still the expected one, None if there is none. Raises ConditionFailed,
        ConditionUnsupported."""
        mode: PutMode = "create" if expected is None else _condition(expected)

        def ask() -> ObjectVersion:
            return _version(obstore.put(self._store(_SMALL), key, data, mode=mode, use_multipart=False))

        try:
            return self._written(self._asked("writing", ask, passing=(BaseError,)))
        except BaseError as error:
            answer = answer_of(error)
            is_refused = isinstance(error, AlreadyExistsError | PreconditionError) or answer.status == _CONFLICT
        if is_refused and not answer.has_no_bucket:
            raise ConditionFailed
        if answer.status == _UNSUPPORTED:
            raise ConditionUnsupported
        raise explain_answer(answer, self._address, self._add, "writing")

    def shows_partial_writes(self, key: str) -> bool:
        """Return False: an object appears when all of it arrived."""
        return False

    def delete(self, key: str) -> None:
        """Delete an object. That there is none is no error."""
        self._asked("deleting", lambda: obstore.delete(self._store(_SMALL), key))

    def list_objects(self, prefix: str) -> list[ListedStoreObject]:
        """Return the objects below a folder."""

        def ask() -> list[ListedStoreObject]:
            chunks = obstore.list(self._store(_SMALL), prefix, chunk_size=_PER_LISTING)
            return [
                ListedStoreObject(str(each["path"]), each["size"], each["last_modified"])
                for chunk in chunks
                for each in chunk
            ]

        return self._asked("listing", ask) or []

    def list_folders(self, prefix: str) -> list[str]:
        """Return the names of the folders in a folder."""

        def ask() -> list[str]:
            return [str(each) for each in obstore.list_with_delimiter(self._store(_SMALL), prefix)["common_prefixes"]]

        return [each.rstrip("/").rpartition("/")[2] for each in self._asked("listing", ask) or []]

    def delete_folder(self, folder: str) -> None:
        """Do nothing: a bucket has no folders."""

    def close(self) -> None:
        """Nothing is held open."""

    def _written(self, version: ObjectVersion | None) -> ObjectVersion:
        if version is None:
            raise RemoteUnreachable(
                f"{self._address.place}: the store did not find the object that Lifeboat was writing"
            )
        return version

    def _asked(self, doing: str, ask: Callable[[], T], *, passing: tuple[type[BaseException], ...] = ()) -> T | None:
        """Return the result of `ask`, None for a missing object. Errors of the library become those of a remote."""
        try:
            return ask()
        except passing:
            raise
        except (BaseError, OSError, ValueError) as error:
            answer = answer_of(error)
            is_missing = isinstance(error, FileNotFoundError) and not answer.has_no_bucket
        if is_missing:
            return None
        # Raised outside of the handler: the text of the library may repeat what was signed.
        raise explain_answer(answer, self._address, self._add, doing)

    def _store(self, waits: Waits) -> Library:
        """Open the bucket with some limits. Raises RemoteRefused."""
        if waits not in self._opened:
            with contextlib.suppress(BaseError, OSError, ValueError):
                self._opened[waits] = _open(self._address, self._credentials, waits)
        if waits not in self._opened:
            raise RemoteRefused(f"{self._address.place} cannot be opened with this address and these credentials")
        return self._opened[waits]


def _version(found: Any) -> ObjectVersion:
    return ObjectVersion(found["e_tag"], found["version"])


def _condition(version: ObjectVersion) -> UpdateVersion:
    given = {"e_tag": version.e_tag, "version": version.version}
    return cast("UpdateVersion", {name: value for name, value in given.items() if value is not None})


def _refuse_proxy(address: BucketAddress) -> None:
    """Refuse a proxy for requests without TLS, which must stay on this machine."""
    host = http_addresses.parse_host(address.endpoint)
    proxies = urllib.request.getproxies_environment()
    if ("http" in proxies or "all" in proxies) and not urllib.request.proxy_bypass(host):
        raise RemoteRefused(
            f"the connection to {host} would go through a proxy without TLS, so the proxy could read the data",
            fix=f"export NO_PROXY={host}",
        )


def _open(address: BucketAddress, credentials: Mapping[str, Any], waits: Waits) -> Library:
    common: dict[str, Any] = {
        "prefix": address.prefix or None,
        "client_options": {
            "allow_http": address.is_plain_http,
            "allow_invalid_certificates": False,
            "connect_timeout": timedelta(seconds=waits.connect),
            "read_timeout": timedelta(seconds=waits.stalled),
            "timeout": timedelta(seconds=waits.request),
            "user_agent": "agent-lifeboat",
        },
        "retry_config": {
            "max_retries": waits.retries,
            "retry_timeout": timedelta(seconds=waits.retrying),
            "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2},
        },
        **credentials,
    }
    return _OPENING[address.scheme](address, common)


def _open_s3(address: BucketAddress, common: dict[str, Any]) -> S3Store:
    region = address.region or DEFAULT_REGION
    endpoint = address.endpoint or f"https://s3.{region}.amazonaws.com"
    return S3Store(
        address.bucket,
        region=region,
        endpoint=endpoint,
        aws_endpoint_url_s3=endpoint,
        virtual_hosted_style_request=False,
        skip_signature=False,
        conditional_put="etag",
        # Swift requires an MD5 with a bulk delete, and other stores have no bulk delete.
        disable_bulk_delete=True,
        **common,
    )


def _open_google(address: BucketAddress, common: dict[str, Any]) -> GCSStore:
    endpoint = address.endpoint or "https://storage.googleapis.com"
    return GCSStore(address.bucket, base_url=endpoint, skip_signature=False, **common)


def _open_azure(address: BucketAddress, common: dict[str, Any]) -> AzureStore:
    return AzureStore(
        address.bucket,
        account_name=address.account,
        endpoint=address.endpoint or f"https://{address.account}.blob.core.windows.net",
        use_emulator=False,
        use_fabric_endpoint=False,
        skip_signature=False,
        **common,
    )


_OPENING: Mapping[str, Callable[[BucketAddress, dict[str, Any]], Library]] = {
    S3: _open_s3,
    GOOGLE: _open_google,
    AZURE: _open_azure,
}
