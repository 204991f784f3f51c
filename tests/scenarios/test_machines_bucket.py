"""Machines of one user with a bucket between them, in a store that compares and in one that ignores conditions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.remotes.probed_store import writer_lease
from support.core.buckets import CANARY, TOKEN
from support.core.machines import Machine, there
from support.core.object_store import Conditions, ObjectStore, object_store
from support.core.purged import TEXT, leaks_below, purge, request

FILM = bytes(range(256)) * 2000


@pytest.fixture(params=[Conditions.COMPARED, Conditions.IGNORED])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    for name in ("SETTLING", "SETTLING_NEW"):
        monkeypatch.setattr(writer_lease, name, 0.01)
    with object_store(request.param) as running:
        yield running


@pytest.fixture
def laptop(tmp_path: Path, store: ObjectStore) -> Machine:
    machine = Machine(tmp_path / "laptop")
    machine.add(name="ada")
    joined(machine, store)
    machine.push()
    machine.write("notes.txt", "a second state\n")
    assert machine.capture_and_push().state == "ok"
    return machine


def joined(machine: Machine, store: ObjectStore) -> None:
    machine.add_remote("home", store.url(), token=TOKEN, sealed=True)


def another(folder: Path, of: Machine, store: ObjectStore) -> Machine:
    """Another machine of the same user, which knows nothing but the words, the address and the credentials."""
    machine = Machine(folder)
    machine.learn_words_of(of)
    joined(machine, store)
    return machine


def test_every_state_is_there_exactly_and_nothing_of_it_can_be_read(laptop: Machine, store: ObjectStore) -> None:
    laptop.write("MEMORY.md", f"# Memory\n\n{TEXT}\n")
    assert laptop.capture_and_push().state == "ok"
    newest = laptop.acknowledged().number
    assert newest is not None
    for number in range(newest + 1):
        assert there(laptop.context, laptop.remote(), laptop.agent.id, number) == laptop.entries_at(number)
    for key, kept in store.objects.items():
        assert TEXT.encode() not in kept.data and b"MEMORY" not in kept.data, key
        assert CANARY.encode() not in kept.data


def test_the_words_and_the_credentials_restore_an_agent_on_a_clean_machine(
    laptop: Machine, store: ObjectStore, tmp_path: Path
) -> None:
    laptop.write("film.bin", FILM)
    laptop.capture_and_push()
    clean = another(tmp_path / "clean", laptop, store)
    clean.restore_from(laptop.agent.id, tmp_path / "copy")
    assert (tmp_path / "copy/film.bin").read_bytes() == FILM
    for name in ("MEMORY.md", "SOUL.md"):
        assert (tmp_path / "copy" / name).read_text() == laptop.read(name)
    laptop.write("MEMORY.md", "# Memory\n\nStill at home.\n")
    assert laptop.capture_and_push().state == "ok"


def test_a_machine_that_takes_over_fences_the_other_one(laptop: Machine, store: ObjectStore, tmp_path: Path) -> None:
    desk = another(tmp_path / "desk", laptop, store)
    desk.bring_back(laptop.agent.id, tmp_path / "moved", take_over=laptop.context.keys().own_name)
    desk.write("MEMORY.md", "# Memory\n\nAt the desk.\n")
    assert desk.capture_and_push().state == "ok"
    laptop.write("MEMORY.md", "# Memory\n\nOf the laptop.\n")
    assert laptop.capture_and_push().state == "fenced"
    assert there(desk.context, desk.remote(), desk.agent.id) == desk.entries_at()


def test_a_purge_leaves_nothing_in_the_bucket(laptop: Machine, store: ObjectStore, tmp_path: Path) -> None:
    laptop.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
    assert laptop.capture_and_push().state == "ok"
    laptop.write("notes/trip.txt", "before\nafter\n")
    assert laptop.capture_and_push().state == "ok"
    before = set(store.objects)
    purge(laptop, request())
    assert laptop.push().state == "ok"
    assert before - set(store.objects)
    clean = another(tmp_path / "clean", laptop, store)
    for number in range((laptop.acknowledged().number or 0) + 1):
        entries = there(clean.context, clean.remote(), laptop.agent.id, number)
        assert not any(TEXT.encode() in body for body in entries.values())
    assert leaks_below(tmp_path / "clean/home") == []


def test_a_store_that_is_away_is_waited_for(laptop: Machine, store: ObjectStore) -> None:
    kept = dict(store.objects)
    store.objects.clear()
    laptop.write("MEMORY.md", "# Memory\n\nWhile it was away.\n")
    outcome = laptop.capture_and_push()
    assert (outcome.state, outcome.code) == ("waiting", "remote_unreachable")
    assert store.objects == {}
    store.objects.update(kept)
    assert laptop.push().state == "ok"
