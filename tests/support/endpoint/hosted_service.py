"""A hosted service of the reference client, for tests, on this machine.

It numbers what it receives, keeps every snapshot and delta unchanged, and gives them by signed addresses without a key.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject

KEY = "alf_sk_hosted"


@dataclass
class HostedAgent:
    """`latest` is None before the first snapshot."""

    info: JsonObject
    latest: int | None = None
    snapshot: JsonObject | None = None
    deltas: list[JsonObject] = field(default_factory=list)


@dataclass
class HostedServiceFake:
    """The service. `keys_seen` are the headers `Authorization` of downloads, which must be none."""

    url: str = ""
    agents: dict[str, HostedAgent] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    keys_seen: list[str] = field(default_factory=list)

    def answer(self, method: str, place: str, key: str | None, body: bytes) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(f"{method} {place}")
        parts = urlsplit(place)
        steps = parts.path.strip("/").split("/")
        if steps[0] == "blobs":
            if key is not None:
                self.keys_seen.append(key)
            blob = self.blobs.get(parts.query)
            return (403, {}, b"") if blob is None else (200, {}, blob)
        if steps == ["version"]:
            return _json(200, {"version": "1.4.0", "build": "hosted"})
        if key != f"Bearer {KEY}":
            return _json(401, {"error": "unauthorized"})
        if steps == ["agents"] and method == "POST":
            return self._register(json.loads(body))
        agent = self.agents.get(steps[1]) if len(steps) > 1 else None
        if agent is None:
            return _json(404, {"error": "not_found"})
        if steps[2:] == ["snapshot"]:
            return self._take_snapshot(agent, body)
        if steps[2:] == ["deltas"]:
            return self._take_delta(agent, int(parse_qs(parts.query)["base_sequence"][0]), body)
        if steps[2:] == ["restore"]:
            return _json(200, {"snapshot": agent.snapshot, "deltas": agent.deltas})
        return _json(200, {**agent.info, "latest_sequence": agent.latest or 0})

    def _register(self, info: JsonObject) -> tuple[int, dict[str, str], bytes]:
        if info["id"] in self.agents:
            return _json(409, {"error": "exists"})
        self.agents[info["id"]] = HostedAgent({**info, "created_at": "2026-03-01T10:00:00Z"})
        return _json(201, {**self.agents[info["id"]].info, "latest_sequence": 0})

    def _take_snapshot(self, agent: HostedAgent, body: bytes) -> tuple[int, dict[str, str], bytes]:
        agent.latest = 0 if agent.latest is None else agent.latest + 1
        snapshot_id = str(uuid.uuid4())
        agent.snapshot = {"url": self._kept(body), "snapshot_id": snapshot_id, "sequence": agent.latest}
        agent.deltas = []
        return _json(201, {"snapshot_id": snapshot_id, "sequence": agent.latest, "size_bytes": len(body)})

    def _take_delta(self, agent: HostedAgent, base: int, body: bytes) -> tuple[int, dict[str, str], bytes]:
        if base != agent.latest:
            return 409, {"X-Latest-Sequence": str(agent.latest)}, b"{}"
        agent.latest = base + 1
        made = {"sequence": agent.latest, "size_bytes": len(body)}
        created = times.to_text(datetime.now(UTC))
        agent.deltas.append({**made, "url": self._kept(body), "created_at": created})
        return _json(201, {**made, "delta_id": str(uuid.uuid4()), "blob_key": "tenant/agent"})

    def _kept(self, body: bytes) -> str:
        token = f"signature={uuid.uuid4().hex}"
        self.blobs[token] = body
        return f"{self.url}/blobs/one?{token}"


@contextmanager
def hosted_service() -> Iterator[HostedServiceFake]:
    """The service, for the duration of the test."""
    fake = HostedServiceFake()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            key = self.headers.get("Authorization")
            status, headers, body = fake.answer(self.command, self.path, key, self.rfile.read(length))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = _do

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _json(status: int, document: JsonObject) -> tuple[int, dict[str, str], bytes]:
    return status, {"Content-Type": "application/json"}, json.dumps(document).encode()
