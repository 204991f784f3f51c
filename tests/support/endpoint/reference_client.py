"""The requests and the state of the reference client, for tests.

A port of its behaviour, including its mistakes: it looks at few statuses, needs absolute addresses that contain their
permission, never retries, never pulls, and has no base to compare with after a restore on a new machine.
"""

from __future__ import annotations

import http.client
import json
import tomllib
import uuid
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from lifeboat_alf.common.json_types import JsonObject
from support.endpoint import reference_archives as archives
from support.patience import patience

DIRECT_LIMIT = 6_000_000
"""Bytes of a body that goes in one request."""
_SECONDS = 120.0
_OCTETS = "application/octet-stream"


class ClientError(Exception):
    """The output of that client before it exits with status 1. `sequence` is the head that a conflict named."""

    def __init__(self, message: str, sequence: int | None = None) -> None:
        super().__init__(message)
        self.sequence = sequence


class ReferenceClient:
    """The client. `home` is its folder `~/.alf` on one machine; `api_url` is used as configured."""

    def __init__(self, api_url: str, api_key: str, home: Path, *, direct_limit: int = DIRECT_LIMIT) -> None:
        self._base = api_url.rstrip("/")
        self._key = api_key
        self._home = home
        self._limit = direct_limit
        (home / "state").mkdir(parents=True, exist_ok=True)
        service = f'[service]\napi_url = "{api_url}"\napi_key = "{api_key}"\n'
        (home / "config.toml").write_text(f'{service}\n[defaults]\nruntime = "openclaw"\n')

    # Commands -----------------------------------------------------------------------------------------------------

    def sync(self, workspace: Path) -> JsonObject:
        """`alf sync`: send everything at first, later the difference from the last export. Raises ClientError."""
        now = archives.export(workspace)
        number = now.manifest["agent"]["id"]
        state = self._state(number)
        if state is None:
            return self._first(now, number)
        if not self._snapshot_file(number).exists():
            raise ClientError("Failed to read previous snapshot")
        base = archives.read(self._snapshot_file(number).read_bytes())
        changes = archives.compare(base.records, now.records)
        sequence = state["last_synced_sequence"]
        if not changes:
            return {"ok": True, "sequence": sequence, "delta": True, "no_changes": True}
        answer = self._send_delta(number, archives.write_delta(now.manifest, changes, sequence), sequence)
        self._keep(number, answer["sequence"], archives.write_snapshot(now))
        return {"ok": True, "sequence": answer["sequence"], "delta": True, "no_changes": False, "changes": len(changes)}

    def restore(self, number: str, workspace: Path) -> JsonObject:
        """`alf restore`: write the snapshot's files into the workspace; deltas are fetched and discarded."""
        answer = self._json("GET", f"/agents/{number}/restore")
        snapshot, deltas = answer.get("snapshot"), answer["deltas"]
        if snapshot is None:
            raise ClientError("nothing to restore")
        uuid.UUID(snapshot["snapshot_id"])
        found = archives.read(self._fetch(snapshot["url"]))
        for delta in deltas:
            assert isinstance(delta["created_at"], str) and type(delta["size_bytes"]) is int
            self._fetch(delta["url"])
        archives.restore(found, workspace)
        sequence = _integer(deltas[-1] if deltas else snapshot, "sequence")
        self._note(number, sequence, None)
        return {"ok": True, "sequence": sequence, "memory_records": len(found.records)}

    def forget(self, number: str) -> None:
        """Delete the state file, as its users do when nothing else helps."""
        self._state_file(number).unlink()

    def agent(self, number: str) -> JsonObject:
        """`alf check`."""
        return _agent(self._json("GET", f"/agents/{number}"))

    # Sending ------------------------------------------------------------------------------------------------------

    def _first(self, now: archives.Archive, number: str) -> JsonObject:
        self._register(now.manifest["agent"])
        data = archives.write_snapshot(now)
        if len(data) <= self._limit:
            answer = self._json("PUT", f"/agents/{number}/snapshot", data, _OCTETS)
        else:
            answer = self._in_three_steps(f"/agents/{number}/snapshot/upload", "", data, "snapshot_id")
        uuid.UUID(answer["snapshot_id"])
        assert type(answer["size_bytes"]) is int
        self._keep(number, _integer(answer, "sequence"), data)
        return {"ok": True, "sequence": answer["sequence"], "delta": False, "no_changes": False}

    def _register(self, agent: JsonObject) -> None:
        """Accept only 201 and 409; after a 409 check that the agent exists."""
        status, _, body = self._ask("POST", "/agents", json.dumps(agent).encode(), "application/json")
        if status == 201:
            _agent(json.loads(body))
        elif status == 409:
            self.agent(agent["id"])
        else:
            raise ClientError(f"register agent: HTTP {status}: {body.decode()}")

    def _send_delta(self, number: str, data: bytes, base: int) -> JsonObject:
        path, query = f"/agents/{number}/deltas", f"?base_sequence={base}"
        if len(data) > self._limit:
            answer = self._in_three_steps(f"{path}/upload", query, data, "delta_id")
        else:
            answer = self._json("POST", path + query, data, _OCTETS, conflict=True)
        uuid.UUID(answer["delta_id"])
        assert type(answer["size_bytes"]) is int
        return {"sequence": _integer(answer, "sequence")}

    def _in_three_steps(self, path: str, query: str, data: bytes, name: str) -> JsonObject:
        begun = self._json("POST", path + query, b"", "application/json", conflict=True)
        status, _, _ = _exchange("PUT", begun["upload_url"], data, {"Content-Type": _OCTETS})
        if not 200 <= status < 300:
            raise ClientError(f"upload: HTTP {status}")
        return self._json("POST", f"{path}/{uuid.UUID(begun[name])}/confirm", b"", "application/json")

    # The wire -----------------------------------------------------------------------------------------------------

    def _json(
        self, method: str, path: str, body: bytes | None = None, kind: str = "", *, conflict: bool = False
    ) -> JsonObject:
        """Accept any response with JSON, whatever its status, except 401, 404 and, if told so, 409."""
        status, headers, data = self._ask(method, path, body, kind)
        if status in (401, 404):
            raise ClientError(f"{path}: HTTP {status}")
        if status == 409 and conflict:
            named = headers.get("x-latest-sequence")
            raise ClientError(f"conflict, the server is at {named}", None if named is None else int(named))
        try:
            answer = json.loads(data)
        except ValueError as error:
            raise ClientError(f"failed to parse the response of {path}") from error
        if not isinstance(answer, dict) or status >= 400:
            raise ClientError(f"failed to parse the response of {path}: HTTP {status}")
        return answer

    def _ask(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, dict[str, str], bytes]:
        headers = {"Authorization": f"Bearer {self._key}", **({"Content-Type": kind} if kind else {})}
        return _exchange(method, self._base + path, body, headers)

    @staticmethod
    def _fetch(url: str) -> bytes:
        status, _, data = _exchange("GET", url, None, {})
        if not 200 <= status < 300:
            raise ClientError(f"download: HTTP {status}")
        return data

    # What it keeps --------------------------------------------------------------------------------------------------

    def _state(self, number: str) -> JsonObject | None:
        file = self._state_file(number)
        return tomllib.loads(file.read_text()) if file.exists() else None

    def _keep(self, number: str, sequence: int, snapshot: bytes) -> None:
        self._snapshot_file(number).write_bytes(snapshot)
        self._note(number, sequence, self._snapshot_file(number))

    def _note(self, number: str, sequence: int, snapshot: Path | None) -> None:
        """Write the file as `toml` does: times are texts, and after a restore it names no snapshot."""
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}123Z"
        named = "" if snapshot is None else f'snapshot_path = "{snapshot}"\n'
        lines = f'agent_id = "{number}"\nlast_synced_sequence = {sequence}\nlast_synced_at = "{now}"\n'
        self._state_file(number).write_text(lines + named)

    def _state_file(self, number: str) -> Path:
        return self._home / "state" / f"{number}.toml"

    def _snapshot_file(self, number: str) -> Path:
        return self._home / "state" / f"{number}-snapshot.alf"


def _agent(answer: JsonObject) -> JsonObject:
    uuid.UUID(answer["id"])
    assert isinstance(answer["name"], str) and isinstance(answer["created_at"], str)
    _integer(answer, "latest_sequence")
    return answer


def _integer(answer: JsonObject, name: str) -> int:
    value = answer[name]
    assert type(value) is int and value >= 0, name
    return value


def _exchange(method: str, url: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """Send one request on its own connection: with an absolute address and a length, without compression."""
    parts = urlsplit(url)
    assert parts.scheme in ("http", "https") and parts.hostname, f"{url} is not absolute"
    kind = http.client.HTTPConnection if parts.scheme == "http" else http.client.HTTPSConnection
    connection = kind(parts.hostname, parts.port, timeout=patience(_SECONDS))
    try:
        connection.putrequest(
            method, parts.path + (f"?{parts.query}" if parts.query else ""), skip_accept_encoding=True
        )
        for name, value in {"Accept": "*/*", **headers}.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        answer = connection.getresponse()
        data = answer.read()
        assert answer.getheader("Content-Encoding") is None, "it unpacks nothing"
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, data
    finally:
        connection.close()
