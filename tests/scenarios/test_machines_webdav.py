"""Machines of one user with a WebDAV server between them: WsgiDAV, and one that compares before it replaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.core.machines import Machine, there
from support.core.purged import TEXT, leaks_below, purge, request
from support.core.webdav_machines import TOKEN, shorten_waits
from support.core.webdav_servers import PASSWORD, WebdavServer, small_server, wsgidav_server

FILM = bytes(range(256)) * 2000


@pytest.fixture(params=["wsgidav", "small"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WebdavServer]:
    shorten_waits(monkeypatch)
    if request.param == "wsgidav":
        with wsgidav_server(tmp_path / "dav") as real:
            yield real
    else:
        with small_server() as small:
            yield small


@pytest.fixture
def laptop(tmp_path: Path, server: WebdavServer) -> Machine:
    machine = Machine(tmp_path / "laptop")
    machine.add(name="ada")
    joined(machine, server)
    machine.push()
    machine.write("notes.txt", "a second state\n")
    assert machine.capture_and_push().state == "ok"
    return machine


def joined(machine: Machine, server: WebdavServer) -> None:
    machine.add_remote("home", server.url(), token=TOKEN, sealed=True)


def another(folder: Path, of: Machine, server: WebdavServer) -> Machine:
    """Another machine of the same user, which knows nothing but the words, the address and the password."""
    machine = Machine(folder)
    machine.learn_words_of(of)
    joined(machine, server)
    return machine


def test_every_state_is_there_exactly_and_nothing_of_it_can_be_read(laptop: Machine, server: WebdavServer) -> None:
    laptop.write("MEMORY.md", f"# Memory\n\n{TEXT}\n")
    assert laptop.capture_and_push().state == "ok"
    newest = laptop.acknowledged().number
    assert newest is not None
    for number in range(newest + 1):
        assert there(laptop.context, laptop.remote(), laptop.agent.id, number) == laptop.entries_at(number)
    for path, data in server.contents().items():
        assert not path.endswith(".part"), path
        assert TEXT.encode() not in data and b"MEMORY" not in data, path
        assert PASSWORD.encode() not in data


def test_the_words_and_the_password_restore_an_agent_on_a_clean_machine(
    laptop: Machine, server: WebdavServer, tmp_path: Path
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


def test_a_machine_that_takes_over_fences_the_other_one_and_a_third_restores(
    laptop: Machine, server: WebdavServer, tmp_path: Path
) -> None:
    desk = another(tmp_path / "desk", laptop, server)
    desk.bring_back(laptop.agent.id, tmp_path / "moved", take_over=laptop.context.keys().own_name)
    desk.write("MEMORY.md", "# Memory\n\nAt the desk.\n")
    assert desk.capture_and_push().state == "ok"
    laptop.write("MEMORY.md", "# Memory\n\nOf the laptop.\n")
    assert laptop.capture_and_push().state == "fenced"
    assert there(desk.context, desk.remote(), desk.agent.id) == desk.entries_at()
    clean = another(tmp_path / "clean", desk, server)
    clean.restore_from(desk.agent.id, tmp_path / "copy")
    assert (tmp_path / "copy/MEMORY.md").read_text() == "# Memory\n\nAt the desk.\n"


def test_a_purge_leaves_nothing_on_the_server(laptop: Machine, server: WebdavServer, tmp_path: Path) -> None:
    laptop.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
    assert laptop.capture_and_push().state == "ok"
    laptop.write("notes/trip.txt", "before\nafter\n")
    assert laptop.capture_and_push().state == "ok"
    before = set(server.contents())
    purge(laptop, request())
    assert laptop.push().state == "ok"
    assert before - set(server.contents())
    clean = another(tmp_path / "clean", laptop, server)
    for number in range((laptop.acknowledged().number or 0) + 1):
        entries = there(clean.context, clean.remote(), laptop.agent.id, number)
        assert not any(TEXT.encode() in body for body in entries.values())
    assert leaks_below(tmp_path / "clean/home") == []


def test_an_emptied_folder_is_waited_for_and_nothing_is_written(laptop: Machine, server: WebdavServer) -> None:
    server.remove_all()
    laptop.write("MEMORY.md", "# Memory\n\nWhile it was away.\n")
    outcome = laptop.capture_and_push()
    assert (outcome.state, outcome.code) == ("waiting", "remote_unreachable")
    assert server.contents() == {}
