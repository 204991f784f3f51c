"""The files below one folder of a WebDAV server (RFC 4918).

A server may write a file while it arrives, so that others see a part of it. Every file is therefore written under
another name and then renamed. Only a conditional replacement is written in place, and only where the probe found that
an interrupted one changes nothing.
"""

from __future__ import annotations

import contextlib
import io
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import BinaryIO, TypeVar

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_core.errors import NetworkError, SystemRefused
from lifeboat_core.network import http_addresses, http_requests
from lifeboat_core.network.http_session import BytesTarget, HttpSession, SessionReply, TransferPace
from lifeboat_core.remotes.probed_store.store_client import (
    ONE_TRY,
    ConditionFailed,
    ConditionUnsupported,
    ListedStoreObject,
    ObjectVersion,
    ReadObject,
    make_part_name,
)
from lifeboat_core.remotes.request_retries import Wait, call_patiently
from lifeboat_core.remotes.webdav.webdav_address import WORDS, WebdavAddress
from lifeboat_core.remotes.webdav.webdav_credentials import WebdavCredentials
from lifeboat_core.remotes.webdav.webdav_listing import REQUEST, ListingEntry, ListingReader
from lifeboat_core.remotes.webdav.webdav_problems import (
    RENAMING,
    WebdavCommands,
    explain_answer,
    explain_network_error,
)
from lifeboat_vault.errors import RemoteDamaged, RemoteError, RemoteRefused, RemoteUnreachable

T = TypeVar("T")

LARGEST_DOCUMENT = 16 << 20
"""Bytes. Heads stay far below (see `log_contents`)."""
LARGEST_FILE = 64 << 30
_LARGEST_LISTING = 1 << 30
_SMALL_ANSWER = 1 << 20
_HALF = 64 << 10
_LOOKS, _PAUSE = 3, 0.5
"""How often, and after how many seconds, the effect of an interrupted write is looked for."""
_PACE = TransferPace(connect=10.0, silence=60.0)
_E_TAG = re.compile(r'"[\x21\x23-\x7e]{1,200}"')
"""A strong one: a weak one does not identify bytes."""
_UNKNOWN = ObjectVersion(None)
_NOT_THERE, _CONFLICT, _CONDITION, _UNSUPPORTED, _EXISTS = 404, 409, 412, 501, 405


