"""Vectors of rows: set, replaced and removed in the chunks of a capture's overlay."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_adapters.memory_stores import VectorModel
from lifeboat_alf.memory.embeddings import CHUNK, INDEX, StateVectors, encode_float32
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_core.capture import vector_changes
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.capture.vector_changes import ChunkStaging, VectorChanges

PARTITION = "memory/partitions/2026-Q4.jsonl"
MODEL = VectorModel("example/small", 2)
NEWER = VectorModel("example/newer", 1)
OTHER = VectorModel("example/other", 2)


def packed(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def where(state: MemoryState, record_id: str) -> list[str]:
    """Return the indexes of a state that list a record."""
    listed = StateVectors(state).indexes.items()
    return [path for path, groups in listed if any(record_id in group.records for group in groups)]


def begin(state: MemoryState, model: VectorModel | None = MODEL, **options: Any) -> VectorChanges:
    overlay = Overlay(state)
    time = options.pop("time", "2026-11-20T00:00:00Z")
    return VectorChanges(overlay, lambda _: PARTITION, lambda one: where(state, one), model, time, **options)


def commit(state: MemoryState, changes: VectorChanges) -> set[str]:
    """Make the overlay the new state; return the changed paths."""
    for path in changes.overlay.puts:
        body = changes.overlay.read(path)
        if body is None:
            state.remove(path)
        else:
            state.put(path, body)
    return set(changes.overlay.puts)


def capture(
    state: MemoryState, changed: dict[str, bytes | None], model: VectorModel | None = MODEL, **options: Any
) -> set[str]:
    changes = begin(state, model)
    changes.update(changed, **options)
    assert changes.problems() == []
    return commit(state, changes)


def many(count: int) -> dict[str, bytes | None]:
    return {f"r{number}": packed(number, 1) for number in range(count)}


def test_another_vector_changes_the_newest_chunk_only():
    state = MemoryState()
    capture(state, many(CHUNK + 3))
    assert capture(state, {"new": packed(1, 2)}) == {
        "memory/embeddings/2026-Q4/1.bin",
        "memory/embeddings/2026-Q4/1.json",
    }
    assert StateVectors(state).packed("new", MODEL.model) == packed(1, 2)
    assert StateVectors(state).packed("r0", MODEL.model) == packed(0, 1)


def test_a_vector_that_was_computed_again_is_replaced_where_it_lies():
    state = MemoryState()
    capture(state, many(2 * CHUNK))
    assert capture(state, {"r1": packed(9, 9)}) == {"memory/embeddings/2026-Q4/0.bin"}
    assert [item["vector"] for item in StateVectors(state).of("r1")] == [[9, 9]]


def test_the_vector_of_an_earlier_model_stays_beside_the_new_one():
    state = MemoryState()
    capture(state, many(1))
    capture(state, {"r0": packed(5)}, NEWER)
    assert {item["model"] for item in StateVectors(state).of("r0")} == {MODEL.model, NEWER.model}


def test_a_text_that_changed_takes_the_vectors_of_earlier_models_with_it():
    state = MemoryState()
    capture(state, many(2))
    capture(state, {"r0": packed(5)}, NEWER)
    capture(state, {"r0": packed(6)}, NEWER, anew={"r0"})
    assert [(item["model"], item["vector"]) for item in StateVectors(state).of("r0")] == [(NEWER.model, [6])]
    assert len(StateVectors(state).of("r1")) == 1


def test_a_record_without_a_vector_loses_those_of_all_models_and_an_empty_chunk_goes():
    state = MemoryState()
    capture(state, many(1))
    capture(state, {"r0": packed(5)}, NEWER)
    capture(state, {"r0": None}, None)
    assert not [entry.path for entry in state.entries("memory/embeddings/")]


def test_vectors_of_a_model_that_nobody_knows_are_not_carried():
    state = MemoryState()
    assert capture(state, many(1), None) == set()


def test_bytes_that_are_no_vector_are_reported_once_and_leave_what_is_there():
    state = MemoryState()
    capture(state, many(1))
    changes = begin(state)
    changes.update({"r0": b"\0\0\0", "b": packed(1), "c": packed(float("nan"), 0), "d": packed(float("inf"), 0)})
    said = "4 vectors were not captured, because they do not consist of 2 finite numbers."
    assert changes.problems() == [f"{said} The first belongs to the memory r0"]
    assert commit(state, changes) == set()


def test_a_damaged_index_is_reported_and_the_next_chunk_taken():
    state = MemoryState()
    capture(state, many(3))
    broken = state.body("memory/embeddings/2026-Q4/0.json")
    state.put("memory/embeddings/2026-Q4/0.json", b"{")
    changes = VectorChanges(
        Overlay(state), lambda _: PARTITION, lambda one: ["memory/embeddings/2026-Q4/0.json"], MODEL, "now"
    )
    changes.update({"r0": packed(7, 7)})
    assert "2026-Q4/0.json cannot be read" in changes.problems()[0]
    assert set(changes.overlay.puts) == {"memory/embeddings/2026-Q4/1.json", "memory/embeddings/2026-Q4/1.bin"}
    assert broken


def test_a_vector_that_a_foreign_archive_lists_under_one_index_moves_into_a_chunk():
    state = MemoryState()
    group = {"file": "memory/embeddings/2026-Q4.bin", "model": MODEL.model, "dimensions": 2, "source": "runtime"}
    state.put_document(INDEX, {"vectors": [group | {"offset": 0, "records": ["r0", "r1"], "computed_at": ["a", "b"]}]})
    state.put("memory/embeddings/2026-Q4.bin", encode_float32([1, 1, 2, 2]))
    capture(state, {"r0": packed(3, 3)})
    assert [[item["vector"] for item in StateVectors(state).of(one)] for one in ("r0", "r1")] == [[[3, 3]], [[2, 2]]]
    assert where(state, "r0") == ["memory/embeddings/2026-Q4/0.json"]


def test_whole_chunks_wait_in_files_and_batches_continue_where_the_last_one_ended(tmp_path: Path):
    state = MemoryState()
    changes = begin(state, staging=ChunkStaging(SystemFiles(), tmp_path / "staged"))
    rows = list(many(3 * CHUNK).items())
    for first in range(0, len(rows), 100):
        changes.update(dict(rows[first : first + 100]))
    in_memory = [len(put.body) for put in changes.overlay.puts.values() if put and isinstance(put.body, bytes)]
    assert sum(in_memory) == 0
    assert len(list((tmp_path / "staged").iterdir())) == 6
    commit(state, changes)
    assert [StateVectors(state).packed(one, MODEL.model) for one, _ in rows] == [data for _, data in rows]


_IDS = st.sampled_from([f"r{number}" for number in range(12)])
_VECTORS = st.none() | st.tuples(*[st.floats(width=32, allow_nan=False, allow_infinity=False)] * 2)
_CAPTURES = st.tuples(st.sampled_from([MODEL, OTHER, None]), st.dictionaries(_IDS, _VECTORS), st.frozensets(_IDS))


@settings(max_examples=150, deadline=None)
@given(st.lists(_CAPTURES, max_size=7))
def test_after_any_captures_every_record_has_its_last_vector_of_each_model(captures: list[Any]):
    state = MemoryState()
    expected: dict[str, dict[str, bytes]] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vector_changes, "CHUNK", 3)
        for model, changed, anew in captures:
            given = {one: None if found is None else packed(*found) for one, found in changed.items()}
            capture(state, given, model, anew=anew)
            for one, data in given.items():
                stale = data is None or one in anew
                kept = {} if stale else expected.get(one, {})
                expected[one] = kept if data is None or model is None else {**kept, model.model: data}
    found = {
        one: {item["model"]: encode_float32(item["vector"]) for item in StateVectors(state).of(one)} for one in expected
    }
    assert found == expected
    assert all(len(group.records) <= 3 for groups in StateVectors(state).indexes.values() for group in groups)
