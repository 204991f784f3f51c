"""WebDAV servers on free ports of 127.0.0.1: WsgiDAV with a folder on disk, and a small one whose behaviour a test
chooses. `ObjectFaults` can be put in front of both."""

from __future__ import annotations

import base64
import hashlib
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import escape

from support.core.object_store import Conditions, Kept
from support.patience import patience

USER, PASSWORD = "ada", "not-a-real-password"
CREDENTIALS = f"{USER}\n{PASSWORD}\n"
ROOT = "boat"
"""The folder of the address, which the servers do not have at first."""


class WebdavServer(Protocol):
    """A running server. `address` is that of its root for HTTP."""

    address: str

    def url(self, address: str = "") -> str:
        """Return the address of a remote, through a proxy if that is given."""
        ...

    def contents(self) -> dict[str, bytes]:
        """Return all files by their path below the folder of the remote."""
        ...

    def remove_all(self) -> None: ...


def _url(server: WebdavServer, address: str) -> str:
    return f"webdav+{address or server.address}/{ROOT}"


# WsgiDAV --------------------------------------------------------------------------------------------------------------


@dataclass
class WsgidavServer:
    """WsgiDAV, which writes files in place and whose versions are made of size and seconds."""

    folder: Path
    address: str = ""

    def url(self, address: str = "") -> str:
        return _url(self, address)

    def contents(self) -> dict[str, bytes]:
        root = self.folder / ROOT
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def remove_all(self) -> None:
        for path in sorted(self.folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()


@contextmanager
def wsgidav_server(folder: Path) -> Iterator[WsgidavServer]:
    from cheroot import wsgi
    from wsgidav.wsgidav_app import WsgiDAVApp

    folder.mkdir(parents=True, exist_ok=True)
    logging.getLogger("wsgidav").setLevel(logging.CRITICAL)
    app = WsgiDAVApp(
        {
            "provider_mapping": {"/": str(folder)},
            "simple_dc": {"user_mapping": {"*": {USER: {"password": PASSWORD}}}},
            "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False},
            "verbose": 0,
            "logging": {"enable": False, "enable_loggers": []},
            "lock_storage": True,
        }
    )
    server = wsgi.Server(("127.0.0.1", 0), app, numthreads=8)
    server.error_log = lambda *_, **__: None  # clients that a test interrupts
    server.prepare()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield WsgidavServer(folder, f"http://127.0.0.1:{server.bind_addr[1]}")
    finally:
        server.stop()
        thread.join(patience())


# A small one ----------------------------------------------------------------------------------------------------------


class WebdavRequest(NamedTuple):
    method: str
    path: str


@dataclass
class SmallServer:
    """Files in memory. `conditions`, and whether it `writes_in_place`, decide what an interrupted or simultaneous write
    does."""

    conditions: Conditions = Conditions.COMPARED
    writes_in_place: bool = False
    hides: str = ""
    """Part of the paths that listings lack."""
    ahead: timedelta = timedelta(0)
    """How far its clock is ahead of the one of this machine."""
    challenge: str = 'Basic realm="boat"'
    listing: bytes = b""
    """The answer to every listing, in place of the right one."""
    address: str = ""
    asked: list[WebdavRequest] = field(default_factory=list)
    files: dict[str, Kept] = field(default_factory=dict)
    folders: set[str] = field(default_factory=lambda: {""})
    lock: threading.RLock = field(default_factory=threading.RLock)

    def url(self, address: str = "") -> str:
        return _url(self, address)

    def contents(self) -> dict[str, bytes]:
        return {path.removeprefix(f"{ROOT}/"): kept.data for path, kept in self.files.items()}

    def remove_all(self) -> None:
        self.files.clear()
        self.folders = {""}

    def counts(self) -> dict[str, int]:
        """Return how many requests there were, by method."""
        names = [each.method for each in self.asked]
        return {name: names.count(name) for name in sorted(set(names))}

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def put(self, path: str, data: bytes, if_match: str | None, if_none: str | None) -> int:
        is_conditional = if_match is not None or if_none is not None
        if is_conditional and self.conditions is Conditions.UNKNOWN:
            return 501
        with self.lock:
            if path.rpartition("/")[0] not in self.folders:
                return 409
            known = self.files.get(path)
            is_first_racer = data.startswith(b"racer") and self.conditions is Conditions.RACY
            if is_conditional and self.conditions is not Conditions.IGNORED and not is_first_racer:
                if if_none == "*" and known is not None:
                    return 412
                if if_match is not None and (known is None or known.e_tag != if_match):
                    return 412
            self.files[path] = Kept(data, self.now())
        return 201 if known is None else 204

    def move(self, path: str, to: str) -> int:
        with self.lock:
            if path not in self.files:
                return 404
            is_new = to not in self.files
            self.files[to] = self.files.pop(path)
        return 201 if is_new else 204

    def make_folder(self, path: str) -> int:
        with self.lock:
            if path in self.folders:
                return 405
            if path.rpartition("/")[0] not in self.folders:
                return 409
            self.folders.add(path)
        return 201

    def delete(self, path: str) -> int:
        with self.lock:
            below = [each for each in (*self.files, *self.folders) if each == path or each.startswith(f"{path}/")]
            for each in below:
                self.files.pop(each, None)
                self.folders.discard(each)
        return 204 if below else 404

    def list_folder(self, path: str) -> bytes | None:
        """Return the answer to a listing of one level, None for a missing folder."""
        with self.lock:
            if path not in self.folders:
                return None
            folders = [each for each in self.folders if each == path or (each and each.rpartition("/")[0] == path)]
            files = {each: kept for each, kept in self.files.items() if each.rpartition("/")[0] == path}
        items = [_item(f"/{each}/", "<D:resourcetype><D:collection/></D:resourcetype>") for each in folders]
        for each, kept in files.items():
            if self.hides and self.hides in each:
                continue
            changed = format_datetime(kept.modified, usegmt=True)
            size = f"<D:getcontentlength>{len(kept.data)}</D:getcontentlength>"
            items.append(_item(f"/{each}", f"<D:resourcetype/>{size}<D:getlastmodified>{changed}</D:getlastmodified>"))
        return f'<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">{"".join(items)}</D:multistatus>'.encode()


def _item(path: str, properties: str) -> str:
    status = "<D:status>HTTP/1.1 200 OK</D:status>"
    return (
        f"<D:response><D:href>{escape(path)}</D:href><D:propstat><D:prop>{properties}</D:prop>{status}</D:propstat>"
        "</D:response>"
    )


class _SmallHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = patience()
    disable_nagle_algorithm = True
    wbufsize = -1
    store: SmallServer

    def _serve(self) -> None:
        path = unquote(urlsplit(self.path).path).strip("/")
        length = int(self.headers.get("content-length", "0"))
        body = self.rfile.read(length)
        self.store.asked.append(WebdavRequest(self.command, path))
        if len(body) < length:
            self.close_connection = True
            if self.store.writes_in_place:
                self.store.files[path] = Kept(body, self.store.now())
            return
        expected = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers.get("authorization") != f"Basic {expected}":
            self._answer(401, b"", {"WWW-Authenticate": self.store.challenge})
            return
        getattr(self, f"_on_{self.command.lower()}")(path, body)

    do_GET = do_HEAD = do_PUT = do_DELETE = do_PROPFIND = do_MKCOL = do_MOVE = _serve

    def _on_get(self, path: str, body: bytes) -> None:
        kept = self.store.files.get(path)
        if kept is None:
            self._answer(404, b"", {})
        else:
            self._answer(200, kept.data, {"ETag": kept.e_tag})

    _on_head = _on_get

    def _on_put(self, path: str, body: bytes) -> None:
        status = self.store.put(path, body, self.headers.get("if-match"), self.headers.get("if-none-match"))
        tag = {"ETag": f'"{hashlib.md5(body).hexdigest()}"'} if status in (201, 204) else {}
        self._answer(status, b"", tag)

    def _on_delete(self, path: str, body: bytes) -> None:
        self._answer(self.store.delete(path), b"", {})

    def _on_mkcol(self, path: str, body: bytes) -> None:
        self._answer(self.store.make_folder(path), b"", {})

    def _on_move(self, path: str, body: bytes) -> None:
        to = unquote(urlsplit(self.headers["destination"]).path).strip("/")
        self._answer(self.store.move(path, to), b"", {})

    def _on_propfind(self, path: str, body: bytes) -> None:
        found = self.store.listing or self.store.list_folder(path)
        self._answer(404 if found is None else 207, found or b"", {"Content-Type": "application/xml"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        self.send_header("Date", format_datetime(self.store.now(), usegmt=True))
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors of clients that gave up."""


@contextmanager
def small_server(
    conditions: Conditions = Conditions.COMPARED, *, writes_in_place: bool = False
) -> Iterator[SmallServer]:
    server = _Server(("127.0.0.1", 0), _SmallHandler)
    store = SmallServer(conditions, writes_in_place, address=f"http://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = type("Bound", (_SmallHandler,), {"store": store})
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        thread.join(patience())
        server.server_close()
