"""Content and size of delta bundles, and the supported dialects."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader, write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.errors import ArchiveError, BadDocument, UnknownOperation
from lifeboat_alf.memory import effective_view, memory_records
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import AGENT_ID, TIME, MemoryState
from support.alf.published_schemas import validate_as_published
from support.alf.raising import raises_code

WORDS = """
    the of agent memory review deploy staging garden letter Lisbon river kitchen always before because quarterly
    invoice prefers shorter answers when asked about weather notes meeting Thursday moved calendar report draft
    second friend remembered birthday travel ticket window seat library return
""".split()  # noqa: SIM905 - a text is easier to read than a list


def prose(length, seed):
    source, text = random.Random(seed), ""
    while len(text) < length:
        text += " ".join(source.choices(WORDS, k=source.randint(6, 14))).capitalize() + f" {source.randint(1, 999)}. "
    return text[:length] + "\n"


def bundle(a, b):
    out = io.BytesIO()
    summary = write_delta(diff_states(a, b), out)
    assert summary.bytes == len(out.getvalue())
    return out.getvalue(), summary


def manifest_of(data, name=archive_layout.MANIFEST):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return json.loads(file.read(name))


def signed(sequence):
    """Return a signature of realistic size: two keys and two signatures of random bytes."""
    noise = random.Random(7)
    texts = {name: noise.randbytes(size).hex() for name, size in (("device", 32), ("user", 16))}
    return {"version": 1, **texts, "certificate": noise.randbytes(64).hex(), "signature": noise.randbytes(64).hex()}


def test_one_line_added_to_a_9_kb_note_is_at_most_3_kb_and_its_patch_300_bytes():
    sections = [f"## Part {number}\n\n{prose(980, number)}\n" for number in range(9)]
    lines = [sample_states.make_record(text) for text in sections]
    path = "raw/openclaw/memory/2026-11-20.md"
    a = MemoryState()
    a.add_all(lines)
    ids = [line["id"] for line in lines]
    a.put(path, "".join(sections).encode(), mtime_ns="1795000000000000001", records=ids)
    b = a.copy()
    sections[4] += "- One more line: the ferry leaves at seven.\n"
    b.update({**lines[4], "content": sections[4], "temporal": {"created_at": TIME, "updated_at": TIME}})
    b.put(path, "".join(sections).encode(), mtime_ns="1795000060000000001", records=ids)
    data, summary = bundle(a, b.sign(signed))
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        patch = file.getinfo("lifeboat/patches/1")
    assert patch.compress_size <= 300
    assert len(data) <= 3072
    assert (summary.records, summary.entries, summary.patched) == (1, 1, 1)


def test_a_delta_of_one_record_does_not_grow_with_the_agent():
    a = MemoryState()
    a.add_all(sample_states.make_record(f"Number {number}.") for number in range(3000))
    b = a.copy()
    b.add(sample_states.make_record("One more."))
    assert len(bundle(a, b)[0]) < 1800


def test_what_does_not_shrink_travels_whole():
    noise = random.Random(3)
    a = MemoryState().put("raw/openclaw/x.bin", noise.randbytes(5000)).put("raw/openclaw/y.md", b"old")
    b = a.copy().put("raw/openclaw/x.bin", noise.randbytes(5000)).put("raw/openclaw/y.md", b"")
    items = {item["path"]: item for item in manifest_of(bundle(a, b)[0])["changes"]["raw"]}
    assert [items[path]["operation"] for path in sorted(items)] == ["put", "put"]
    assert items["raw/openclaw/x.bin"]["entry"] == "raw/openclaw/x.bin"
    assert items["raw/openclaw/y.md"]["entry"] == ""


def test_large_artifacts_stay_behind_and_small_ones_travel():
    a = MemoryState()
    b = a.copy().put_artifact("small.csv", b"1,2\n").put_artifact("video.bin", b"frames" * 1000, tier=3)
    data, _ = bundle(a, b)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert "artifacts/small.csv" in file.namelist() and "artifacts/video.bin" not in file.namelist()
    put = manifest_of(data)["changes"]["attachments"]["put"]
    assert [item["archive_path"] for item in put] == ["artifacts/small.csv", None]
    assert put[1]["remote_ref"] == "lifeboat:sha256:" + hashlib.sha256(b"frames" * 1000).hexdigest()


def test_only_changed_lists_of_records_travel_and_an_emptied_one_is_null():
    a = sample_states.make_full_state()
    record = a.add(sample_states.make_record("New."))
    b = a.copy().put("raw/openclaw/MEMORY.md", b"nothing\n").put("raw/openclaw/new.md", b"New.", records=[record.id])
    assert manifest_of(bundle(a, b)[0])["changes"]["memory"]["files"] == {
        "raw/openclaw/MEMORY.md": None,
        "raw/openclaw/new.md": [record.id],
    }


def test_sealing_is_an_operation_of_its_own():
    a = MemoryState()
    old = a.add(sample_states.make_record(created_at="2026-08-03T00:00:00.000Z"))
    b = a.copy().seal(old.partition, "2026-09-30")
    changes = manifest_of(bundle(a, b)[0])["changes"]
    assert changes["memory"]["seal"] == [{"file": old.partition, "to": "2026-09-30"}]
    assert changes["manifest"]["partitions"][0]["sealed"]


def test_layers_are_named_as_the_published_schema_names_them():
    a = sample_states.make_full_state()
    people = sample_states.make_principals()
    people["principals"][0]["profile"]["version"] = 2
    b = (
        a.copy()
        .put_document(archive_layout.IDENTITY, sample_states.make_identity(2))
        .put_document(archive_layout.PRINCIPALS, people)
    )
    b.put_document(archive_layout.CREDENTIALS, {"credentials": []})
    b.add(sample_states.make_record("New."))
    data, _ = bundle(a, b)
    small = manifest_of(data, archive_layout.DELTA_MANIFEST)
    assert small["changes"] == {
        "identity": {"file": "identity.json", "new_version": 2},
        "principals": {"file": "principals.json", "changed_ids": [people["principals"][0]["id"]]},
        "credentials": {"file": "credentials.json"},
        "memory": {"file": "memory/delta.jsonl", "record_count": 1},
    }
    assert small["sync"] == {
        "base_sequence": 0, "new_sequence": 1, "base_timestamp": TIME, "new_timestamp": TIME
    }  # fmt: skip


def test_both_manifests_are_what_the_published_schema_asks():
    data, _ = bundle(MemoryState(), sample_states.make_full_state().copy(number=2))
    for name in (archive_layout.MANIFEST, archive_layout.DELTA_MANIFEST):
        validate_as_published("delta-manifest", manifest_of(data, name))


def test_writing_twice_gives_the_same_bytes():
    a, b = MemoryState(), sample_states.make_full_state().copy(number=2)
    assert bundle(a, b)[0] == bundle(a, b)[0]


def test_record_lines_keep_their_bytes_and_the_operation_stands_first():
    odd = json_codec.encode_json(sample_states.make_record("x")).replace(b'"content":', b' "content" : ')
    a = MemoryState()
    b = a.copy()
    b.add(odd)
    data, _ = bundle(a, b)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.read(archive_layout.DELTA_RECORDS) == b'{"operation":"create",' + odd[1:] + b"\n"
    with DeltaReader(io.BytesIO(data)) as delta:
        assert [line.line for line in delta.records()] == [odd]
        delta.verify()


def test_a_newer_major_version_is_refused():
    data = foreign([], alf_version="2.0.0")
    with raises_code(ArchiveError.UNSUPPORTED_VERSION):
        DeltaReader(io.BytesIO(data))


def test_a_bundle_without_a_manifest_is_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr(archive_layout.DELTA_RECORDS, b"")
    with raises_code(ArchiveError.MISSING_ENTRY):
        DeltaReader(out)


@pytest.mark.parametrize(
    "changes",
    [
        {"memory": []},
        {"raw": {}},
        {"raw": [{"path": "raw/x", "operation": "patch", "entry": "memory/delta.jsonl"}]},
        {"raw": [{"path": "raw/x", "operation": "remove"}] * 2},
        {"memory": {"file": 3}},
        {"memory": {"removed": [1]}},
    ],
)
def test_documents_of_another_shape_are_named_errors(changes):
    with pytest.raises(BadDocument):
        AppliedState(MemoryState(), DeltaReader(io.BytesIO(foreign([], changes=changes))))


# The reference client's dialect ---------------------------------------------------------------------------------


def foreign(lines, *, name=archive_layout.DELTA_MANIFEST, **fields):
    """Return a bundle as the reference client writes it: only its manifest and record lines."""
    manifest = {
        "alf_version": "1.0.0",
        "created_at": "2026-11-21T08:00:00Z",
        "agent": {"id": AGENT_ID, "source_runtime": "openclaw"},
        "sync": {"base_sequence": 0, "new_sequence": 0, "base_timestamp": TIME},
        "changes": {"memory": {"file": archive_layout.DELTA_RECORDS, "record_count": len(lines)}},
        **fields,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(archive_layout.DELTA_RECORDS, b"".join(json_codec.encode_json(line) + b"\n" for line in lines))
        file.writestr(name, json.dumps(manifest, indent=2))
    return out.getvalue()


def after(base, lines, **fields):
    return AppliedState(base, DeltaReader(io.BytesIO(foreign(lines, **fields))))


@pytest.fixture
def base():
    state = MemoryState()
    for text in ("one", "two", "three"):
        state.add(sample_states.make_record(text))
    return state


def decoded(state):
    return [memory_records.parse_record(record.line) for record in state.records()]


def test_a_reference_delta_is_the_next_sequence_and_unsigned(base):
    state = after(base, [])
    assert (state.sequence.number, state.sequence.base, state.sequence.digest) == (1, 0, b"")
    assert state.sequence.time == "2026-11-21T08:00:00Z"


def test_a_reference_delta_changes_records_in_place_by_id(base):
    one, two, three = decoded(base)
    new = sample_states.make_record("four")
    state = after(
        base,
        [
            {"operation": "create", **new},
            {"operation": "update", **two, "content": "two, edited"},
            {"operation": "delete", **three},
        ],
    )
    assert [(item["content"], item["status"]) for item in decoded(state)] == [
        ("one", "active"), ("two, edited", "active"), ("three", "deleted"), ("four", "active"),
    ]  # fmt: skip
    assert [found.record["content"] for found in effective_view.visible_records(state)] == [
        "one",
        "two, edited",
        "four",
    ]
    assert [record.position for record in state.records()] == [0, 1, 2, 3]
    assert one == decoded(state)[0]


def test_a_reference_delta_ignores_what_that_client_ignores(base):
    one = decoded(base)[0]
    unknown = sample_states.make_record("nobody knows")
    state = after(
        base,
        [
            {"operation": "create", **one, "content": "again"},
            {"operation": "update", **unknown},
            {"operation": "delete", **unknown},
        ],
    )
    assert decoded(state) == decoded(base)


def test_a_record_that_a_reference_delta_deleted_is_created_again_and_until_then_is_not_there(base):
    one = decoded(base)[0]
    dead = after(base, [{"operation": "delete", **one}])
    sync = {"base_sequence": 1, "new_sequence": 0}
    changed = after(dead, [{"operation": "update", **one, "content": "unheard"}], sync=sync)
    assert decoded(changed) == decoded(dead)
    assert decoded(after(dead, [{"operation": "create", **one}], sync=sync)) == decoded(base)


def test_lines_of_an_unknown_operation_are_an_error_or_passed_over(base):
    with DeltaReader(io.BytesIO(foreign([{"operation": "rename", **decoded(base)[0]}]))) as delta:
        with pytest.raises(UnknownOperation):
            list(delta.records())
        assert list(delta.records(skip_unknown=True)) == []


def test_a_reference_delta_files_a_new_record_by_the_day_it_speaks_of(base):
    late = sample_states.make_record("late", temporal={"created_at": TIME, "observed_at": "2026-05-04T23:30:00-02:00"})
    state = after(base, [{"operation": "create", **late}])
    assert state.record(late["id"]).partition == "memory/partitions/2026-Q2.jsonl"
    listed = json_codec.decode_json(state.body(archive_layout.MANIFEST))["partitions"]
    assert [(item["from"], item["sealed"]) for item in listed] == [("2026-04-01", False), ("2026-10-01", False)]


def test_a_delta_to_the_letter_of_the_specification_is_read_too(base):
    letter = foreign(
        [], name=archive_layout.MANIFEST, changes={"identity": {"file": archive_layout.DELTA_RECORDS, "new_version": 2}}
    )
    state = AppliedState(base, DeltaReader(io.BytesIO(letter)))
    assert state.body(archive_layout.IDENTITY) == b""
    assert state.entry(archive_layout.IDENTITY).size == 0


def test_a_reference_delta_stacks_on_a_snapshot_and_on_another_delta(base, tmp_path):
    with (tmp_path / "a.alf").open("wb") as out:
        write_snapshot(base, out)
    new = sample_states.make_record("four")
    with SnapshotReader(tmp_path / "a.alf") as snapshot:
        first = after(snapshot, [{"operation": "create", **new}])
        sync = {"base_sequence": 1, "new_sequence": 0}
        second = after(first, [{"operation": "update", **new, "content": "4"}], sync=sync)
        assert [item["content"] for item in decoded(second)] == ["one", "two", "three", "4"]
        assert second.sequence.number == 2
