"""Second copies on a disk that runs full: they say so and ask to wait, nothing there is half done, and once there is
room all of it arrives."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.core.faulty_transport import impatient
from support.core.invariants import an_endpoint_is_whole, an_outcome_is_honest
from support.core.replicated import Replicated, machine_in
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root"),
]

SIZE = 24 * 1024 * 1024
LEFT = [0, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768]
"""KiB that are left free, one round each: less and less of what is written finds room."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system."""
    folder = tmp_path / "there" / "endpoint"
    folder.mkdir(mode=0o700, parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replicated:
    impatient(monkeypatch)
    return Replicated(machine_in(tmp_path / "laptop"))


def fill(disk: Path, left: int) -> Path:
    """Take all the room but so many KiB, and say with which file."""
    filler = next(disk.glob("tenants/*"), disk) / "filler"
    free = os.statvfs(disk)
    with filler.open("wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, max(1, free.f_bavail * free.f_frsize - left * 1024))
    return filler


def rounds(ada: Replicated, disk: Path) -> list[str]:
    """Pushes on ever other brims, each followed by one with room; what was said of the first ones.

    A state goes first and its large files follow (docs/replication-protocol.md, "Large artifacts"), so they may be
    missing until then.
    """
    said = []
    for number, left in enumerate(LEFT):
        ada.machine.write("large.md", f"Line {number} of a note in a file of its own.\n" * 8000)
        ada.machine.write("sound.bin", os.urandom(300_000))
        ada.capture(number + 1)
        ada.expect_all()
        filler = fill(disk, left)
        outcome = ada.machine.push()
        said.append(f"{outcome.state} {outcome.code}")
        assert outcome.state in ("ok", "waiting"), (left, outcome)
        assert outcome.state == "ok" or outcome.code in ("remote_full", "remote_busy"), (left, outcome)
        filler.unlink()
        an_outcome_is_honest(ada.machine.context, ada.machine.known_agent, ada.straight["home"], outcome)
        ada.holds(newest=1, complete=outcome.state == "ok")
        again = ada.machine.push()
        assert again.state == "ok", (left, outcome, again)
        ada.holds(newest=2)
    ada.holds()
    return said


@pytest.mark.parametrize("sealed", [False, True], ids=["in clear", "sealed"])
def test_an_endpoint_on_a_full_disk_asks_to_wait_and_goes_on(ada: Replicated, disk: Path, sealed: bool) -> None:
    with running_endpoint(disk.parent, plain=True) as running:
        joined(ada, running, sealed=sealed)
        assert ada.machine.push().state == "ok"
        said = rounds(ada, disk)
        assert {"waiting remote_full", "ok "} <= set(said), said
        running.kill()
        an_endpoint_is_whole(running.data)


def joined(ada: Replicated, running: RunningEndpoint, *, sealed: bool) -> None:
    ada.machine.add_remote("home", running.url, token=running.token, sealed=sealed)
    ada.straight["home"] = ada.machine.remote()


def test_what_an_endpoint_on_a_full_disk_answers(ada: Replicated, disk: Path) -> None:
    """507 with the time to come again; what was there is still given."""
    with running_endpoint(disk.parent, plain=True) as running, running.client() as client:
        joined(ada, running, sealed=False)
        assert ada.machine.push().state == "ok"
        agent = ada.machine.agent.id
        body = client.get(f"/agents/{agent}/snapshot", headers={"Accept": "application/octet-stream"}).content
        registered = client.post("/agents", json={"id": OTHER, "name": "bea", "source_runtime": "openclaw"})
        assert registered.status_code == 201
        fill(disk, 0)
        for path in ("agents", "token", "version", "health/ready", "openapi.json", "nothing"):  # more and more figures
            client.get(f"/{path}")
            client.get(f"/agents/{agent}/{path}")
        answer = client.put(f"/agents/{agent}/objects/{'0' * 64}", content=b"x" * 100_000)
        assert answer.status_code in (404, 422, 507)
        answer = client.post("/agents", json={"id": THIRD, "name": "cleo", "source_runtime": "openclaw"})
        assert (answer.status_code, answer.json()["code"]) == (507, "remote_full")
        assert int(answer.headers["Retry-After"]) > 0
        again = client.get(f"/agents/{agent}/snapshot", headers={"Accept": "application/octet-stream"})
        assert (again.status_code, again.content) == (200, body)


OTHER, THIRD = "01a1cfa1-0a00-7c02-9d83-bd1ba775f401", "01a1cfa1-0a00-7c02-9d83-bd1ba775f402"


@pytest.mark.parametrize("sealed", [False, True], ids=["in clear", "sealed"])
def test_a_stick_that_runs_full_asks_to_wait_and_goes_on(ada: Replicated, disk: Path, sealed: bool) -> None:
    stick = disk / "stick"
    stick.mkdir()
    ada.machine.add_remote("home", stick.as_uri(), sealed=sealed)
    ada.straight["home"] = ada.machine.remote()
    assert ada.machine.push().state == "ok"
    said = rounds(ada, disk)
    assert {"waiting remote_full", "ok "} <= set(said), said
