from __future__ import annotations

from pathlib import Path

import pytest
from vaults import commit, create, edit, new_vault

from lifeboat_alf.state import Changes
from lifeboat_endpoint.vault import Draft, EntryPut, Vault


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return new_vault(tmp_path)


def entry_words(changes: Changes) -> list[tuple[str, bytes | None, bytes | None]]:
    """(path, new bytes, old bytes) of each changed entry."""
    return [(item.path, item.body and item.body(), item.base_body and item.base_body()) for item in changes.entries]


def record_words(changes: Changes) -> list[tuple[str, str]]:
    return [(item.operation, item.record.id) for item in changes.records]


def test_entries_that_came_changed_and_went(vault: Vault) -> None:
    commit(vault, Draft({"a": EntryPut({}, b"a1"), "b": EntryPut({}, b"b1"), "c": EntryPut({}, b"c1")}))
    commit(
        vault, Draft({"a": EntryPut({}, b"a2"), "b": None, "d": EntryPut({}, b"d2"), "c": EntryPut({"private": True})})
    )
    changes = vault.changes(0, 1)
    assert entry_words(changes) == [
        ("a", b"a2", b"a1"),
        ("b", None, b"b1"),
        ("c", None, b"c1"),
        ("d", b"d2", None),
    ]
    assert [item.entry is None for item in changes.entries] == [False, True, False, False]
    assert (changes.base.number, changes.new.number) == (0, 1)


def test_the_way_back_is_the_mirror(vault: Vault) -> None:
    memory = create("Likes tea.")
    commit(vault, Draft({"a": EntryPut({}, b"a1"), "b": EntryPut({}, b"b1")}, [memory]))
    fresh = create("Has a cat.")
    commit(vault, Draft({"a": EntryPut({}, b"a2"), "b": None}, [edit(memory, content="x"), fresh]))
    back = vault.changes(1, 0)
    assert entry_words(back) == [("a", b"a1", b"a2"), ("b", b"b1", None)]
    assert record_words(back) == [("update", memory.id), ("delete", fresh.id)]
    assert back.records[0].record.line == memory.line


def test_what_changed_and_came_back_is_no_change(vault: Vault) -> None:
    for body in (b"one", b"two", b"one"):
        commit(vault, Draft({"a": EntryPut({}, body)}))
    assert not vault.changes(0, 2) and vault.changes(0, 1) and not vault.changes(1, 1)


def test_records_created_changed_and_deleted_in_place(vault: Vault) -> None:
    kept, dying = create("Likes tea."), create("Likes rain.")
    commit(vault, Draft({}, [kept, dying]))
    fresh = create("Has a cat.")
    commit(vault, Draft({}, [fresh, edit(dying, "delete", status="deleted")]))
    commit(vault, Draft({}, [edit(kept, content="Likes coffee."), edit(fresh, content="Has two cats.")]))
    assert record_words(vault.changes(0, 2)) == [("update", kept.id), ("delete", dying.id), ("create", fresh.id)]
    assert record_words(vault.changes(0, 1)) == [("delete", dying.id), ("create", fresh.id)]
    assert record_words(vault.changes(1, 2)) == [("update", kept.id), ("update", fresh.id)]


def test_an_appended_tombstone_is_a_delete_and_comes_last(vault: Vault) -> None:
    old = create("Likes tea.")
    commit(vault, Draft({}, [old]))
    tombstone = create("[deleted]", status="deleted", supersedes=old.id)._replace(operation="delete")
    commit(vault, Draft({}, [tombstone, edit(old, tags=["x"])]))
    assert record_words(vault.changes(0, 1)) == [("update", old.id), ("delete", tombstone.id)]
