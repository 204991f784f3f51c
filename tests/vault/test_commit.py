from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import BodyAbsent, Sequence
from lifeboat_alf.testing.sample_states import make_full_state
from lifeboat_vault.errors import DraftInvalid, UnknownSequence
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, Vault, draft_of_state
from support.vault.vaults import QUARTER, START, commit, content_of, create, edit, put

NOTE = "raw/openclaw/note.md"


def test_the_first_sequence_is_0_and_the_next_ones_follow(vault: Vault) -> None:
    assert vault.head() is None
    assert [put(vault, NOTE, body).number for body in (b"a", b"b", b"c")] == [0, 1, 2]
    assert [row.base for row in vault.sequences()] == [None, 0, 1]


def test_a_number_may_be_larger_but_never_used_again(vault: Vault) -> None:
    put(vault, NOTE, b"a")
    made = commit(vault, Draft({NOTE: EntryPut({}, b"b")}), number=40)
    assert made is not None and (made.number, made.base) == (40, 0)
    with pytest.raises(DraftInvalid):
        commit(vault, Draft({NOTE: EntryPut({}, b"c")}), number=40)


def test_what_does_not_change_makes_no_sequence(vault: Vault) -> None:
    memory = create("Likes tea.")
    commit(vault, Draft({NOTE: EntryPut({"a": 1, "b": 2}, b"text")}, [memory]))
    same = Draft({NOTE: EntryPut({"b": 2, "a": 1}, b"text"), "raw/x": None}, [edit(memory)])
    rows = len(list(vault.audit_rows()))
    assert commit(vault, same) is None
    assert len(vault.sequences()) == 1 and len(list(vault.audit_rows())) == rows


def test_time_never_goes_back_and_the_raw_time_is_kept(vault: Vault) -> None:
    put(vault, NOTE, b"a")
    made = commit(vault, Draft({NOTE: EntryPut({}, b"b")}), START - timedelta(hours=1))
    assert made is not None
    assert (made.time, made.raw_time) == ("2026-11-20T12:00:00.000Z", "2026-11-20T11:00:00.000Z")


def test_every_digest_is_that_of_the_state_computed_in_full(vault: Vault) -> None:
    memories = [create(f"memory {number}") for number in range(300)]
    commit(vault, Draft({NOTE: EntryPut({}, b"one")}, memories))
    commit(vault, Draft({NOTE: EntryPut({}, b"two"), "raw/b": EntryPut({}, b"b")}, [edit(memories[7], content="x")]))
    commit(vault, Draft({NOTE: None}))
    for row in vault.sequences():
        assert merkle.state_digest(vault.state(row.number)) == row.digest


def test_older_states_stay_as_they_were(vault: Vault) -> None:
    memory = create("Likes tea.")
    commit(vault, Draft({NOTE: EntryPut({"executable": True}, b"one")}, [memory]))
    first = content_of(vault.state(0))
    changed = edit(memory, content="Likes coffee.")
    commit(vault, Draft({NOTE: None, "raw/new": EntryPut({}, b"n")}, [changed, create("Has a cat.")]))
    assert content_of(vault.state(0)) == first
    entries, records = content_of(vault.state(1))
    assert list(entries) == ["raw/new"]
    assert (records[0][0], records[0][2], records[0][3]) == (memory.id, 0, changed.line)


def test_entries_are_found_by_prefix_in_the_order_of_their_bytes(vault: Vault) -> None:
    paths = ["raw/a/é", "raw/a/z", "raw/a", "raw/b", "raw/a\U0010ffff", "raw/a/\U00010000", "raw/a/\uffff"]
    commit(vault, Draft({path: EntryPut({}, path.encode()) for path in paths}))
    found = [entry.path for entry in vault.state().entries("raw/a/")]
    assert found == ["raw/a/z", "raw/a/é", "raw/a/\uffff", "raw/a/\U00010000"]
    assert [entry.path for entry in vault.state().entries("raw/a\U0010ffff")] == ["raw/a\U0010ffff"]
    assert len(list(vault.state().entries())) == len(paths)


