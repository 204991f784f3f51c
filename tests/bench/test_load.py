"""The load that the benchmarks put on a server, and what they count of it."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import load, measure

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_endpoint.server.tls import CertificateAuthority


@contextmanager
def _server(folder: Path, seen: list[bytes]) -> Iterator[load.Spec]:
    """Answers 201 to the first request of a connection and 409 to the others, in two pieces."""
    made = CertificateAuthority(folder, files=SystemFiles(), clock=SystemClock()).certificate(["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.key)

    def answer(taken: socket.socket) -> None:
        with context.wrap_socket(taken, server_side=True) as connection, connection.makefile("rb") as stream:
            status = 201
            while line := stream.readline():
                seen.append(line)
                while (header := stream.readline().strip().lower()) != b"":
                    length = int(header.partition(b":")[2]) if header.startswith(b"content-length:") else 0
                stream.read(length)
                connection.sendall(b"HTTP/1.1 %d x\r\ncontent-length: 4\r\n\r\nab" % status)
                connection.sendall(b"cd")
                status = 409

    def serve() -> None:
        while True:
            try:
                taken, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(taken,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        port = listening.getsockname()[1]
        yield {"host": "127.0.0.1", "port": port, "ca": str(folder / "ca.pem"), "token": "t"}


def test_every_request_is_timed_and_what_was_refused_is_counted(tmp_path: Path) -> None:
    body, seen = tmp_path / "body", list[bytes]()
    body.write_bytes(b"x" * 100_000)
    asked = [[["POST", f"/{place}/{number}", str(body)] for number in range(3)] for place in "ab"]
    with _server(tmp_path / "tls", seen) as place:
        found = load.run({**place, "connections": asked})
    assert len(found["times"]) == 6 and found["seconds"] >= max(found["times"])
    assert found["refused"] == {"409": 4}
    for name in (b"a", b"b"):
        mine = [line.split()[1] for line in seen if line.startswith(b"POST /" + name)]
        assert mine == [b"/%b/%d" % (name, number) for number in range(3)]


def test_a_quantile_is_the_time_that_a_share_did_not_exceed() -> None:
    times = [number / 1000 for number in range(1, 101)]
    assert (measure.quantile(times, 0.5), measure.quantile(times, 0.99), measure.p95(times)) == (0.05, 0.099, 0.095)
