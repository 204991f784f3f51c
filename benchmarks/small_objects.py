"""A minimal S3-like object store in memory, for measurements in which no body is an object.

A push of this size is stored in rows. Only the wrapped data keys of a tenant are objects, and those are cached. To
measure a store itself, use a real one.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"}
"""Environment for clients. The store checks no signatures."""
URL = "s3://bench/endpoint"
_WHEN = "Thu, 01 Oct 2026 08:00:00 GMT"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kept: dict[str, bytes]

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.kept[self._key] = body
        self._answer(200, b"", body)

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        if "list-type" in asked:
            listed = self._listed(asked.get("prefix", [""])[0])
            return self._answer(200, listed, listed)
        body = self.kept.get(self._key)
        if body is None:
            return self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>", b"")
        self._answer(200, body, body)

    do_HEAD = do_GET

    def do_DELETE(self) -> None:
        self.kept.pop(self._key, None)
        self._answer(204, b"", b"")

    def _listed(self, prefix: str) -> bytes:
        bucket = f"/{self._key.split('/')[1]}/"
        found = [key.removeprefix(bucket) for key in sorted(self.kept) if key.startswith(bucket + prefix)]
        lines = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-10-01T08:00:00.000Z</LastModified>"
            f"<Size>{len(self.kept[bucket + key])}</Size></Contents>"
            for key in found
        )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{lines}</ListBucketResult>".encode()

    @property
    def _key(self) -> str:
        return urlsplit(self.path).path

    def _answer(self, status: int, body: bytes, of: bytes) -> None:
        self.send_response(status)
        self.send_header("ETag", f'"{hashlib.md5(of).hexdigest()}"')
        self.send_header("Last-Modified", _WHEN)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def objects() -> Iterator[str]:
    """Run the store until the end of the block, and yield its address."""
    handler = type("Handler", (_Handler,), {"kept": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
