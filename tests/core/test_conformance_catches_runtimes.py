"""Every test of the suite for whole runtimes catches an adapter that breaks its promise."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Adapter, Installation, RenderedFile, RuntimeRow
from lifeboat_adapters.credential_types import FileSecret
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, MemoryStore, MemoryTable, WriteOrder
from lifeboat_adapters.testing import AdapterConformance, SampleInstallation
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.testing import RuntimeConformance
from support.adapters.notebook_installs import make_notebook
from support.adapters.notebook_runtime import FACTS, HOME, Notebook, NotebookCredentials, NotebookDatabases


class _LeavesATrace(NotebookDatabases):
    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        (installation.workspace / "seen").write_text("x")
        return iter(())


class LeavesATrace(Notebook):
    databases = _LeavesATrace()


class _ReadsRowsByChance(NotebookDatabases):
    counter = itertools.count()

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        return iter([RuntimeRow(f"{HOME}db/facts/jobs.jsonl", "1", {"number": next(self.counter)})])

    def memory_of(self, installation: Installation, values: JsonObject) -> Any:
        return super().memory_of(installation, {**values, "written": f"2026-10-01T08:00:{next(self.counter):02}.000Z"})


class ReadsRowsByChance(Notebook):
    databases = _ReadsRowsByChance()


class _OverlooksNewRows(NotebookDatabases):
    def memory_store(self, installation: Installation) -> MemoryStore | None:
        found = super().memory_store(installation)
        return replace(found, where="id <> 'f3'") if isinstance(found, MemoryTable) else found


class OverlooksNewRows(Notebook):
    databases = _OverlooksNewRows()


class _FindsNoSecrets(NotebookCredentials):
    def find(self, path: str, data: bytes) -> list[FileSecret]:
        return []


class FindsNoSecrets(Notebook):
    credentials = _FindsNoSecrets()


class _TakesDamageForDeletion(NotebookDatabases):
    def memory_store(self, installation: Installation) -> MemoryStore | None:
        found = super().memory_store(installation)
        database = self.files(installation)[0]
        if isinstance(found, MemoryTable) and not database.read_bytes().startswith(b"SQLite format 3\0"):
            database.unlink()
            with closing(sqlite3.connect(database)) as connection, connection:
                connection.execute("create table facts (id text primary key, text text, written text)")
        return found


class TakesDamageForDeletion(Notebook):
    databases = _TakesDamageForDeletion()


class _WritesNoRows(NotebookDatabases):
    def plan_writes(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        return []


class WritesNoRows(Notebook):
    databases = _WritesNoRows()


class _Changed(NotebookDatabases):
    def plan_writes(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        return [self.changed(write) for write in super().plan_writes(installation, order)]

    def changed(self, write: DatabaseWrite) -> DatabaseWrite:
        raise AssertionError("a subclass says how")


class _WritesOneLess(_Changed):
    def changed(self, write: DatabaseWrite) -> DatabaseWrite:
        def write_less(to: Path) -> None:
            write.write(to)
            with closing(sqlite3.connect(to)) as connection, connection:
                connection.execute("delete from facts where id = 'f2'")

        return replace(write, write=write_less)


class WritesOneLess(Notebook):
    databases = _WritesOneLess()


class _WritesEverAgain(_Changed):
    def changed(self, write: DatabaseWrite) -> DatabaseWrite:
        return replace(write, changes=True, fates=tuple(replace(f, outcome=ItemOutcome.ACCEPTED) for f in write.fates))


class WritesEverAgain(Notebook):
    databases = _WritesEverAgain()


class _LosesMemoriesOnTheReceipt(_Changed):
    def changed(self, write: DatabaseWrite) -> DatabaseWrite:
        return replace(write, held=(), fates=tuple(ItemFate(f.kind, f.name, ItemOutcome.OMITTED) for f in write.fates))


class LosesMemoriesOnTheReceipt(Notebook):
    databases = _LosesMemoriesOnTheReceipt()


class _WritesAtOnce(_Changed):
    def changed(self, write: DatabaseWrite) -> DatabaseWrite:
        with closing(sqlite3.connect(write.path)) as connection, connection:
            connection.execute("delete from facts where id = 'f3'")
        return write


class WritesAtOnce(Notebook):
    databases = _WritesAtOnce()


class _WritesItsOwnOnly(NotebookDatabases):
    def plan_writes(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        return super().plan_writes(installation, order) if installation.state_dir and self._has(order) else []

    def _has(self, order: WriteOrder) -> bool:
        return any(b'"notebook"' in each.line for each in order.state.records())


class WritesItsOwnOnly(Notebook):
    databases = _WritesItsOwnOnly()


class RendersNoNotes(Notebook):
    def render(self, state: Any) -> Iterator[RenderedFile]:
        return (each for each in super().render(state) if each.path.startswith(HOME))


BROKEN: dict[str, type[Notebook]] = {
    "test_a_capture_leaves_no_trace": LeavesATrace,
    "test_a_second_capture_finds_nothing": ReadsRowsByChance,
    "test_a_new_memory_is_captured": OverlooksNewRows,
    "test_files_made_for_secrets_are_cut_anywhere": FindsNoSecrets,
    "test_a_damaged_database_is_no_deletion": TakesDamageForDeletion,
    "test_a_restored_agent_is_the_captured_one": WritesNoRows,
    "test_a_capture_after_a_restore_finds_nothing_new": WritesOneLess,
    "test_restoring_again_finds_everything_there": WritesEverAgain,
    "test_the_receipt_adds_up": LosesMemoriesOnTheReceipt,
    "test_nothing_is_written_into_databases_while_the_runtime_runs": WritesAtOnce,
    "test_memories_of_another_runtime_arrive": WritesItsOwnOnly,
    "test_memories_come_back_from_layers_alone": RendersNoNotes,
}
TESTS = {name for name in dir(RuntimeConformance) if name.startswith("test_")} - set(dir(AdapterConformance))


def test_there_is_a_broken_runtime_for_every_test() -> None:
    assert set(BROKEN) == TESTS


@pytest.mark.parametrize(("name", "broken"), BROKEN.items(), ids=[each.__name__ for each in BROKEN.values()])
def test_a_broken_runtime_fails_its_test(name: str, broken: type[Notebook], tmp_path: Path) -> None:
    class Suite(RuntimeConformance):
        def adapter(self) -> Adapter:
            return broken()

        def make(self, folder: Path) -> SampleInstallation:
            return make_notebook(folder)

        def remember(self, made: SampleInstallation, text: str) -> None:
            with closing(sqlite3.connect(made.workspace.parent / FACTS)) as connection, connection:
                connection.execute("insert into facts values ('f3', ?, '2026-10-03T08:00:00.000Z')", (text,))

    with pytest.raises(AssertionError):
        getattr(Suite(), name)(tmp_path)
