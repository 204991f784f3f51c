from __future__ import annotations

import io
import itertools
import random

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import StateChanges
from lifeboat_alf.testing.sample_states import make_head
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, Vault
from support.vault.vaults import QUARTER, commit, content_of, create, edit

HEAD = make_head(partitions=[{"file": QUARTER, "from": "2026-10-01", "to": None, "sealed": False}])


def entry_words(changes: StateChanges) -> list[tuple[str, bytes | None, bytes | None]]:
    """Return (path, new bytes, old bytes) of each changed entry."""
    return [(item.path, item.body and item.body(), item.base_body and item.base_body()) for item in changes.entries]


def record_words(changes: StateChanges) -> list[tuple[str, str]]:
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
    assert record_words(back) == [("update", memory.id)] and back.removed == [fresh.id]
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


@pytest.mark.parametrize("seed", range(6))
def test_changes_are_those_that_comparing_the_states_finds_and_a_delta_carries_them(vault: Vault, seed: int) -> None:
    walk = RandomEdits(vault, seed)
    for _ in range(14):
        walk.step()
    numbers = [row.number for row in vault.sequences()]
    for base, new in itertools.product(numbers[::3], numbers[::4]):
        changes = vault.changes(base, new)
        assert comparable(changes) == comparable(diff_states(vault.state(base), vault.state(new)))
        if base < new:
            check_delta(vault, changes)


def check_delta(vault: Vault, changes: StateChanges) -> None:
    bundle = io.BytesIO()
    write_delta(changes, bundle)
    with DeltaReader(bundle) as delta:
        applied = AppliedState(vault.state(changes.base.number), delta)
        assert content_of(applied) == content_of(vault.state(changes.new.number))
        assert merkle.state_digest(applied) == applied.sequence.digest == changes.new.digest


def comparable(changes: StateChanges) -> tuple[object, ...]:
    entries = [
        (item.path, item.entry, item.base, item.body and item.body(), item.base_body and item.base_body())
        for item in changes.entries
    ]
    return changes.base, changes.new, entries, changes.records, changes.removed


class RandomEdits:
    """Edits of entries and records as captures make them."""

    def __init__(self, vault: Vault, seed: int) -> None:
        self.vault = vault
        self.random = random.Random(seed)
        self.memories: list[RecordPut] = []
        commit(vault, Draft({"manifest.json": EntryPut({}, json_codec.encode_pretty(HEAD))}))

    def step(self) -> None:
        puts = {self.path(): self.entry() for _ in range(self.random.randint(0, 3))}
        changed = {put.id: put for put in (self.record() for _ in range(self.random.randint(0, 3)))}
        commit(self.vault, Draft(puts, list(changed.values())))

    def path(self) -> str:
        return f"raw/openclaw/note-{self.random.randint(0, 5)}.md"

    def entry(self) -> EntryPut | None:
        body = "".join(f"- thing {self.random.randint(0, 3)}\n" for _ in range(self.random.choice((1, 80))))
        return self.random.choice((None, EntryPut({}, body.encode()), EntryPut({"executable": True}, body.encode())))

    def record(self) -> RecordPut:
        word = self.random.choice(("create", "update", "delete", "tombstone"))
        if word == "create" or not self.memories:
            self.memories.append(create(f"memory {self.random.random()}"))
            return self.memories[-1]
        old = self.random.choice(self.memories)
        if not self.vault.has_record(old.id):
            return old
        if word == "tombstone":
            dead = create("[deleted]", status="deleted", supersedes=old.id)
            return dead._replace(operation="delete")
        if word == "delete":
            return edit(old, "delete", status="deleted", content=str(self.random.random()))
        return edit(old, content=str(self.random.random()))
