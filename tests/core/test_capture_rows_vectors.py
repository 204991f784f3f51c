"""Vectors of rows are captured when their model is known, and read only where something changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.memory.embeddings import StateVectors
from support.adapters.zeroclaw_installs import packed
from support.core.zeroclaw_protected import ProtectedClaw
from support.prepared_folders import PreparedFolders

LATELY = "2026-11-10T08:00:00+00:00"
MODEL = "example/text-example"


def describe(ada: ProtectedClaw, model: str = "text-example", dimensions: int = 2) -> None:
    known = {"embedding_provider": "example", "embedding_model": model, "embedding_dimensions": dimensions}
    for key, value in known.items():
        ada.install.execute("insert or replace into memory_meta values (?, ?)", key, str(value))


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> ProtectedClaw:
    return prepared_folders.restore("agent with two vectors", _agent_with_two_vectors)


def _agent_with_two_vectors(folder: Path) -> ProtectedClaw:
    made = ProtectedClaw(folder)
    describe(made)
    made.install.remember("tea", "Likes green tea", embedding=packed(1.0, 2.0), created_at=LATELY)
    made.install.remember("boat", "The red boat", embedding=packed(3.0, 4.0), created_at=LATELY)
    made.add()
    return made


def vectors(ada: ProtectedClaw, model: str = MODEL) -> dict[str, bytes]:
    """Return the vectors of visible memories, by text."""
    with ada.context.vault(ada.agent.id) as vault:
        found = StateVectors(vault.state())
        every = {text: found.packed(record["id"], model) for text, record in ada.memories().items()}
        return {text: data for text, data in every.items() if data is not None}


@pytest.fixture
def read_vectors(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Record the lengths of vectors that are read from a runtime's database."""
    found: list[int] = []
    connect = sqlite3.connect

    class Cursor(sqlite3.Cursor):
        def fetchmany(self, size: int | None = None) -> list[tuple[object, ...]]:
            rows = super().fetchmany() if size is None else super().fetchmany(size)
            found.extend(len(value) for row in rows for value in row if isinstance(value, bytes))
            return rows

        def __next__(self) -> tuple[object, ...]:
            row: tuple[object, ...] = super().__next__()
            found.extend(len(value) for value in row if isinstance(value, bytes))
            return row

    class Connection(sqlite3.Connection):
        def execute(self, *given: object) -> sqlite3.Cursor:  # type: ignore[override]
            return self.cursor(Cursor).execute(*given)  # type: ignore[arg-type]

    def counted(database: object, **options: object) -> sqlite3.Connection:
        if "brain.db" in str(database):
            options["factory"] = Connection
        return connect(database, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(sqlite3, "connect", counted)
    yield found


def test_vectors_are_carried(ada: ProtectedClaw) -> None:
    assert vectors(ada) == {"Likes green tea": packed(1.0, 2.0), "The red boat": packed(3.0, 4.0)}


def test_vectors_of_nobody_knows_what_are_not_carried(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("tea", "Likes green tea", embedding=packed(1.0, 2.0), created_at=LATELY)
    ada.add()
    assert vectors(ada) == {}
    describe(ada)
    ada.capture()
    assert vectors(ada) == {"Likes green tea": packed(1.0, 2.0)}


def test_only_the_vector_of_a_new_row_is_read(ada: ProtectedClaw, read_vectors: list[int]) -> None:
    ada.install.remember("dog", "A dog called Rex", embedding=packed(5.0, 6.0), created_at=LATELY)
    read_vectors.clear()
    ada.capture()
    assert read_vectors == [8]
    assert vectors(ada)["A dog called Rex"] == packed(5.0, 6.0)


def test_no_vector_is_read_when_every_row_is_searched_for_a_new_secret(
    ada: ProtectedClaw, read_vectors: list[int]
) -> None:
    config = ada.install.home / "config.toml"
    config.write_text('api_key = "sk-ant-example-0123456789abcdefghij"\n' + config.read_text())
    ada.install.execute("insert into memory_meta values ('x', 'y')")
    read_vectors.clear()
    assert ada.capture().changed
    assert read_vectors == []


def test_no_vector_is_read_when_the_caches_are_lost(ada: ProtectedClaw, read_vectors: list[int]) -> None:
    ada.lose_caches()
    ada.capture()
    assert read_vectors == []


def test_an_edited_row_has_its_new_vector(ada: ProtectedClaw) -> None:
    change = "update memories set content = 'The blue boat', embedding = ? where key = 'boat'"
    ada.install.execute(change, packed(7.0, 8.0))
    ada.capture()
    assert vectors(ada)["The blue boat"] == packed(7.0, 8.0)


def test_an_edited_row_whose_vector_is_not_computed_yet_has_none(ada: ProtectedClaw) -> None:
    ada.install.execute("update memories set content = 'The blue boat', embedding = null where key = 'boat'")
    ada.capture()
    assert set(vectors(ada)) == {"Likes green tea"}
    ada.install.execute("update memories set embedding = ? where key = 'boat'", packed(7.0, 8.0))
    assert ada.capture().records == {}
    assert vectors(ada)["The blue boat"] == packed(7.0, 8.0)


def test_another_model_has_every_vector_read(ada: ProtectedClaw) -> None:
    describe(ada, "other-example")
    ada.install.execute("update memories set embedding = ?", packed(9.0, 9.0))
    ada.capture()
    assert vectors(ada, "example/other-example") == {
        "Likes green tea": packed(9.0, 9.0),
        "The red boat": packed(9.0, 9.0),
    }


def test_a_row_that_goes_takes_its_vector_along(ada: ProtectedClaw) -> None:
    record = ada.memories()["The red boat"]["id"]
    ada.install.execute("delete from memories where key = 'boat'")
    ada.capture()
    with ada.context.vault(ada.agent.id) as vault:
        assert StateVectors(vault.state()).packed(record, MODEL) is None


def test_a_successor_has_the_vector_of_its_row(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    describe(ada)
    ada.install.remember("tea", "Likes green tea", embedding=packed(1.0, 2.0))
    ada.add()
    ada.install.execute("update memories set pinned = 1")
    ada.capture()
    assert ada.memories()["Likes green tea"]["supersedes"]
    assert vectors(ada) == {"Likes green tea": packed(1.0, 2.0)}


def test_the_same_vectors_make_no_sequence(ada: ProtectedClaw) -> None:
    assert not ada.capture(full=True).changed
    ada.lose_caches()
    assert not ada.capture().changed


def test_vectors_that_are_none_are_named_and_stop_nothing(ada: ProtectedClaw) -> None:
    ada.install.remember("dog", "A dog called Rex", embedding=b"\x00" * 7, created_at=LATELY)
    report = ada.capture()
    assert report.records == {"created": 1}
    assert report.warnings