def test_meta_alone_can_change_and_the_bytes_stay(vault: Vault) -> None:
    put(vault, NOTE, b"text")
    before = vault.state().entry(NOTE)
    commit(vault, Draft({NOTE: EntryPut({"private": True})}))
    after = vault.state().entry(NOTE)
    assert before is not None and after is not None
    assert after.leaf == before.leaf and after.meta == {"private": True} and vault.state().body(NOTE) == b"text"


def test_moved_content_keeps_its_leaf_and_is_kept_once(vault: Vault) -> None:
    put(vault, NOTE, b"text" * 1000)
    moved = commit(vault, Draft({NOTE: None, "raw/moved": EntryPut({}, b"text" * 1000)}))
    before, after = vault.state(0).entry(NOTE), vault.state(1).entry("raw/moved")
    assert before is not None and after is not None and before.leaf == after.leaf
    assert moved is not None and moved.bytes == 0


def test_many_files_with_the_same_content_cost_no_more_than_others(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hostile client gives each empty file its own salt, so that none can be deduplicated."""

    def puts(folder: str) -> Draft:
        return Draft({f"{folder}/{number}": EntryPut({}, b"", merkle.new_leaf(b"")) for number in range(300)})

    commit(vault, puts("raw/first"))
    read, rows = [0], SqliteStore.rows

    def counted(*arguments: Any) -> Iterator[Any]:
        for row in rows(*arguments):
            read[0] += 1
            yield row

    monkeypatch.setattr(SqliteStore, "rows", counted)
    commit(vault, puts("raw/second"))
    assert read[0] < 10 * 300
    assert merkle.state_digest(vault.state()) == vault.state().sequence.digest


def test_a_changed_file_that_comes_back_is_kept_once(vault: Vault) -> None:
    for body in (b"one", b"two", b"one"):
        put(vault, NOTE, body)
    leaves = {vault.state(number).entry(NOTE).leaf for number in (0, 2)}  # type: ignore[union-attr]
    assert len(leaves) == 1


def test_a_staged_file_and_a_callable_are_bodies_too(vault: Vault, tmp_path: Path) -> None:
    staged = tmp_path / "staged"
    staged.write_bytes(b"s" * 1_000_000)
    commit(vault, Draft({"raw/a": EntryPut({}, staged), "raw/b": EntryPut({}, lambda: b"late")}))
    assert vault.state().body("raw/a") == staged.read_bytes() and vault.state().body("raw/b") == b"late"


def test_records_may_come_from_an_iterator_and_positions_are_dense(vault: Vault) -> None:
    commit(vault, Draft({}, (create(f"memory {number}") for number in range(1200))))
    commit(vault, Draft({}, iter([create("one more")])))
    assert [item.position for item in vault.state().records(QUARTER)] == list(range(1201))


def test_a_delete_is_in_place_when_known_and_appended_when_not(vault: Vault) -> None:
    known = create("Likes tea.")
    commit(vault, Draft({}, [known]))
    tombstone = create("[deleted]", status="deleted", supersedes=known.id)._replace(operation="delete")
    commit(vault, Draft({}, [edit(known, "delete", status="deleted"), tombstone]))
    assert [(item.id, item.position) for item in vault.state().records()] == [(known.id, 0), (tombstone.id, 1)]


@pytest.mark.parametrize("case", ["created twice", "update of nothing", "twice in a draft", "other partition", "bare"])
def test_a_draft_that_does_not_fit_is_refused_whole(vault: Vault, case: str) -> None:
    known = create("Likes tea.")
    commit(vault, Draft({}, [known]))
    before = content_of(vault.state())
    drafts = {
        "created twice": Draft({}, [known]),
        "update of nothing": Draft({}, [edit(create("new"))]),
        "twice in a draft": Draft({}, [edit(known, content="a"), edit(known, content="b")]),
        "other partition": Draft({}, [edit(known, content="a")._replace(partition="memory/partitions/2026-Q3.jsonl")]),
        "bare": Draft({"raw/unknown": EntryPut({})}),
    }
    with pytest.raises(DraftInvalid):
        commit(vault, Draft({NOTE: EntryPut({}, b"x"), **drafts[case].entries}, drafts[case].records))
    assert content_of(vault.state()) == before and len(vault.sequences()) == 1


def test_an_id_twice_in_far_parts_of_a_draft_is_refused(vault: Vault) -> None:
    commit(vault, Draft({}, [create("first")]))
    many = [create(f"memory {number}") for number in range(1100)]
    with pytest.raises(DraftInvalid):
        commit(vault, Draft({}, [*many, many[0]]))


def test_signing_sees_the_finished_sequence_and_may_stop_it(vault: Vault) -> None:
    seen: list[Sequence] = []

    def sign(sequence: Sequence) -> dict[str, str]:
        seen.append(sequence)
        return {"by": "test"}

    made = commit(vault, Draft({NOTE: EntryPut({}, b"a")}), sign=sign)
    assert made is not None and made.signature == {"by": "test"}
    assert (seen[0].number, seen[0].digest, seen[0].epoch) == (0, made.digest, vault.epoch)

    def refuse(sequence: Sequence) -> dict[str, str]:
        raise RuntimeError("no key")

    with pytest.raises(RuntimeError):
        commit(vault, Draft({NOTE: EntryPut({}, b"x" * 600_000)}), sign=refuse)
    assert len(vault.sequences()) == 1 and vault.state().body(NOTE) == b"a"


def test_records_are_found_by_their_content_and_ids_are_never_free_again(vault: Vault) -> None:
    memory = create("Likes tea.")
    commit(vault, Draft({}, [memory, create("Likes cake.")]))
    assert vault.records_with_content("Likes tea.") == [memory.id]
    commit(vault, Draft({}, [edit(memory, content="Likes coffee.")]))
    assert vault.records_with_content("Likes tea.") == [] and vault.has_record(memory.id)
    assert not vault.has_record("019a0000-0000-7000-8000-000000000000")


def test_sequences_are_found_by_number_and_time(vault: Vault) -> None:
    put(vault, NOTE, b"a")
    commit(vault, Draft({NOTE: EntryPut({}, b"b")}), START + timedelta(hours=2))
    assert vault.at(START - timedelta(seconds=1)) is None
    assert [row.number for row in map(vault.at, (START, START + timedelta(hours=3))) if row] == [0, 1]
    with pytest.raises(UnknownSequence):
        vault.state(7)


def test_leaves_of_a_state_taken_over_are_kept_and_absent_bytes_stay_absent(vault: Vault) -> None:
    leaf, absent = merkle.new_leaf(b"body"), merkle.new_leaf(b"elsewhere")
    line = create("Likes tea.")
    draft = Draft(
        {"raw/a": EntryPut({}, b"body", leaf), "artifacts/b": EntryPut({}, None, absent, 9, "00" * 32)},
        [line._replace(leaf=merkle.new_leaf(line.line))],
    )
    commit(vault, draft)
    state = vault.state()
    entries = {entry.path: entry for entry in state.entries()}
    assert entries["raw/a"].leaf == leaf and entries["artifacts/b"].leaf == absent and entries["artifacts/b"].size == 9
    with pytest.raises(KeyError):
        state.body("artifacts/b")
    assert commit(vault, Draft(draft.entries)) is None
    with pytest.raises(DraftInvalid):
        commit(vault, Draft({"raw/a": EntryPut({}, b"other", leaf)}))


def test_a_state_taken_over_is_the_same_to_the_digest(vault: Vault) -> None:
    state = make_full_state().put_absent("artifacts/gone.bin", 9, None)
    made = commit(vault, draft_of_state(state), number=17)
    assert made is not None and (made.number, made.digest) == (17, state.sequence.digest)
    assert list(vault.state().entries()) == list(state.entries())
    assert list(vault.state().records()) == list(state.records())
    with pytest.raises(BodyAbsent):
        vault.state().body("artifacts/gone.bin")
    assert vault.verify(trusted=None).findings == []


def test_a_record_line_that_is_not_json_is_carried(vault: Vault) -> None:
    commit(vault, Draft({}, [RecordPut("create", "x", QUARTER, b'{"id":"x","content":7}')]))
    assert [item.line for item in vault.state().records()] == [b'{"id":"x","content":7}']
