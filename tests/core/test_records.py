"""Single memories: forgotten, brought back, pinned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_core.errors import UnknownRecord
from lifeboat_core.memories import edit_records, memory_search
from support.core.protected import MEMORY, Protected

TEA = "## Tea\n\nLikes green tea in the morning.\n\n"
SNOW = "# Day\n\nSnow on the deck.\n"


def fresh(folder: Path) -> tuple[Protected, str]:
    """A memory in the open quarter."""
    ada = Protected(folder)
    ada.add()
    return ada, TEA


def sealed(folder: Path) -> tuple[Protected, str]:
    """A memory in a sealed quarter."""
    ada = Protected(folder)
    ada.write("memory/2026-02-03.md", SNOW)
    ada.add()
    return ada, SNOW


both = pytest.mark.parametrize("make", [fresh, sealed])
Make = Callable[[Path], tuple[Protected, str]]


@both
def test_a_forgotten_memory_is_gone_and_stays_gone_although_its_file_holds_it(tmp_path: Path, make: Make) -> None:
    ada, text = make(tmp_path)
    row = edit_records.forget_records(ada.context, ada.agent, [ada.memories()[text]["id"]])
    assert row is not None and row.counts["records"]["deleted"] == 1
    assert text not in ada.memories()
    ada.write("MEMORY.md", MEMORY + "\n## New\n\nText.\n")
    ada.write("memory/2026-02-03.md", SNOW + "\n## Later\n\nSun.\n")
    ada.capture()
    ada.capture(full=True)
    assert text not in ada.memories()


@both
def test_a_forgotten_memory_can_be_restored_by_any_id_of_its_chain(tmp_path: Path, make: Make) -> None:
    ada, text = make(tmp_path)
    first = ada.memories()[text]["id"]
    edit_records.forget_records(ada.context, ada.agent, [first])
    assert edit_records.restore_records(ada.context, ada.agent, [first]) is not None
    assert text in ada.memories()
    assert edit_records.restore_records(ada.context, ada.agent, [first]) is None
    (shown,) = edit_records.show_records(ada.context, ada.agent, [first])
    assert shown["content"] == text and shown["forgotten"] is False


@both
def test_a_forgotten_memory_that_is_edited_in_its_file_is_a_new_one(tmp_path: Path, make: Make) -> None:
    ada, text = make(tmp_path)
    first = ada.memories()[text]["id"]
    edit_records.forget_records(ada.context, ada.agent, [first])
    ada.write("MEMORY.md", MEMORY.replace("green", "white"))
    ada.write("memory/2026-02-03.md", SNOW.replace("Snow", "Ice"))
    ada.capture()
    assert text not in ada.memories()
    assert all(one["id"] != first for one in ada.memories().values())


@both
def test_pinning_and_unpinning(tmp_path: Path, make: Make) -> None:
    ada, text = make(tmp_path)
    first = ada.memories()[text]["id"]
    assert edit_records.pin_records(ada.context, ada.agent, [first]) is not None
    assert ada.memories()[text]["pinned"] is True
    assert edit_records.pin_records(ada.context, ada.agent, [first]) is None
    assert edit_records.unpin_records(ada.context, ada.agent, [first]) is not None
    assert "pinned" not in ada.memories()[text]


@both
def test_a_pinned_memory_that_vanishes_from_its_file_is_archived(tmp_path: Path, make: Make) -> None:
    ada, text = make(tmp_path)
    edit_records.pin_records(ada.context, ada.agent, [ada.memories()[text]["id"]])
    ada.write("MEMORY.md", MEMORY.replace(TEA, ""))
    ada.write("memory/2026-02-03.md", "# Another day\n\nNothing at all to say about that one.\n")
    ada.capture()
    assert text not in ada.memories()
    assert any(one["content"] == text and one["status"] == "archived" for one in ada.records())


def test_forgetting_changes_no_file_and_costs_no_second_look(tmp_path: Path) -> None:
    ada, text = fresh(tmp_path)
    before = ada.kept()
    edit_records.forget_records(ada.context, ada.agent, [ada.memories()[text]["id"]])
    assert ada.kept() == before == ada.tree()
    assert ada.capture().outcome == "unchanged"


def test_what_is_forgotten_is_not_found(tmp_path: Path) -> None:
    ada, text = fresh(tmp_path)
    assert [hit.id for hit in memory_search.search_memories(ada.context, ada.agent, "green tea")] == [
        ada.memories()[text]["id"]
    ]
    edit_records.forget_records(ada.context, ada.agent, [ada.memories()[text]["id"]])
    assert memory_search.search_memories(ada.context, ada.agent, "green tea") == []


def test_the_same_text_in_another_file_does_not_bring_a_forgotten_memory_back(tmp_path: Path) -> None:
    ada, text = fresh(tmp_path)
    first = ada.memories()[text]["id"]
    edit_records.forget_records(ada.context, ada.agent, [first])
    ada.write("memory/other.md", text)
    ada.capture()
    assert ada.memories()[text]["id"] != first


def test_an_unknown_id_changes_nothing(tmp_path: Path) -> None:
    ada, text = fresh(tmp_path)
    with pytest.raises(UnknownRecord):
        edit_records.forget_records(
            ada.context, ada.agent, [ada.memories()[text]["id"], "01a1cfa0-1fa0-7345-9dbb-000000000000"]
        )
    assert text in ada.memories()
