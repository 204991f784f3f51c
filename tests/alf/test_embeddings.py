"""Vectors are packed beside the records, read back, and put into records on request."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader, write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.errors import BadDocument, BadJson
from lifeboat_alf.memory import embeddings
from lifeboat_alf.memory.embeddings import CHUNK, INDEX, EmbeddingChunk, EmbeddingKind, StateVectors
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_embedding, make_record
from support.alf.packed_vectors import RecordVector, pack_vectors

FILE = "memory/partitions/2026-Q4.jsonl"


def state_with(*vectors: RecordVector) -> MemoryState:
    state = MemoryState()
    for path, body in pack_vectors(vectors).items():
        state.put(path, body)
    return state


def change(state: MemoryState, entries: dict[str, bytes | None]) -> None:
    for path, body in entries.items():
        if body is None:
            state.remove(path)
        else:
            state.put(path, body)


def test_the_file_holds_little_endian_float32_and_nothing_else():
    found = pack_vectors(
        [RecordVector(FILE, "a", make_embedding([1.0, -2.5])), RecordVector(FILE, "b", make_embedding([0.0, 3.0]))]
    )
    assert found["memory/embeddings/2026-Q4/0.bin"].hex() == "0000803f000020c00000000000004040"
    (group,) = json.loads(found["memory/embeddings/2026-Q4/0.json"])["vectors"]
    assert (group["records"], group["offset"], group["dimensions"]) == (["a", "b"], 0, 2)


def test_vectors_of_two_models_and_two_partitions_stand_beside_each_other():
    old = make_embedding([1.0, 2.0], "example/old")
    new = make_embedding([1.0, 2.0, 3.0], "example/new", source="sync_service", computed_at="2026-11-21T00:00:00Z")
    other = "memory/partitions/2026-Q3.jsonl"
    vectors = StateVectors(
        state_with(RecordVector(FILE, "a", old), RecordVector(FILE, "a", new), RecordVector(other, "b", old))
    )
    assert sorted(vectors.of("a"), key=str) == sorted([old, new], key=str)
    assert vectors.of("b") == [old]
    assert vectors.of("c") == []


@given(
    st.lists(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3), max_size=8)
)
def test_any_float32_comes_back_exactly(rows):
    items = [RecordVector(FILE, str(number), make_embedding(row)) for number, row in enumerate(rows)]
    vectors = StateVectors(state_with(*items))
    assert [vectors.of(item.record_id) for item in items] == [[item.embedding] for item in items]


def test_no_vectors_make_no_files():
    assert pack_vectors([]) == {}


def test_a_purge_leaves_the_others_and_removes_what_is_empty():
    one, two = make_embedding([1.0]), make_embedding([2.0])
    state = state_with(
        RecordVector(FILE, "a", one),
        RecordVector(FILE, "b", two),
        RecordVector("memory/partitions/2026-Q3.jsonl", "c", one),
    )
    left = StateVectors(state).without({"a", "c"})
    assert left["memory/embeddings/2026-Q3/0.bin"] is None
    change(state, left)
    assert (StateVectors(state).of("a"), StateVectors(state).of("b")) == ([], [two])
    assert StateVectors(state).without({"nobody"}) == {}
    assert set(StateVectors(state).without({"b"}).values()) == {None}


def written(state, **options) -> dict[str, bytes]:
    out = io.BytesIO()
    write_snapshot(state, out, **options)
    with zipfile.ZipFile(out) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def agent_with_vector() -> MemoryState:
    state = MemoryState()
    item = state.add(make_record("Likes tea."))
    state.add(make_record("No vector."))
    for path, body in pack_vectors([RecordVector(item.partition, item.id, make_embedding([0.5, 0.25]))]).items():
        state.put(path, body)
    return state


def test_a_delta_carries_chunks_that_change_come_and_go():
    before, after = state_with(RecordVector(FILE, "gone", make_embedding([9.0]))), MemoryState(number=1)
    items = [RecordVector(FILE, str(number), make_embedding([float(number)])) for number in range(CHUNK + 5)]
    change(before, pack_vectors(items[:CHUNK]))
    change(before, single_index({"old": [1.0]}))
    change(after, pack_vectors([*items[:3], RecordVector(FILE, "3", make_embedding([3.5])), *items[4:]]))
    out = io.BytesIO()
    write_delta(diff_states(before, after), out)
    found = AppliedState(before, DeltaReader(io.BytesIO(out.getvalue())))
    assert [(one, found.body(one.path)) for one in found.entries()] == [
        (one, after.body(one.path)) for one in after.entries()
    ]
    assert StateVectors(found).of("3") == [make_embedding([3.5])]


def test_on_request_records_carry_their_vectors_and_the_file_is_no_longer_the_signed_one():
    made = written(agent_with_vector(), embeddings_inline=True)
    first, second = [json.loads(line) for line in made[FILE].splitlines()]
    assert first["embeddings"] == [make_embedding([0.5, 0.25])]
    assert "embeddings" not in second
    assert not [
        name for name in made if name.startswith(("memory/embeddings/", "lifeboat/leaves", "lifeboat/signature"))
    ]
    assert json.loads(made["manifest.json"])["layers"]["memory"]["has_embeddings"] is True


def test_without_request_they_stay_beside_the_records():
    state = agent_with_vector()
    made = written(state)
    assert b"embeddings" not in made[FILE]
    assert json.loads(made["manifest.json"])["layers"]["memory"]["has_embeddings"] is True
    out = io.BytesIO()
    write_snapshot(state, out)
    with SnapshotReader(out) as found:
        item = next(found.records())
        assert StateVectors(found).of(item.id) == [make_embedding([0.5, 0.25])]


def test_arrays_inside_a_record_stay_there_as_bytes():
    state = MemoryState()
    line = b'{"id":"a","temporal":{"created_at":"2026-11-20T00:00:00Z"},"embeddings":[{"vector":[0.1,1e-2]}]}'
    state.add(line)
    made = written(state)
    assert made[FILE] == line + b"\n"
    assert json.loads(made["manifest.json"])["layers"]["memory"]["has_embeddings"] is True


@pytest.mark.parametrize(
    ("line", "expected"), [(b'{"embeddings":[]}', False), (b'{"content":"\\"embeddings\\""}', False)]
)
def test_an_empty_array_or_the_word_alone_is_no_vector(line, expected):
    assert embeddings.has_inline(line) is expected


@pytest.mark.parametrize(
    "group",
    [
        {},
        {"file": 1, "model": "m", "dimensions": 1, "source": "s", "offset": 0, "records": [], "computed_at": []},
        {"file": "f", "model": "m", "dimensions": -1, "source": "s", "offset": 0, "records": [], "computed_at": []},
        {"file": "f", "model": "m", "dimensions": 1, "source": "s", "offset": 0, "records": ["a"], "computed_at": []},
        {"file": "f", "model": "m", "dimensions": 1, "source": "s", "offset": 0, "records": 5, "computed_at": []},
        "text",
    ],
)
def test_an_index_of_another_shape_is_refused(group):
    state = MemoryState().put_document(INDEX, {"vectors": [group]})
    with pytest.raises(BadDocument):
        StateVectors(state).of("a")


def test_an_index_that_is_not_json_is_refused_and_one_of_another_tool_is_passed_over():
    with pytest.raises(BadJson):
        StateVectors(MemoryState().put(INDEX, b"{")).of("a")
    assert StateVectors(MemoryState().put(INDEX, b'{"other": 1}')).of("a") == []


def test_a_file_that_ends_early_is_named():
    state = state_with(RecordVector(FILE, "a", make_embedding([1.0, 2.0])))
    state.put("memory/embeddings/2026-Q4/0.bin", b"\0\0\0")
    with pytest.raises(BadDocument) as caught:
        StateVectors(state).of("a")
    assert caught.value.entry == "memory/embeddings/2026-Q4/0.bin"


def test_a_file_that_is_not_there_is_named():
    state = state_with(RecordVector(FILE, "a", make_embedding([1.0, 2.0]))).remove("memory/embeddings/2026-Q4/0.bin")
    for ask in (lambda: StateVectors(state).of("a"), lambda: StateVectors(state).without({"a"})):
        with pytest.raises(BadDocument) as caught:
            ask()
        assert caught.value.entry == "memory/embeddings/2026-Q4/0.bin"
    assert StateVectors(state).usable({"id": "a"}, "example/small") is None


def test_another_vector_of_a_full_chunk_begins_the_next_one():
    found = pack_vectors(
        RecordVector(FILE, str(number), make_embedding([float(number)])) for number in range(CHUNK + 1)
    )
    assert [len(found[f"memory/embeddings/2026-Q4/{number}.bin"]) for number in (0, 1)] == [CHUNK * 4, 4]


def single_index(records: dict[str, list[float]]) -> dict[str, bytes]:
    """Return vectors in the single file of a partition, listed in the single index."""
    group = {"file": "memory/embeddings/2026-Q3.bin", "model": "example/small", "dimensions": 1, "source": "runtime"}
    group |= {"offset": 0, "records": list(records), "computed_at": ["2026-11-20T00:00:00Z"] * len(records)}
    body = b"".join(embeddings.encode_float32(numbers) for numbers in records.values())
    return {"memory/embeddings/2026-Q3.bin": body, INDEX: json.dumps({"vectors": [group]}).encode()}


def test_vectors_under_one_index_are_read_and_purged_beside_chunks():
    state = state_with(RecordVector(FILE, "a", make_embedding([1.0])))
    change(state, single_index({"b": [2.0], "c": [3.0]}))
    assert [StateVectors(state).packed(one, "example/small") for one in "abc"] == [
        embeddings.encode_float32([number]) for number in (1.0, 2.0, 3.0)
    ]
    change(state, StateVectors(state).without({"b"}))
    assert [len(StateVectors(state).of(one)) for one in "abc"] == [1, 0, 1]
    assert state.body("memory/embeddings/2026-Q3.bin") == embeddings.encode_float32([3.0])


def test_the_latest_of_two_vectors_of_a_model_is_the_one_to_use():
    state = state_with(RecordVector(FILE, "b", make_embedding([2.0], computed_at="2026-11-22T00:00:00Z")))
    change(state, single_index({"b": [1.0]}))
    assert StateVectors(state).packed("b", "example/small") == embeddings.encode_float32([2.0])
    assert StateVectors(state).packed("b", "example/other") is None


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (make_embedding([0.5]), embeddings.encode_float32([0.5])),
        (make_embedding([0.5], "example/other"), None),
        ({**make_embedding([0.5]), "dimensions": 2}, None),
        ({**make_embedding([0.5]), "vector": "0.5"}, None),
        ({**make_embedding([0.5]), "vector": [10**400]}, None),
        (make_embedding([1e300]), None),
        ({"model": "example/small"}, None),
        (5, None),
    ],
)
def test_a_vector_inside_a_record_is_used_where_it_is_one(item, expected):
    assert StateVectors(MemoryState()).usable({"id": "a", "embeddings": [item]}, "example/small") == expected


def test_a_vector_in_a_file_is_used_before_one_inside_the_record():
    vectors = StateVectors(state_with(RecordVector(FILE, "a", make_embedding([2.0]))))
    assert vectors.usable(
        {"id": "a", "embeddings": [make_embedding([1.0])]}, "example/small"
    ) == embeddings.encode_float32([2.0])
    assert vectors.usable({"id": "b"}, "example/small") is None


@pytest.mark.parametrize(("suffix", "body"), [(".json", b"{"), (".bin", b"\0")])
def test_damaged_vectors_are_none_to_use(suffix, body):
    state = state_with(RecordVector(FILE, "a", make_embedding([2.0]))).put(f"memory/embeddings/2026-Q4/0{suffix}", body)
    assert StateVectors(state).usable({"id": "a"}, "example/small") is None


def test_a_group_that_lies_outside_of_the_vectors_is_refused():
    entries = single_index({"b": [1.0]})
    state = MemoryState().put("raw/openclaw/SOUL.md", b"soul")
    state.put(INDEX, entries[INDEX].replace(b"memory/embeddings/2026-Q3.bin", b"raw/openclaw/SOUL.md"))
    with pytest.raises(BadDocument):
        StateVectors(state).without({"b"})


def test_json_that_is_no_index_stands_beside_vectors_without_harm():
    state = state_with(RecordVector(FILE, "a", make_embedding([1.0]))).put("memory/embeddings/notes.json", b"[")
    assert len(StateVectors(state).of("a")) == 1


@pytest.mark.parametrize("data", [b"", b"\0\0\0", bytes(8), b"\0\0\x80\x7f", b"\0\0\xc0\x7f"])
def test_bytes_that_are_not_so_many_finite_numbers_are_no_vector(data):
    assert not embeddings.is_vector(data, 1)


def test_a_chunk_keeps_the_vector_of_an_earlier_model_and_replaces_that_of_the_same():
    chunk = EmbeddingChunk("memory/embeddings/2026-Q4/0.json")
    old, new = EmbeddingKind("example/old", 1, "runtime"), EmbeddingKind("example/new", 2, "runtime")
    chunk.put("a", old, bytes(4), "1")
    chunk.put("a", new, bytes(8), "2")
    chunk.put("a", EmbeddingKind("example/new", 1, "runtime"), b"\1" * 4, "3")
    assert (len(chunk), chunk.holds("a", "example/old")) == (2, True)
    entries = chunk.entries()
    again = EmbeddingChunk.read(chunk.index, entries[chunk.index], entries.__getitem__)
    assert again.entries() == entries
    assert again.drop("a") and set(again.entries().values()) == {None}
