"""Machines of one user with a real OpenSSH server between them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from support.core.machines import Machine, there
from support.core.purged import TEXT, leaks_below, purge, request
from support.core.ssh_server import SshServer, ssh_server

FILM = bytes(range(256)) * 2000


class SshMachine(Machine):
    """A machine whose `ssh` is that of the server's tests."""

    programs = ""

    @property
    def context(self) -> Context:
        opened = super().context
        return dataclasses.replace(opened, environment={**opened.environment, "PATH": self.programs})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    with ssh_server(tmp_path / "server") as running:
        yield running


@pytest.fixture
def laptop(tmp_path: Path, server: SshServer) -> Machine:
    machine = joined(SshMachine(tmp_path / "laptop"), server)
    machine.add(name="ada")
    machine.add_remote("home", server.url(), sealed=True)
    machine.push()
    machine.write("notes.txt", "a second state\n")
    assert machine.capture_and_push().state == "ok"
    return machine


def joined(machine: SshMachine, server: SshServer) -> SshMachine:
    machine.programs = server.programs
    return machine


def another(folder: Path, of: Machine, server: SshServer) -> SshMachine:
    """Another machine of the same user, which knows nothing but the words and the address."""
    machine = joined(SshMachine(folder), server)
    machine.learn_words_of(of)
    machine.add_remote("home", server.url(), sealed=True)
    return machine


def test_every_state_is_there_exactly_and_nothing_of_it_can_be_read(laptop: Machine, server: SshServer) -> None:
    laptop.write("MEMORY.md", f"# Memory\n\n{TEXT}\n")
    assert laptop.capture_and_push().state == "ok"
    newest = laptop.acknowledged().number
    assert newest is not None
    for number in range(newest + 1):
        assert there(laptop.context, laptop.remote(), laptop.agent.id, number) == laptop.entries_at(number)
    for path in (path for path in server.root.rglob("*") if path.is_file()):
        assert TEXT.encode() not in path.read_bytes() and b"MEMORY" not in path.read_bytes(), path


def test_the_words_and_the_address_restore_an_agent_on_a_clean_machine(
    laptop: Machine, server: SshServer, tmp_path: Path
) -> None:
    laptop.write("film.bin", FILM)
    laptop.capture_and_push()
    clean = another(tmp_path / "clean", laptop, server)
    clean.restore_from(laptop.agent.id, tmp_path / "copy")
    assert (tmp_path / "copy/film.bin").read_bytes() == FILM
    for name in ("MEMORY.md", "SOUL.md"):
        assert (tmp_path / "copy" / name).read_text() == laptop.read(name)
    laptop.write("MEMORY.md", "# Memory\n\nStill at home.\n")
    assert laptop.capture_and_push().state == "ok"


def test_a_machine_that_takes_over_fences_the_other_one(laptop: Machine, server: SshServer, tmp_path: Path) -> None:
    desk = another(tmp_path / "desk", laptop, server)
    desk.bring_back(laptop.agent.id, tmp_path / "moved", take_over=laptop.context.keys().own_name)
    desk.write("MEMORY.md", "# Memory\n\nAt the desk.\n")
    assert desk.capture_and_push().state == "ok"
    laptop.write("MEMORY.md", "# Memory\n\nOf the laptop.\n")
    assert laptop.capture_and_push().state == "fenced"
    assert there(desk.context, desk.remote(), desk.agent.id) == desk.entries_at()


def test_a_purge_leaves_nothing_on_the_server(laptop: Machine, server: SshServer, tmp_path: Path) -> None:
    laptop.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
    assert laptop.capture_and_push().state == "ok"
    laptop.write("notes/trip.txt", "before\nafter\n")
    assert laptop.capture_and_push().state == "ok"
    before = set(server.root.rglob("*"))
    purge(laptop, request())
    assert laptop.push().state == "ok"
    assert before - set(server.root.rglob("*"))
    clean = another(tmp_path / "clean", laptop, server)
    for number in range((laptop.acknowledged().number or 0) + 1):
        entries = there(clean.context, clean.remote(), laptop.agent.id, number)
        assert not any(TEXT.encode() in body for body in entries.values())
    assert leaks_below(tmp_path / "clean/home") == []


def test_a_server_that_is_away_is_waited_for(laptop: Machine, server: SshServer) -> None:
    server.root.rename(server.folder / "away")
    laptop.write("MEMORY.md", "# Memory\n\nWhile it was away.\n")
    outcome = laptop.capture_and_push()
    assert (outcome.state, outcome.code) == ("waiting", "remote_unreachable")
    assert not server.root.exists()
    (server.folder / "away").rename(server.root)
    assert laptop.push().state == "ok"
