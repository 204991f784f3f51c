"""A small object store with the S3 interface over HTTP. A test chooses what it does: it compares, ignores conditions
or does not know them, keeps versions, lists late. It checks no signatures. `ObjectFaults` can be put in front."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from support.patience import patience

BUCKET = "harbour"
_PAGE = 1000


class Conditions(StrEnum):
    COMPARED = "compared"
    IGNORED = "ignored"
    UNKNOWN = "unknown"
    """Every conditional write is answered with 501."""
    RACY = "racy"
    """Compared, but not in one step: of several writers at once, more than one wins."""


class Kept(NamedTuple):
    data: bytes
    modified: datetime

    @property
    def e_tag(self) -> str:
        return f'"{hashlib.md5(self.data).hexdigest()}"'


class Request(NamedTuple):
    method: str
    key: str
    query: dict[str, list[str]]

    @property
    def is_listing(self) -> bool:
        return self.method == "GET" and not self.key


@dataclass
class ObjectStore:
    """`address` is that of S3, path style; it has the bucket `BUCKET`. `asked` lists all requests."""

    conditions: Conditions = Conditions.COMPARED
    keeps_versions: bool = False
    hides: str = ""
    """Part of the keys that listings lack."""
    denies: str = ""
    """Error code of the answer to every request."""
    address: str = ""
    asked: list[Request] = field(default_factory=list)
    objects: dict[str, Kept] = field(default_factory=dict)
    former: list[bytes] = field(default_factory=list)
    """Bytes that were replaced or deleted and that a store with versions still has."""
    parts: dict[str, dict[int, bytes]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def url(self, prefix: str = "lifeboat") -> str:
        return f"s3://{BUCKET}/{prefix}?endpoint={self.address}"

    def counts(self) -> dict[str, int]:
        """Return how many requests there were, by method; listings as LIST."""
        names = ["LIST" if each.is_listing else each.method for each in self.asked]
        return {name: names.count(name) for name in sorted(set(names))}

    def put(self, key: str, data: bytes, if_match: str | None, if_none: str | None) -> tuple[int, str]:
        """Return status and error code."""
        is_conditional = if_match is not None or if_none is not None
        if is_conditional and self.conditions is Conditions.UNKNOWN:
            return 501, "NotImplemented"
        with self.lock:
            known = self.objects.get(key)
            if is_conditional and self.conditions in (Conditions.COMPARED, Conditions.RACY):
                is_first_racer = data.startswith(b"racer") and self.conditions is Conditions.RACY
                if not is_first_racer and if_none == "*" and known is not None:
                    return 412, "PreconditionFailed"
                if not is_first_racer and if_match is not None and (known is None or known.e_tag != if_match):
                    return 412, "PreconditionFailed"
            self._set_aside(key)
            self.objects[key] = Kept(data, datetime.now(UTC))
        return 200, ""

    def delete(self, key: str) -> None:
        with self.lock:
            self._set_aside(key)
            self.objects.pop(key, None)

    def _set_aside(self, key: str) -> None:
        if self.keeps_versions and key in self.objects:
            self.former.append(self.objects[key].data)

    def listing(self, query: dict[str, list[str]]) -> bytes:
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        after = query.get("continuation-token", query.get("start-after", [""]))[0]
        with self.lock:
            keys = sorted(key for key in self.objects if key.startswith(prefix) and key > after)
            if self.hides:
                keys = [key for key in keys if self.hides not in key]
            folders = {
                prefix + key.removeprefix(prefix).split(delimiter)[0] + delimiter
                for key in keys
                if delimiter and delimiter in key.removeprefix(prefix)
            }
            plain = [key for key in keys if not (delimiter and delimiter in key.removeprefix(prefix))]
            page = plain[:_PAGE]
            items = "".join(
                f"<Contents><Key>{escape(key)}</Key><LastModified>{self.objects[key].modified:%Y-%m-%dT%H:%M:%S.%fZ}"
                f"</LastModified><ETag>{escape(self.objects[key].e_tag)}</ETag>"
                f"<Size>{len(self.objects[key].data)}</Size></Contents>"
                for key in page
            )
        more = len(plain) > _PAGE
        items += "".join(f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in folders)
        items += f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        flags = f"<IsTruncated>{str(more).lower()}</IsTruncated><KeyCount>{len(page)}</KeyCount>"
        return f"<ListBucketResult><Name>{BUCKET}</Name>{flags}{items}</ListBucketResult>".encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = patience()
    disable_nagle_algorithm = True
    wbufsize = -1  # one packet for header and body: two would wait for each other
    store: ObjectStore

    def _begin(self) -> tuple[Request, bytes]:
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        request = Request(self.command, key, parse_qs(parts.query, keep_blank_values=True))
        self.store.asked.append(request)
        if bucket != BUCKET:
            self._fail(404, "NoSuchBucket")
            return request._replace(method=""), body
        if self.store.denies:
            self._fail(400 if "Malformed" in self.store.denies else 403, self.store.denies)
            return request._replace(method="", key="-"), body
        return request, body

    def do_GET(self) -> None:
        request, _ = self._begin()
        if request.is_listing:
            self._answer(200, self.store.listing(request.query), {"Content-Type": "application/xml"})
        elif request.method:
            kept = self.store.objects.get(request.key)
            if kept is None:
                self._fail(404, "NoSuchKey")
            else:
                changed = format_datetime(kept.modified, usegmt=True)
                self._answer(200, kept.data, {"ETag": kept.e_tag, "Last-Modified": changed})

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        request, body = self._begin()
        if not request.method:
            return
        if "partNumber" in request.query:
            self.store.parts[request.query["uploadId"][0]][int(request.query["partNumber"][0])] = body
            self._answer(200, b"", {"ETag": f'"{hashlib.md5(body).hexdigest()}"'})
            return
        status, code = self.store.put(
            request.key, body, self.headers.get("if-match"), self.headers.get("if-none-match")
        )
        if code:
            self._fail(status, code)
        else:
            self._answer(200, b"", self._written(body))

    def do_POST(self) -> None:
        request, body = self._begin()
        if "uploads" in request.query:
            upload = uuid.uuid4().hex
            self.store.parts[upload] = {}
            text = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            self._answer(200, text.encode(), {})
        elif request.method:
            numbers = [int(each.text or "") for each in ElementTree.fromstring(body).iter() if "PartNumber" in each.tag]
            parts = self.store.parts.pop(request.query["uploadId"][0])
            data = b"".join(parts[number] for number in numbers)
            self.store.put(request.key, data, None, None)
            tag = self._written(data)["ETag"]
            text = f"<CompleteMultipartUploadResult><ETag>{escape(tag)}</ETag></CompleteMultipartUploadResult>"
            self._answer(200, text.encode(), {})

    def do_DELETE(self) -> None:
        request, _ = self._begin()
        if request.method:
            self.store.parts.pop(request.query.get("uploadId", [""])[0], None)
            if "uploadId" not in request.query:
                self.store.delete(request.key)
            self._answer(204, b"", {})

    def _written(self, data: bytes) -> dict[str, str]:
        tag = {"ETag": f'"{hashlib.md5(data).hexdigest()}"'}
        return {**tag, "x-amz-version-id": uuid.uuid4().hex} if self.store.keeps_versions else tag

    def _fail(self, status: int, code: str) -> None:
        self._answer(status, f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode(), {})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors of clients that gave up."""


@contextmanager
def object_store(
    conditions: Conditions = Conditions.COMPARED, *, keeps_versions: bool = False
) -> Iterator[ObjectStore]:
    """Run an empty store on a free port of 127.0.0.1."""
    server = _Server(("127.0.0.1", 0), _Handler)
    store = ObjectStore(conditions, keeps_versions, address=f"http://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = type("Bound", (_Handler,), {"store": store})
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        thread.join(patience())
        server.server_close()
