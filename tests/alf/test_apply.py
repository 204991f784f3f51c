"""Applying the delta of a diff from a to b gives b: item by item, in its digest, and in every byte of its archive."""

from __future__ import annotations

import hashlib
import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.snapshot_manifest import entries_checksum
from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.errors import ApplyError, ArchiveError, BadDocument, UnknownOperation
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states import merkle
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from support.alf.raising import raises_code
from support.alf.random_states import Script, applied, archive, assert_same, body, delta_bytes, two_states


@given(two_states())
@settings(max_examples=150)
def test_applying_what_differs_gives_the_other_state(states):
    a, b = states
    assert_same(applied(a, delta_bytes(a, b)), b)


@given(two_states(), st.data())
@settings(max_examples=40)
def test_deltas_stack_on_an_archive(states, data):
    a, b = states
    c = Script(data.draw).run(b.copy(number=b.sequence.number + 5))
    with SnapshotReader(io.BytesIO(archive(a))) as base:
        middle = applied(base, delta_bytes(a, b))
        assert_same(applied(middle, delta_bytes(b, c)), c)


_LARGE = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(100))
"""Incompressible bytes, so that a patch is much smaller."""


@pytest.mark.parametrize("new", [b"", b"1,2\n", _LARGE + b"3,4\n"])
def test_an_artifact_that_is_no_longer_too_large_for_archives_comes_with_its_bytes(new):
    """Bundles carry no bytes of a tier 3 artifact, so neither "as before" nor a patch can be read from bundles
    alone."""
    a = MemoryState()
    a.put("artifacts/t.csv", _LARGE if len(new) > 9 else new, attachment=_attachment(3))
    b = a.copy()
    b.put("artifacts/t.csv", new, attachment=_attachment(2))
    with SnapshotReader(io.BytesIO(archive(a))) as base:
        assert body(applied(base, delta_bytes(a, b)), "artifacts/t.csv") == new


def _attachment(tier):
    return {"id": sample_states.AGENT_ID, "media_type": "text/csv", "tier": tier}


def test_a_full_agent_goes_through_a_delta_and_back():
    a, b = MemoryState(), sample_states.make_full_state().copy(number=4)
    assert_same(applied(a, delta_bytes(a, b)), b)
    back = a.copy(number=5)
    assert_same(applied(b, delta_bytes(b, back)), back)


def test_nothing_changed_is_an_empty_delta():
    a = sample_states.make_full_state()
    changes = diff_states(a, a.copy())
    assert not changes
    assert_same(applied(a, delta_bytes(a, a.copy())), a.copy())


def test_a_touched_file_travels_without_its_bytes():
    a = sample_states.make_full_state().put("raw/openclaw/big.md", bytes(range(256)) * 400)
    b = a.copy().set_meta("raw/openclaw/big.md", mtime_ns="7")
    data = delta_bytes(a, b)
    assert len(data) < 2000
    assert_same(applied(a, data), b)


def test_a_base_that_is_far_away_is_asked_for_many_records_together():
    asked = []

    class Far(MemoryState):
        def record(self, record_id):
            asked.append(record_id)
            return super().record(record_id)

        def unknown_records(self, record_ids):
            return {each for each in record_ids if super(Far, self).record(each) is None}

    a, old = Far(), sample_states.make_record()
    a.add(old)
    b = a.copy(number=1)
    b.update({**old, "content": "Another text."})
    b.add_all([sample_states.make_record() for _ in range(100)])
    data = delta_bytes(a, b)
    asked.clear()
    there = applied(a, data)
    assert set(asked) == {old["id"]}
    assert_same(there, b)


def test_a_record_that_moved_to_another_partition_is_removed_and_appended():
    a = MemoryState()
    record = sample_states.make_record()
    a.add(record)
    b = MemoryState(number=1)
    b.add(record, "memory/partitions/2026-11.jsonl")
    b.put_document(archive_layout.MANIFEST, b.head)
    changes = diff_states(a, b)
    assert changes.removed == [record["id"]]
    assert_same(applied(a, delta_bytes(a, b)), b)


# What is refused ------------------------------------------------------------------------------------------------


def rebuilt(data, **entries):
    """Return a delta with entries replaced, or removed where the new value is None, without updating digests."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            body = entries.pop(name, old.read(name))
            if body is not None:
                new.writestr(name, body)
        for name, body in entries.items():
            new.writestr(name, body)
    return out.getvalue()


def forged(data, change, **entries):
    """Return a delta with a changed manifest and matching digests and checksum."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        manifest = json_codec.decode_json(file.read(archive_layout.MANIFEST))
    change(manifest)
    for name, content in entries.items():
        manifest["entries"][name] = hashlib.sha256(content).hexdigest()
    manifest["checksum"] = entries_checksum(manifest["entries"])
    return rebuilt(
        data,
        **{archive_layout.MANIFEST: json_codec.encode_json(manifest), archive_layout.DELTA_MANIFEST: None},
        **entries,
    )


