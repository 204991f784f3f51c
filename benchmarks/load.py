"""Load for a server, from a process of its own: bytes over TLS and nothing else, which is to cost the server little.

    python -m benchmarks.load SPEC

SPEC is a JSON file: {"host", "port", "ca", "token", "connections": [[[method, target, file or null], ...], ...]}. Each
connection asks one request after the other and waits for its answer, all connections at once. Prints {"seconds": from
the first request to the last answer, "times": [seconds of each], "refused": {status: how many}}.
"""

from __future__ import annotations

import json
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

Spec = dict[str, Any]


class Connection:
    """A persistent TLS connection."""

    def __init__(self, spec: Spec) -> None:
        context = ssl.create_default_context(cafile=spec["ca"])
        found = socket.create_connection((spec["host"], spec["port"]), timeout=120)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = context.wrap_socket(found, server_hostname=spec["host"])
        self._token = spec["token"]

    def ask(self, method: str, target: str, body: bytes, accept: str = "") -> tuple[int, bytes]:
        """Send a request, and return status and body of the answer."""
        self._socket.sendall(self.request(method, target, body, accept))
        return self._answer()

    def request(self, method: str, target: str, body: bytes, accept: str = "") -> bytes:
        lines = [
            f"{method} {target} HTTP/1.1",
            "Host: bench",
            f"Authorization: Bearer {self._token}",
            f"Accept: {accept or '*/*'}",
            "Content-Type: application/octet-stream",
            "X-Lifeboat-Machine: bench",
            f"Content-Length: {len(body)}",
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def send(self, whole: bytes) -> int:
        """Send a complete request, and return the status of the answer."""
        self._socket.sendall(whole)
        return self._answer()[0]

    def _answer(self) -> tuple[int, bytes]:
        data = b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._received()
        head, body = data[:end].lower(), data[end + 4 :]
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or b"0")
        while len(body) < length:
            body += self._received()
        return int(head.split(b" ", 2)[1]), body

    def _received(self) -> bytes:
        found = self._socket.recv(1 << 16)
        if not found:
            raise ConnectionError("the server closed the connection")
        return found

    def close(self) -> None:
        self._socket.close()


def run(spec: Spec) -> dict[str, Any]:
    """Send all requests. Raises the error of any connection."""
    connections = [Connection(spec) for _ in spec["connections"]]
    requests = [
        [one.request(method, target, Path(file).read_bytes() if file else b"") for method, target, file in asked]
        for one, asked in zip(connections, spec["connections"], strict=True)
    ]
    times: list[float] = []
    answers: Counter[int] = Counter()
    failures: list[Exception] = []
    start = threading.Barrier(len(connections) + 1)

    def work(connection: Connection, asked: list[bytes]) -> None:
        start.wait()
        try:
            for whole in asked:
                begun = time.perf_counter()
                answers[connection.send(whole)] += 1
                times.append(time.perf_counter() - begun)
        except Exception as error:
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=each, daemon=True) for each in zip(connections, requests, strict=True)
    ]
    for thread in threads:
        thread.start()
    start.wait()
    begun = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begun
    for connection in connections:
        connection.close()
    if failures:
        raise failures[0]
    return {"seconds": seconds, "times": times, "refused": {str(k): v for k, v in answers.items() if k >= 300}}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(Path(sys.argv[1]).read_text()))))
