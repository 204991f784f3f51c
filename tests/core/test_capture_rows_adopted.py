"""Rows of an agent that came from elsewhere: rows that a restore wrote are recognised, rows that it did not write are
not a loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.memory_stores import MemoryRows, StoredRow
from lifeboat_adapters.zeroclaw import adapter as zeroclaw
from lifeboat_adapters.zeroclaw.memories import brain_records
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents import withheld_items
from support.adapters.zeroclaw_installs import Install, make_install
from support.core.protected import Protected
from support.core.zeroclaw_protected import ProtectedClaw
from support.killing import killed_at

LATELY = "2026-11-10T08:00:00+00:00"


def write(install: Install, record: dict[str, Any]) -> None:
    """Write the row that a restore writes for a memory."""
    row = brain_records.row_of_memory(record, record["id"])
    install.remember(alias="default", **{name: value for name, value in row.items() if name != "agent_id"})


@pytest.fixture
def moved(tmp_path: Path) -> ProtectedClaw:
    """Return an OpenClaw agent with two notes that lives in ZeroClaw now, before its rows are written."""
    former = Protected(tmp_path)
    former.add()
    ada = ProtectedClaw(tmp_path, install=make_install(tmp_path / "zeroclaw"))
    ada.clock = former.clock
    ada.agent = agent_files.save_agent(
        ada.context, replace(former.agent, runtime="zeroclaw", workspace=ada.install.workspace().resolve())
    )
    return ada


def notes(ada: ProtectedClaw) -> list[dict[str, Any]]:
    return [one for one in ada.records() if one["source"].get("origin_file") == "MEMORY.md"]


def texts(ada: ProtectedClaw) -> set[str]:
    return {one["content"] for one in ada.records() if one["status"] == "active"}


def test_rows_that_a_restore_wrote_are_the_memories_they_were(moved: ProtectedClaw) -> None:
    before = notes(moved)
    for record in before:
        write(moved.install, record)
    report = moved.capture(kind="adopt")
    assert notes(moved) == before
    assert report.records["deleted"] == report.records["updated"] == 0


@pytest.mark.parametrize("lost", [False, True])
def test_a_row_of_another_runtime_that_goes_is_gone(moved: ProtectedClaw, lost: bool) -> None:
    for record in notes(moved):
        write(moved.install, record)
    moved.capture(kind="adopt")
    moved.install.execute("delete from memories where content like '%green tea%'")
    if lost:
        moved.lose_caches()
    assert moved.capture().records == {"deleted": 1}
    assert not [text for text in texts(moved) if "green tea" in text]


def test_rows_that_were_never_written_are_no_loss(moved: ProtectedClaw) -> None:
    before = texts(moved)
    moved.capture(kind="adopt")
    moved.lose_caches()
    moved.capture()
    assert before <= texts(moved)


def test_an_edit_in_the_new_runtime_is_one_edit(moved: ProtectedClaw) -> None:
    for record in notes(moved):
        write(moved.install, record)
    moved.capture(kind="adopt")
    ids = {one["id"] for one in notes(moved)}
    moved.install.execute("update memories set content = 'Likes coffee' where content like '%green tea%'")
    assert moved.capture().records == {"updated": 1}
    assert {one["id"] for one in notes(moved)} == ids


def test_a_row_of_the_runtime_with_the_key_of_a_memory_is_that_memory(moved: ProtectedClaw) -> None:
    record = notes(moved)[-1]
    row = brain_records.row_of_memory(record, record["id"])
    moved.install.remember(row["key"], row["content"], id="its-own")
    moved.capture(kind="adopt")
    assert len([one for one in moved.records() if one["content"] == record["content"]]) == 1


def test_a_row_that_waits_for_its_credentials_is_no_loss(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("tea", "Likes green tea", created_at=LATELY)
    ada.add()
    record = ada.memories()["Likes green tea"]
    with ada.context.vault(ada.agent.id) as vault:
        withheld_items.note_withheld(vault, [record["id"]])
    ada.install.execute("delete from memories")
    ada.capture()
    ada.lose_caches()
    ada.capture()
    assert ada.statuses() == {"Likes green tea": "active"}
    write(ada.install, record)
    ada.capture()
    with ada.context.vault(ada.agent.id) as vault:
        assert withheld_items.list_withheld_records(vault) == frozenset()
    ada.install.execute("delete from memories")
    ada.capture()
    assert ada.statuses() == {"Likes green tea": "deleted"}


def test_an_agent_that_leaves_keeps_its_memories(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("tea", "Likes green tea", created_at=LATELY)
    ada.add()
    workspace = tmp_path / "openclaw" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
    agent_files.save_agent(ada.context, replace(ada.agent, runtime="openclaw", workspace=workspace.resolve()))
    ada.capture(kind="adopt")
    assert ada.statuses() == {"Likes green tea": "active"}
    assert ada.shadow() == []


@pytest.mark.parametrize(
    "step",
    [CrashPoint.CAPTURE_READ, CrashPoint.CAPTURE_DERIVED, CrashPoint.CAPTURE_COMMITTED, CrashPoint.CAPTURE_CACHED],
)
@pytest.mark.parametrize("lost", [False, True])
def test_a_capture_that_is_ended_half_way_is_made_up_for(tmp_path: Path, step: CrashPoint, lost: bool) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("tea", "Likes green tea", created_at=LATELY)
    ada.install.remember("boat", "The red boat", created_at=LATELY)
    ada.add()
    ada.install.remember("dog", "A dog called Rex", created_at=LATELY)
    ada.install.execute("delete from memories where key = 'tea'")
    ada.install.execute("update memories set content = 'The blue boat' where key = 'boat'")
    if lost:
        ada.lose_caches()
    assert killed_at(ada.capture, step)
    ada.capture()
    assert set(ada.memories()) == {"The blue boat", "A dog called Rex"}
    assert len(ada.statuses()) == 3
    assert not ada.capture().changed


class Server:
    """A store behind a server, with its rows in this process."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.stamp, self.read, self.is_down = 0, 0, False

    def put(self, key: str, content: str, **columns: Any) -> None:
        self.stamp += 1
        times = {"created_at": LATELY, "updated_at": LATELY}
        self.rows[key] = {"id": f"id-{key}", "key": key, "content": content, "category": "core", **times, **columns}

    def store(self, _: Installation) -> MemoryRows:
        columns = ("id", "key", "content", "category", "created_at", "updated_at", "pinned", "mood")
        return MemoryRows("memory/brain.db", columns, self._stamp, self._rows)

    def _stamp(self) -> int:
        self._check()
        return self.stamp

    def _rows(self) -> Iterator[StoredRow]:
        self._check()
        self.read += 1
        for row in self.rows.values():
            yield StoredRow(row)

    def _check(self) -> None:
        if self.is_down:
            raise RuntimeDatabaseError("the server cannot be reached")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Server, ProtectedClaw]:
    made = Server()
    monkeypatch.setattr(zeroclaw.ZeroClawDatabases, "memory_store", lambda _, found: made.store(found))
    made.put("tea", "Likes green tea")
    made.put("boat", "The red boat", pinned=True, mood={"calm": 1})
    ada = ProtectedClaw(tmp_path)
    ada.add()
    return made, ada


def test_rows_of_a_server_are_memories(server: tuple[Server, ProtectedClaw]) -> None:
    made, ada = server
    assert set(ada.memories()) == {"Likes green tea", "The red boat"}
    made.put("tea", "Likes coffee")
    del made.rows["boat"]
    assert ada.capture().records == {"updated": 1, "deleted": 1}


def test_a_server_is_read_when_it_says_that_something_changed(server: tuple[Server, ProtectedClaw]) -> None:
    made, ada = server
    reads = made.read
    assert not ada.capture().changed
    assert made.read == reads
    ada.lose_caches()
    assert not ada.capture().changed
    assert made.read == reads + 1


def test_a_server_that_cannot_be_reached_loses_nothing(server: tuple[Server, ProtectedClaw]) -> None:
    made, ada = server
    made.is_down = True
    report = ada.capture()
    assert "memory/brain.db" in report.unread
    assert set(ada.memories()) == {"Likes green tea", "The red boat"}