@pytest.fixture
def pair():
    a = sample_states.make_full_state()
    b = a.copy().put("raw/openclaw/SOUL.md", b"# Soul\n\nBolder.\n")
    b.add(sample_states.make_record("New."))
    return a, b, delta_bytes(a, b)


def test_a_delta_of_another_agent_is_refused(pair):
    other = MemoryState("019a0000-0000-7000-8000-00000000beef")
    with raises_code(ApplyError.WRONG_AGENT):
        applied(other, pair[2])


def test_a_delta_on_another_sequence_is_refused(pair):
    _, b, data = pair
    with raises_code(ApplyError.BASE_MISMATCH):
        applied(b, data)


def test_a_patch_for_other_bytes_is_refused():
    text = b"A line of text that repeats itself. " * 300
    a = MemoryState().put("raw/openclaw/a.md", text)
    data = delta_bytes(a, a.copy().put("raw/openclaw/a.md", text + b"More."))
    other = MemoryState().put("raw/openclaw/a.md", text + b"Other.")
    with raises_code(ApplyError.BASE_MISMATCH):
        applied(other, data)


def test_a_patch_for_bytes_that_the_base_has_not_is_refused():
    text = b"A line of text that repeats itself. " * 300
    a = MemoryState().put("raw/openclaw/a.md", text)
    data = delta_bytes(a, a.copy().put("raw/openclaw/a.md", text + b"More."))
    entry = a.entry("raw/openclaw/a.md")
    described = MemoryState().put_absent("raw/openclaw/a.md", entry.size, entry.sha256, entry.leaf)
    with raises_code(ApplyError.BASE_MISMATCH):
        applied(described, data)


def test_a_changed_byte_is_found(pair):
    a, _, data = pair
    with raises_code(ArchiveError.CHECKSUM):
        applied(a, rebuilt(data, **{"raw/openclaw/SOUL.md": b"# Soul\n\nEvil.\n"}))


def test_an_entry_that_is_not_listed_or_missing_is_found(pair):
    a, _, data = pair
    with raises_code(ArchiveError.CHECKSUM):
        applied(a, rebuilt(data, extra=b"x"))
    with raises_code(ArchiveError.MISSING_ENTRY):
        applied(a, rebuilt(data, **{"raw/openclaw/SOUL.md": None}))


def test_forged_bytes_with_a_fitting_checksum_change_the_digest(pair):
    a, b, data = pair
    evil = b"# Soul\n\nEvil.\n"

    def change(manifest):
        item = manifest["changes"]["raw"][0]
        item["sha256"], item["size"] = hashlib.sha256(evil).hexdigest(), len(evil)

    state = applied(a, forged(data, change, **{"raw/openclaw/SOUL.md": evil}))
    assert state.body("raw/openclaw/SOUL.md") == evil
    assert merkle.state_digest(state) != b.sequence.digest == state.sequence.digest


def test_two_manifests_that_differ_are_refused(pair):
    a, _, data = pair
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        small = json_codec.decode_json(file.read(archive_layout.DELTA_MANIFEST))
    small["sync"]["new_sequence"] += 1
    with pytest.raises(BadDocument, match="differs"):
        applied(a, rebuilt(data, **{archive_layout.DELTA_MANIFEST: json_codec.encode_json(small)}))


def test_an_unknown_operation_on_a_record_is_an_error(pair):
    a, _, data = pair
    line = json_codec.encode_json({"operation": "upsert", **sample_states.make_record()}) + b"\n"
    with pytest.raises(UnknownOperation, match="line 1"):
        applied(a, forged(data, lambda manifest: None, **{archive_layout.DELTA_RECORDS: line}))


def test_an_unknown_operation_on_a_file_is_an_error(pair):
    a, _, data = pair
    with pytest.raises(UnknownOperation):
        applied(a, forged(data, lambda manifest: manifest["changes"]["raw"][0].update(operation="move")))


def test_an_update_of_a_record_that_is_not_there_is_refused(pair):
    a, _, data = pair
    line = json_codec.encode_json({"operation": "update", **sample_states.make_record()}) + b"\n"
    with pytest.raises(ApplyError, match="which is not in the base"):
        applied(a, forged(data, lambda manifest: None, **{archive_layout.DELTA_RECORDS: line}))


def test_a_line_more_or_less_than_stated_is_refused(pair):
    a, _, data = pair
    with pytest.raises(BadDocument, match="0 records"):
        applied(a, forged(data, lambda manifest: None, **{archive_layout.DELTA_RECORDS: b""}))


def test_leaves_that_do_not_match_the_items_are_refused(pair):
    a, _, data = pair
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        rows = file.read(archive_layout.LEAVES)
    for changed in (rows + bytes(17), rows[:-17], rows[:-1]):
        with pytest.raises(BadDocument):
            applied(a, forged(data, lambda manifest: None, **{archive_layout.LEAVES: changed}))


def test_every_truncation_is_a_named_error(pair):
    a, _, data = pair
    for length in range(0, len(data), 97):
        with raises_code(ArchiveError.NOT_AN_ARCHIVE):
            applied(a, data[:length])
