"""A bucket of a real object store as a remote: the conformance checks, and two machines, over Swift's S3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.remotes.bucket import bucket_credentials
from lifeboat_core.remotes.manage_remotes import RemoteAccess, add_remote
from lifeboat_core.remotes.probed_store import writer_lease
from lifeboat_core.remotes.remote_conformance import run_conformance
from support.core.machines import Machine, there
from support.scale import swift_server

TOKEN = bucket_credentials.read_credentials("s3", f"{swift_server.ACCESS_KEY} {swift_server.SECRET_KEY}")


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = swift_server.shared()
    for name in ("SETTLING", "SETTLING_NEW"):
        monkeypatch.setattr(writer_lease, name, 0.1)
    yield f"{server.url()}?endpoint={server.address}&region={swift_server.REGION}"


def added(machine: Machine, url: str) -> Machine:
    machine.context.keys().ensure()
    add_remote(machine.context, "home", RemoteAccess(url, token=TOKEN), sealed=True)
    return machine


def test_a_bucket_of_swift_passes_every_check_and_lets_one_machine_write(url: str, tmp_path: Path) -> None:
    machine = added(Machine(tmp_path / "laptop"), url)
    config = machine.remote()
    assert (config.writers, config.keeps_versions) == ("one", False)
    results = list(run_conformance(machine.context, config))
    assert [(each.name, each.message) for each in results if not each.ok] == []
    assert len(results) > 50


def test_two_machines_and_a_clean_one_share_an_agent_over_swift(url: str, tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop")
    laptop.add(name="ada")
    added(laptop, url)
    laptop.write("film.bin", bytes(range(256)) * 2000)
    assert laptop.capture_and_push().state == "ok"
    desk = Machine(tmp_path / "desk")
    desk.learn_words_of(laptop)
    added(desk, url)
    desk.bring_back(laptop.agent.id, tmp_path / "moved", take_over=laptop.context.keys().own_name)
    assert (tmp_path / "moved/film.bin").read_bytes() == bytes(range(256)) * 2000
    desk.write("MEMORY.md", "# Memory\n\nAt the desk.\n")
    assert desk.capture_and_push().state == "ok"
    laptop.write("MEMORY.md", "# Memory\n\nOf the laptop.\n")
    assert laptop.capture_and_push().state == "fenced"
    assert there(desk.context, desk.remote(), desk.agent.id) == desk.entries_at()
