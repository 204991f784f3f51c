"""A written snapshot is read back as the same state."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.archive.snapshot_manifest import entries_checksum
from lifeboat_alf.archive.zip_container import ArchiveWriter
from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import ArchiveError, BadDocument, SignatureError
from lifeboat_alf.snapshot import SnapshotReader, snapshot_writer, write_snapshot
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import ABSENT_LEAF, BodyAbsent, Leaf, State
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState, make_full_state, make_record
from support.alf.published_schemas import validate_as_published
from support.alf.raising import raises_code


def written(state: State, **options) -> bytes:
    out = io.BytesIO()
    write_snapshot(state, out, **options)
    return out.getvalue()


def read(data: bytes) -> SnapshotReader:
    return SnapshotReader(io.BytesIO(data))


def bodies(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def document(data: bytes, name: str):
    return json.loads(bodies(data)[name])


def assert_same(found: State, expected: State) -> None:
    assert list(found.entries()) == list(expected.entries())
    assert list(found.records()) == list(expected.records())
    assert found.sequence == expected.sequence
    for entry in expected.entries():
        if entry.meta.get("attachment", {}).get("tier") != 3:
            assert found.body(entry.path) == expected.body(entry.path)


def test_a_state_with_everything_comes_back_and_writes_the_same_bytes():
    state = make_full_state().copy(41).sign(lambda sequence: {"by": "device", "for": sequence.digest.hex()})
    data = written(state)
    with read(data) as found:
        assert_same(found, state)
        assert found.warnings == []
        found.check()
        assert written(found) == data


def test_a_reader_gives_the_digest_that_the_state_has():
    state = make_full_state()
    with read(written(state)) as found:
        assert merkle.state_digest(found) == state.sequence.digest


def test_two_equal_states_give_equal_archives_in_a_fixed_order():
    state = make_full_state()
    names = list(bodies(written(state)))
    assert written(state) == written(state)
    assert names[-1] == "manifest.json"
    content = names[: names.index("attachments.json")]
    assert content == sorted(content)
    assert names[len(content) : -1] == sorted(names[len(content) : -1])


def test_the_archive_holds_what_the_specification_names():
    data = written(make_full_state())
    found = bodies(data)
    assert {"identity.json", "principals.json", "credentials.json", "memory/index.json", "attachments.json"} < set(
        found
    )
    manifest = document(data, "manifest.json")
    assert set(manifest["entries"]) == set(found) - {"manifest.json"}
    assert manifest["layers"]["memory"]["record_count"] == 2
    assert manifest["raw_state"] == {"openclaw": 0}
    assert document(data, "attachments.json")["artifact_size_threshold"] == 102400


def test_links_and_empty_folders_are_no_entries_of_the_zip_but_of_the_state():
    data = written(make_full_state())
    assert "raw/openclaw/now" not in bodies(data)
    with read(data) as found:
        link = found.entry("raw/openclaw/now")
        assert link is not None and link.meta == {"type": "link", "target": "SOUL.md"}
        assert (found.body("raw/openclaw/now"), found.body("raw/openclaw/skills")) == (b"", b"")


def test_a_large_artifact_is_listed_and_its_leaf_kept_but_not_its_bytes():
    state = make_full_state()
    data = written(state)
    assert "artifacts/video.bin" not in bodies(data)
    item = next(item for item in document(data, "attachments.json")["attachments"] if item["filename"] == "video.bin")
    entry = state.entry("artifacts/video.bin")
    assert entry is not None
    assert (item["archive_path"], item["remote_ref"]) == (None, f"lifeboat:sha256:{entry.sha256}")
    with read(data) as found:
        assert found.entry("artifacts/video.bin") == entry
        with pytest.raises(BodyAbsent):
            found.body("artifacts/video.bin")


def test_a_body_that_is_not_held_is_listed_but_not_written():
    state = MemoryState()
    state.put_absent("raw/openclaw/gone.md", 12, None, Leaf(b"\x07" * 32))
    state.put_absent("raw/openclaw/here.md", 12, "ab" * 32, merkle.new_leaf(b"x"), executable=True)
    state.put_absent("artifacts/purged.txt", 9, None, Leaf(b"\x08" * 32), attachment={"id": "a", "tier": 2})
    state.put_absent("odd/place.txt", 9, None, Leaf(b"\x08" * 32), attachment={"id": "b", "tier": 2})
    data = written(state)
    with read(data) as found:
        assert list(found.entries()) == list(state.entries())
        found.check()
        assert written(found) == data
        with pytest.raises(BodyAbsent):
            found.body("raw/openclaw/gone.md")


def test_an_unknown_path_is_a_key_error_and_no_absent_body():
    with read(written(make_full_state())) as found:
        assert (found.entry("nope"), found.record("nope")) == (None, None)
        with pytest.raises(KeyError) as caught:
            found.body("nope")
        assert not isinstance(caught.value, BodyAbsent)


def test_one_record_can_be_asked_for_by_id():
    state = make_full_state()
    with read(written(state)) as found:
        for item in state.records():
            assert found.record(item.id) == item


def test_records_of_one_partition_come_alone():
    state = make_full_state()
    with read(written(state)) as found:
        file = "memory/partitions/2026-Q2.jsonl"
        assert list(found.records(file)) == list(state.records(file)) != []
        assert list(found.records("memory/partitions/1999-Q1.jsonl")) == []
        assert [partition.file for partition in found.partitions] == [item["file"] for item in state.head["partitions"]]


def test_entries_below_a_prefix_come_alone():
    with read(written(make_full_state())) as found:
        assert {entry.path for entry in found.entries("artifacts/")} == {"artifacts/shares.csv", "artifacts/video.bin"}


def test_a_state_without_memories_has_no_memory_layer():
    data = written(MemoryState())
    assert document(data, "manifest.json")["layers"] == {}
    assert "memory/index.json" not in bodies(data)
    with read(data) as found:
        found.check()
        assert written(found) == data


def test_a_partition_without_records_is_kept_in_the_head_only():
    state = MemoryState()
    state.set_head(
        partitions=[{"file": "memory/partitions/2026-Q4.jsonl", "from": "2026-10-01", "to": None, "sealed": False}]
    )
    data = written(state)
    assert document(data, "manifest.json")["layers"] == {}
    with read(data) as found:
        assert_same(found, state)


def test_a_head_in_any_form_comes_back_byte_for_byte():
    state = make_full_state()
    state.put("manifest.json", json_codec.encode_json(dict(reversed(state.head.items()))) + b"\n")
    data = written(state)
    with read(data) as found:
        assert_same(found, state)
        assert written(found) == data


def test_keys_travel_with_the_archive():
    data = written(make_full_state(), keys={"agents": {"ada": "wrapped"}})
    with read(data) as found:
        assert found.keys == {"agents": {"ada": "wrapped"}}
    with read(written(make_full_state())) as found:
        assert found.keys is None


def test_the_summary_counts_what_was_written(tmp_path):
    with (tmp_path / "a.alf").open("wb") as out:
        out.write(b"before")
        summary = write_snapshot(make_full_state(), out)
    assert summary.bytes == (tmp_path / "a.alf").stat().st_size - 6
    assert (summary.records, summary.included, summary.referenced) == (2, 1, 1)
    assert (summary.included_bytes, summary.referenced_bytes) == (8, 500)


def test_records_outside_the_listed_partitions_are_refused_when_written():
    state = make_full_state()
    state.set_head(partitions=[])
    with pytest.raises(BadDocument, match="manifest does not list"):
        written(state)


@pytest.mark.parametrize("line", [b'{"id":"a"}\n{"id":"b"}', b""])
def test_a_record_that_is_not_one_line_is_refused_when_written(line):
    state = make_full_state()
    item = next(state.records())
    state._records[item.id] = item._replace(line=line)
    with pytest.raises(BadDocument):
        written(state)


def test_a_line_over_the_limit_is_refused_when_written(monkeypatch):
    monkeypatch.setattr(snapshot_writer, "LINE_LIMIT", 300)
    state = MemoryState()
    state.add(make_record("x" * 400))
    with raises_code(ArchiveError.TOO_LARGE) as caught:
        written(state)
    assert (caught.value.entry, caught.value.line) == ("memory/partitions/2026-Q4.jsonl", 1)


# Tampering ------------------------------------------------------------------------------------------------------


def rebuilt(data: bytes, changed: dict[str, bytes]) -> bytes:
    """Return the archive with other bytes and a matching manifest."""
    found = {**bodies(data), **changed}
    manifest = json.loads(found.pop("manifest.json"))
    out = io.BytesIO()
    archive = ArchiveWriter(out)
    for name, body in found.items():
        archive.add(name, body)
    manifest["entries"] = dict(archive.digests)
    manifest["checksum"] = entries_checksum(archive.digests)
    for item in manifest["layers"].get("memory", {}).get("partitions", []):
        item["checksum"] = f"sha256:{archive.digests[item['file']]}"
    archive.add("manifest.json", json_codec.encode_pretty(manifest))
    archive.close()
    return out.getvalue()


@pytest.mark.parametrize("name", ["raw/openclaw/SOUL.md", "x-unknown/thing.bin", "history/identity/1.json"])
def test_an_edited_entry_with_a_checksum_made_right_is_not_the_signed_state(name):
    data = rebuilt(written(make_full_state()), {name: b"{}"})
    with read(data) as found, pytest.raises(SignatureError):
        found.check()


def test_an_edited_record_with_a_checksum_made_right_is_not_the_signed_state():
    data = written(make_full_state())
    file = "memory/partitions/2026-Q4.jsonl"
    edited = rebuilt(data, {file: bodies(data)[file].replace(b"tea", b"rum")})
    with read(edited) as found, pytest.raises(SignatureError):
        found.check()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("lifeboat/files.json", b'"executable": true', b'"executable": false'),
        ("lifeboat/files.json", b'"SOUL.md"', b'"/etc/passwd"'),
        ("lifeboat/cuts.json", b'"offset": 4', b'"offset": 0'),
        ("attachments.json", b'"text/csv"', b'"text/x-sh"'),
        ("manifest.json", b'"name": "Ada"', b'"name": "Eve"'),
        ("manifest.json", b'"to": "2026-06-30"', b'"to": null'),
    ],
)
def test_edited_metadata_is_not_the_signed_state(name, old, new):
    data = written(make_full_state())
    assert old in bodies(data)[name]
    edited = rebuilt(data, {name: bodies(data)[name].replace(old, new)})
    with read(edited) as found, pytest.raises(SignatureError):
        found.check()


def test_a_stored_leaf_cannot_stand_for_bytes_that_are_there():
    state = MemoryState()
    state.put("raw/openclaw/run.sh", b"echo good\n")
    data = written(state)
    entry = state.entry("raw/openclaw/run.sh")
    assert entry is not None
    honest = bodies(data)["lifeboat/leaves.bin"]
    forged = honest[:17] + b"\x02" + entry.leaf.salt + entry.leaf.digest
    with pytest.raises(BadDocument, match="salt"):
        read(rebuilt(data, {"raw/openclaw/run.sh": b"echo evil\n", "lifeboat/leaves.bin": forged}))


def test_a_record_without_salt_is_covered_by_nothing():
    state = MemoryState()
    item = state.add(make_record("Likes tea."))
    data = written(state)
    honest = bodies(data)["lifeboat/leaves.bin"]
    forged = honest[:17] + b"\x01" + item.leaf.digest
    with (
        read(rebuilt(data, {"lifeboat/leaves.bin": forged})) as found,
        pytest.raises(SignatureError, match=r"the hash of the record .* is missing"),
    ):
        found.check()


@pytest.mark.parametrize(
    ("field", "value"),
    [("agent", "another"), ("sequence", 5), ("time", "2020-01-01T00:00:00.000Z"), ("digest", "00"), ("epoch", None)],
)
def test_a_signature_for_another_state_is_refused(field, value):
    data = written(make_full_state())
    signature = json.loads(bodies(data)["lifeboat/signature.json"])
    signature["sequence"][field] = value
    with pytest.raises(BadDocument):
        read(rebuilt(data, {"lifeboat/signature.json": json.dumps(signature).encode()}))


@pytest.mark.parametrize("leaves", [b"", b"\x00" * 16, b"\x09" + b"\x00" * 16, b"\x00" * 17 * 100])
def test_leaves_that_do_not_fit_are_refused(leaves):
    with pytest.raises(BadDocument):
        read(rebuilt(written(make_full_state()), {"lifeboat/leaves.bin": leaves}))


# Size -----------------------------------------------------------------------------------------------------------

_LARGE = """
import sys
from lifeboat_alf.archive.snapshot_manifest import entries_checksum
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from pathlib import Path
with SnapshotReader(Path(sys.argv[1])) as state, open(sys.argv[2], "wb") as out:
    state.check()
    assert write_snapshot(state, out).records == 50000
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_fifty_thousand_records_pass_through_little_memory(tmp_path: Path):
    state = MemoryState()
    state.add_all(make_record(f"Fact {number}: " + "a few words more " * 30) for number in range(50_000))
    first, second = tmp_path / "a.alf", tmp_path / "b.alf"
    with first.open("wb") as out:
        summary = write_snapshot(state, out)
    assert summary.bytes < 50 << 20
    command = [sys.executable, "-c", _LARGE, str(first), str(second)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert second.read_bytes() == first.read_bytes()
    assert int(done.stdout) < 128 << 10


def test_an_archive_can_be_written_without_seeking():
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data) -> int:
            self.data += bytes(data)
            return len(data)

    pipe, state = Pipe(), make_full_state()
    summary = write_snapshot(state, pipe)
    assert summary.bytes == len(pipe.data)
    with read(bytes(pipe.data)) as found:
        assert_same(found, state)