class WebdavClient:
    """Files below the folder of `address`. Nothing is sent before a method is called."""

    words = WORDS
    leaves_parts = True

    def __init__(
        self,
        address: WebdavAddress,
        credentials: WebdavCredentials,
        commands: WebdavCommands,
        *,
        pace: TransferPace = _PACE,
        wait: Wait = time.sleep,
    ) -> None:
        self._address = address
        self._credentials = credentials
        self._commands = commands
        self._pace = pace
        self._wait = wait
        self._tls: ssl.SSLContext | None = None
        self._of_thread = threading.local()
        self._sessions: list[HttpSession] = []
        self._made: set[str] = set()

    # Reading --------------------------------------------------------------------------------------------------------

    def get(self, key: str) -> ReadObject | None:
        """Return a small file, None if there is none. Raises RemoteDamaged for one that is too large."""
        return self._read_document(key, lambda each: self._patiently(lambda: self._get(each)))

    def get_once(self, key: str) -> ReadObject | None:
        """Return a small file as `get` does, in one try that ends within `ONE_TRY` seconds."""
        end = time.monotonic() + ONE_TRY
        return self._read_document(key, lambda each: self._get(each, within=max(0.0, end - time.monotonic())))

    def _read_document(self, key: str, read: Callable[[str], ReadObject | None]) -> ReadObject | None:
        """Some servers delete the old file before they rename the new one. Between both, or for ever if they were
        interrupted, the document is there under its other name only."""
        found = read(key)
        if found is not None or not key.endswith(".json"):
            return found
        following = read(make_part_name(key, is_shared=True))
        is_whole = following is not None and _is_complete(following.data)
        # It may have been renamed between the two.
        return read(key) or (following if is_whole else None)

    def _get(self, key: str, *, within: float | None = None) -> ReadObject | None:
        target = _BoundedDocument(key)
        reply = self._ask(
            "GET", key, "reading", allowed=(_NOT_THERE,), into=target, headers=_FRESH, most=LARGEST_FILE, within=within
        )
        return None if reply.status == _NOT_THERE else ReadObject(target.getvalue(), _version(reply))

    def fetch(self, key: str, target: BinaryIO) -> bool:
        """Write the content of a file to another one; return False if there is none."""
        start = target.tell()

        def once() -> bool:
            target.seek(start)
            target.truncate()
            reply = self._ask("GET", key, "reading", allowed=(_NOT_THERE,), into=target, most=LARGEST_FILE)
            return reply.status != _NOT_THERE

        return self._patiently(once)

    def list_objects(self, folder: str) -> list[ListedStoreObject]:
        """Return the files in a folder. Raises RemoteRefused for a server that does not tell their sizes."""
        found = []
        for each in self._list(folder):
            if each.is_folder:
                continue
            if each.size is None:
                raise RemoteRefused(f"{self._place(folder)}: the server does not tell the size of the file {each.name}")
            found.append(ListedStoreObject(f"{folder}/{each.name}", each.size, each.modified))
        return found

    def list_folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""
        return [each.name for each in self._list(folder) if each.is_folder]

    def _list(self, folder: str) -> list[ListingEntry]:
        own = folder.rpartition("/")[2]

        def once() -> list[ListingEntry]:
            reader = ListingReader()
            headers = {"Depth": "1", "Content-Type": "application/xml; charset=utf-8", **_FRESH}
            reply = self._ask(
                "PROPFIND",
                f"{folder}/",
                "listing",
                headers=headers,
                content=REQUEST,
                into=reader,
                allowed=(_NOT_THERE,),
                most=_LARGEST_LISTING,
            )
            return [] if reply.status == _NOT_THERE else reader.finish()

        # The folder itself is in its listing. Servers that ignore the depth also send what is below.
        return [each for each in self._patiently(once) if each.folder == own]

    # Writing --------------------------------------------------------------------------------------------------------

    def put(self, key: str, data: bytes) -> ObjectVersion:
        """Write a small file, also over another one."""
        part = make_part_name(key, is_shared=True)
        self._patiently(lambda: self._put(part, data))
        self._patiently(lambda: self._rename(part, key, len(data)))
        return _UNKNOWN

    def put_file(self, key: str, source: BinaryIO) -> None:
        """Write a file from the current position of another one to its end."""
        part = make_part_name(key, is_shared=False)
        start = source.tell()
        size = source.seek(0, io.SEEK_END) - start

        def once() -> None:
            source.seek(start)
            self._put(part, source)

        try:
            self._patiently(once)
            self._patiently(lambda: self._rename(part, key, size))
        except RemoteError as error:
            if not isinstance(error, RemoteUnreachable):
                with contextlib.suppress(RemoteError):
                    self._delete(part)
            raise

    def put_once(self, key: str, data: bytes) -> ObjectVersion:
        """Write a small file in one try that ends within `ONE_TRY` seconds."""
        end = time.monotonic() + ONE_TRY
        part = make_part_name(key, is_shared=True)
        self._put(part, data, within=ONE_TRY)
        self._rename(part, key, len(data), within=max(0.0, end - time.monotonic()))
        return _UNKNOWN

    def put_if(self, key: str, data: bytes, expected: ObjectVersion | None) -> ObjectVersion:
        """Write a file in place if it is still the expected one, None if there is none. Raises ConditionFailed,
        ConditionUnsupported."""
        if expected is not None and expected.e_tag is None:
            raise ConditionUnsupported
        condition = {"If-None-Match": "*"} if expected is None else {"If-Match": expected.e_tag or ""}

        def once() -> SessionReply:
            return self._put(key, data, headers=condition, allowed=(_CONDITION, _UNSUPPORTED))

        reply = self._patiently(once)
        if reply.status == _CONDITION:
            raise ConditionFailed
        if reply.status == _UNSUPPORTED:
            raise ConditionUnsupported
        return _version(reply)

    def shows_partial_writes(self, key: str) -> bool:
        """Send the first half of a file, end the connection, and look whether the file has changed."""
        before = self.get(key)
        session = self._make_session()
        with contextlib.closing(session), contextlib.suppress(NetworkError, SystemRefused):
            session.call("PUT", f"/{key}", headers=self._authorized({}), content=_HalfFile(), needs_body=False)
        for _ in range(_LOOKS):
            self._wait(_PAUSE)
            found = self.get(key)
            if found is None or before is None or found.data != before.data:
                return True
        return False

    def delete(self, key: str) -> None:
        """Delete a file. That there is none is no error."""
        if key.endswith(".json"):  # otherwise it would be taken for the document
            self._patiently(lambda: self._delete(make_part_name(key, is_shared=True)))
        self._patiently(lambda: self._delete(key))

    def delete_folder(self, folder: str) -> None:
        """Delete a folder if it is empty: a server would delete what is in it, too."""
        if not self._list(folder):
            self._patiently(lambda: self._delete(f"{folder}/"))
            self._made.discard(folder)

    def close(self) -> None:
        sessions, self._sessions = self._sessions, []
        for session in sessions:
            session.close()
        self._of_thread = threading.local()

    # Single requests ------------------------------------------------------------------------------------------------

    def _put(
        self,
        key: str,
        content: bytes | BinaryIO,
        *,
        headers: Mapping[str, str] | None = None,
        allowed: tuple[int, ...] = (),
        within: float | None = None,
    ) -> SessionReply:
        """Write a file in place. The folder is made if the server misses it."""
        start = 0 if isinstance(content, bytes) else content.tell()
        sent = {"Content-Type": "application/octet-stream", **(headers or {})}
        absent = (_NOT_THERE, _CONFLICT)
        reply = self._ask(
            "PUT", key, "writing", headers=sent, content=content, allowed=(*allowed, *absent), within=within
        )
        if reply.status not in absent:
            return reply
        self._made.clear()  # another machine may have deleted an empty folder
        self._make_folder(key.rpartition("/")[0])
        if not isinstance(content, bytes):
            content.seek(start)
        return self._ask("PUT", key, "writing", headers=sent, content=content, allowed=allowed, within=within)

    def _make_folder(self, folder: str) -> None:
        """Make a folder and those above it, down from the folder of the address."""
        if folder in self._made:
            return
        absent, path = (_NOT_THERE, _CONFLICT), f"{folder}/" if folder else ""
        reply = self._ask("MKCOL", path, "creating a folder", allowed=(_EXISTS, *(absent if folder else ())))
        if reply.status in absent:
            self._make_folder(folder.rpartition("/")[0])
            self._ask("MKCOL", path, "creating a folder", allowed=(_EXISTS,))
        self._made.add(folder)

    def _rename(self, part: str, key: str, size: int, *, within: float | None = None) -> None:
        """Give a file its name. A retry does not find it if the answer to the first try was lost."""
        headers = {"Destination": f"{self._address.base}/{key}", "Overwrite": "T"}
        reply = self._ask("MOVE", part, RENAMING, headers=headers, allowed=(_NOT_THERE,), within=within)
        if reply.status != _NOT_THERE:
            return
        found = self._ask("HEAD", key, "reading", allowed=(_NOT_THERE,), within=within)
        if found.status == _NOT_THERE or found.headers.get("content-length", str(size)) != str(size):
            raise RemoteUnreachable(f"{self._place(key)}: the server lost a file that it had accepted")

    def _delete(self, key: str) -> None:
        self._ask("DELETE", key, "deleting", allowed=(_NOT_THERE,))

    def _ask(
        self,
        method: str,
        path: str,
        doing: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | BinaryIO | None = None,
        into: BytesTarget | None = None,
        allowed: tuple[int, ...] = (),
        most: int = _SMALL_ANSWER,
        within: float | None = None,
    ) -> SessionReply:
        """Make one request in one try. Return an answer with 2xx or an allowed status, and raise RemoteError for any
        other one."""
        sent = self._authorized(headers or {})
        try:
            reply = self._session().call(
                method,
                f"/{path}",
                headers=sent,
                content=content,
                into=into,
                most=most,
                within=within,
                needs_body=into is not None,
            )
        except NetworkError as error:
            raise explain_network_error(error, self._address.url) from None
        is_partial = reply.status == 207 and method != "PROPFIND"
        if reply.status in allowed or (200 <= reply.status < 300 and not is_partial):
            return reply
        raise explain_answer(reply, self._address.url, doing, self._commands)

    def _patiently(self, call: Callable[[], T]) -> T:
        return call_patiently(call, self._wait)

    def _authorized(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {**headers, "Authorization": self._credentials.authorization}

    def _session(self) -> HttpSession:
        """Return the session of this thread: one makes one request at a time."""
        session: HttpSession | None = getattr(self._of_thread, "session", None)
        if session is None:
            session = self._of_thread.session = self._make_session()
            self._sessions.append(session)
        return session

    def _make_session(self) -> HttpSession:
        if self._tls is None and not http_addresses.is_plain_http(self._address.base):
            # Not TLS 1.3 alone, as for endpoints: the user chose the provider, whose server may be older.
            self._tls = http_requests.load_system_certificates()
        return HttpSession(self._address.base, tls=self._tls, pace=self._pace)

    def _place(self, key: str) -> str:
        return f"{self._address.url}/{key}"


_FRESH = {"Cache-Control": "no-cache"}


class _BoundedDocument(io.BytesIO):
    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        if self.tell() + len(data) > LARGEST_DOCUMENT:
            raise RemoteDamaged(f"the file {self._key} has more bytes than Lifeboat ever writes into it")
        return super().write(data)


class _HalfFile(io.BytesIO):
    """A file that ends before the end that it announces."""

    def __init__(self) -> None:
        super().__init__(b"x" * _HALF)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return 2 * _HALF if whence == io.SEEK_END else super().seek(offset, whence)


def _version(reply: SessionReply) -> ObjectVersion:
    e_tag = reply.headers.get("etag", "")
    return ObjectVersion(e_tag) if _E_TAG.fullmatch(e_tag) else _UNKNOWN


def _is_complete(data: bytes) -> bool:
    """Return whether a document was written to its end."""
    try:
        json_codec.decode_json(data)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
