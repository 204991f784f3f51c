"""A real endpoint leaves nothing decrypted on any disk (ALF §10.13), whatever was sent, read, begun and interrupted."""

from __future__ import annotations

import base64
import hashlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from lifeboat_vault.vault import Vault
from support.cli.cli_client import run
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint

CANARY = b"the canary sings at noon"
MACHINE = "the blue laptop"
AGENT_NAME = "Ada of the lighthouse"
TOLD = (CANARY, b"canary", b"blue laptop", b"Ada of the", b"the lamp was lit", b"was fine", b"PK\x03\x04")
TOLD += (base64.b64encode(CANARY)[:20], CANARY.hex().encode())


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[TrialMachine]:
    """A machine, whose own vault is beside the searched folders."""
    agent_id = ids.make_id("2026-11-20T12:00:00.000Z")
    with Vault.create(tmp_path / "laptop", agent_id) as vault:
        yield TrialMachine(agent_id, vault, DeviceKey.generate(UserKey.generate()), MACHINE)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything that the endpoint's processes may write to: data, configuration, temporary files, logs."""
    folder = tmp_path / "server"
    for name in ("tmp", "home"):
        (folder / name).mkdir(parents=True)
    for name in ("TMPDIR", "SQLITE_TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(folder / "tmp"))
    monkeypatch.setenv("HOME", str(folder / "home"))
    return folder


def in_clear(folder: Path, *more: bytes) -> list[tuple[str, bytes]]:
    """Return the files below whose name or bytes contain the text."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [
        (str(path.relative_to(folder)), told)
        for path in files
        for told in (*TOLD, *more)
        if told in path.read_bytes() or told.decode("latin-1") in path.name
    ]


def body(number: int) -> bytes:
    """A file of which a part is in a row and most in a file."""
    return CANARY * 20_000 + str(number).encode()


def register(client: httpx.Client, machine: TrialMachine) -> str:
    asked = {"id": machine.agent_id, "name": AGENT_NAME, "source_runtime": "openclaw"}
    assert client.post("/agents", json=asked).status_code == 201
    return f"/agents/{machine.agent_id}"


def in_parts(client: httpx.Client, path: str, data: bytes, base: int, *, leave_out: int = 0) -> str:
    """Send a delta in parts except the last ones; return its upload."""
    parts = [data[start : start + 5_000] for start in range(0, len(data), 5_000)]
    listed = [{"sha256": hashlib.sha256(part).hexdigest(), "size": len(part)} for part in parts]
    asked = {"kind": "delta", "base_sequence": base, "parts": listed}
    upload = f"{path}/uploads/{client.post(f'{path}/uploads', json=asked).json()['upload_id']}"
    for part, known in list(zip(parts, listed, strict=True))[: len(parts) - leave_out]:
        assert client.put(f"{upload}/parts/{known['sha256']}", content=part).status_code == 204
    return upload


def test_nothing_that_was_decrypted_remains_on_a_disk(machine: TrialMachine, server: Path) -> None:
    with running_endpoint(server, plain=True) as endpoint:
        with endpoint.client() as client:
            path = register(client, machine)
            everything_done(client, path, machine)
        assert in_clear(server, endpoint.token.encode()) == []  # while it runs, with write-ahead logs
        cut_off(endpoint, path, machine, CrashPoint.ENDPOINT_ACCEPTED)
        assert in_clear(server) == []
        endpoint.restart()
        run("endpoint", "rotate-key", "--data", endpoint.data)
        run("endpoint", "compact", "--data", endpoint.data)
        run("endpoint", "verify", "--data", endpoint.data)
        with endpoint.client() as client:
            assert CANARY[:5] in read_back(client, path)
    assert in_clear(server, endpoint.token.encode()) == []
    assert list((server / "tmp").iterdir()) == []


def everything_done(client: httpx.Client, path: str, machine: TrialMachine) -> None:
    """Send and fetch in every way."""
    named = {"X-Lifeboat-Machine": MACHINE.replace(" ", "%20")}
    machine.capture(raw__openclaw__canary=body(0), raw__openclaw__small=CANARY)
    snapshot = machine.snapshot(keys={"agent_id": "invented", "secret": CANARY.decode()}).file.read()
    assert client.put(f"{path}/snapshot", content=snapshot, headers=named).status_code == 201
    machine.capture(raw__openclaw__canary=body(1))
    delta = machine.delta(0).file.read()
    assert client.post(f"{path}/deltas?base_sequence=0", content=delta, headers=named).status_code == 201
    machine.capture(raw__openclaw__canary=os.urandom(30_000) + body(2))
    upload = in_parts(client, path, machine.delta(1).file.read(), 1)
    assert client.post(f"{upload}/commit").status_code == 201
    machine.capture(raw__openclaw__canary=os.urandom(30_000) + body(3))
    begun = client.post(f"{path}/deltas/upload?base_sequence=2").json()
    there = urlsplit(begun["upload_url"]).path
    assert client.put(there, content=machine.delta(2).file.read()).status_code == 204
    assert client.post(f"{path}/deltas/upload/{begun['delta_id']}/confirm").status_code == 201
    assert client.put(f"{path}/keys", json={"secret": CANARY.decode()}).status_code == 204
    machine.capture(raw__openclaw__canary=os.urandom(30_000) + body(4))
    in_parts(client, path, machine.delta(3).file.read(), 3, leave_out=2)
    assert client.put(f"{path}/snapshot", content=snapshot[:-50]).status_code == 422
    for ending in ("/snapshot", "/deltas/3?base=0"):
        found = client.get(f"{path}{ending}", headers={"Accept": "application/zip"})
        assert found.status_code == 200
    restored = client.get(f"{path}/restore").json()["snapshot"]["url"]
    assert client.get(urlsplit(restored).path).status_code == 200
    read_back(client, path)


def read_back(client: httpx.Client, path: str) -> bytes:
    head = client.get(f"{path}/head").json()["sequence"]
    found = client.post(f"{path}/read", json={"sequence": head, "entries": ["raw/openclaw/canary"]}).json()
    return base64.b64decode(found["entries"][0])


def cut_off(endpoint: RunningEndpoint, path: str, machine: TrialMachine, step: CrashPoint) -> None:
    """Push while the endpoint dies in the middle."""
    endpoint.restart(dies=(step, 1))
    with endpoint.client() as client:
        base = client.get(f"{path}/head").json()["sequence"]
        with pytest.raises(httpx.HTTPError):
            client.post(f"{path}/deltas?base_sequence={base}", content=machine.delta(base).file.read())
    endpoint.wait()


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_no_process_of_an_endpoint_leaves_its_memory_or_shows_its_token(machine: TrialMachine, server: Path) -> None:
    with running_endpoint(server, plain=True, options=["--workers", "2"], by_exec=True) as endpoint:
        assert endpoint.process is not None
        processes = [process for process in family(endpoint.process.pid) if is_of_the_endpoint(process)]
        assert len(processes) >= 3
        for process in processes:
            limits = Path(f"/proc/{process.pid}/limits").read_text()
            assert next(line for line in limits.splitlines() if line.startswith("Max core")).split()[4:6] == ["0", "0"]
            for told in (process.cmdline(), list(process.environ().values())):
                assert not [each for each in told if endpoint.token in each or endpoint.token[12:] in each]
        with endpoint.client("lb_aaaaaaaa_" + "x" * 43) as client:
            assert client.get("/token").status_code == 401
        endpoint.process.send_signal(signal.SIGTERM)
        endpoint.wait()
        assert endpoint.token not in endpoint.log and "x" * 43 not in endpoint.log


def family(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def is_of_the_endpoint(process: psutil.Process) -> bool:
    return "resource_tracker" not in " ".join(process.cmdline())
