"""The least that a server in Python can do with a push: the same uvicorn with the same TLS, Starlette, one body read
into memory, one SQLite transaction with synchronous=FULL that keeps it, one short answer. No token, no check, no
encryption, no audit.

    python -m benchmarks.floor FOLDER HOST PORT WORKERS CERTIFICATE KEY
"""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import socket
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from uvicorn import Config, Server

_THREADS = 4


class Keeping:
    """One database per agent, kept open and always used by the same thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lanes = [ThreadPoolExecutor(1) for _ in range(_THREADS)]
        self._own = threading.local()

    async def push(self, request: Request) -> JSONResponse:
        body, agent = await request.body(), request.path_params["agent"]
        lane = self._lanes[hash(agent) % _THREADS]
        number = await asyncio.get_running_loop().run_in_executor(lane, self._keep, agent, body)
        return JSONResponse({"number": number}, 201)

    def _keep(self, agent: str, body: bytes) -> int:
        opened: dict[str, sqlite3.Connection] = self._own.__dict__.setdefault("opened", {})
        found = opened.get(agent)
        if found is None:
            found = opened[agent] = sqlite3.connect(self._folder / f"{agent}.db", isolation_level=None, timeout=10)
            for statement in ("pragma journal_mode = wal", "pragma synchronous = full"):
                found.execute(statement).fetchall()
            found.execute("create table if not exists push(number integer primary key, body blob)")
        return int(found.execute("insert into push(body) values (?)", (body,)).lastrowid or 0)


def application(folder: Path) -> Starlette:
    keeping = Keeping(folder)
    return Starlette(routes=[Route("/agents/{agent}/deltas", keeping.push, methods=["POST"])])


def main() -> None:
    folder, host, port, workers, certificate, key = sys.argv[1:]
    with socket.create_server((host, int(port)), backlog=1024) as listener:
        processes = [
            multiprocessing.Process(target=_serve, args=(Path(folder), listener, certificate, key))
            for _ in range(int(workers))
        ]
        for each in processes:
            each.start()
        signal.signal(signal.SIGTERM, lambda *_: _end(processes))
        for each in processes:
            each.join()


def _end(processes: list[multiprocessing.Process]) -> None:
    for each in processes:
        each.terminate()


def _serve(folder: Path, listener: socket.socket, certificate: str, key: str) -> None:
    config = Config(
        application(folder),
        loop="uvloop",
        http="httptools",
        ws="none",
        log_level="error",
        access_log=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    Server(config).run([listener])


if __name__ == "__main__":
    main()