# Schemas and properties -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["manifest", "attachments", "identity", "principals", "credentials"])
def test_what_is_written_validates_against_the_published_schemas(name):
    validate_as_published(name, document(written(make_full_state()), f"{name}.json"))


def test_records_that_the_builders_make_validate_against_the_published_schema():
    fields = make_record("x", embeddings=[sample_states.make_embedding([0.5])], tags=["a"])
    validate_as_published("memory-record", fields)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
extras = st.dictionaries(st.text(min_size=1, max_size=6).map("x-{}".format), json_values, max_size=3)
parts = st.text(st.characters(exclude_characters="/\\\0", exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda part: part not in (".", "..")
)
paths = st.lists(parts, min_size=1, max_size=3).map(lambda names: "raw/openclaw/" + "/".join(names))


@settings(max_examples=60)
@given(
    files=st.dictionaries(paths, st.tuples(st.binary(max_size=60), extras), max_size=5),
    artifacts=st.dictionaries(parts, st.tuples(st.binary(max_size=60), st.sampled_from([2, 3]), extras), max_size=4),
    lines=st.lists(st.tuples(st.text(min_size=1, max_size=20), st.integers(1, 12), extras), max_size=6),
    head_fields=extras,
)
def test_any_state_survives_writing_and_reading(files, artifacts, lines, head_fields):
    state = MemoryState(**head_fields)
    for path, (body, fields) in files.items():
        state.put(path, body, **fields)
    for name, (body, tier, fields) in artifacts.items():
        state.put_artifact(name, body, tier=tier, **fields)
    for text, month, fields in lines:
        state.add(make_record(text, created_at=f"2026-{month:02}-03T00:00:00.000Z", **fields))
    data = written(state)
    with read(data) as found:
        assert_same(found, state)
        found.check()
        assert written(found) == data


def test_an_absent_body_without_any_digest_stays_absent():
    state = MemoryState()
    state.put_absent("artifacts/far.bin", 5, "ab" * 32, attachment={"id": "x", "media_type": "a/b", "tier": 3})
    with read(written(state)) as found:
        entry = found.entry("artifacts/far.bin")
        assert entry is not None and entry.leaf == Leaf(ABSENT_LEAF)
