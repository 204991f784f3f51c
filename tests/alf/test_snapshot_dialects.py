"""Archives of other writers are read as they are, kept whole, and written again without loss."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import ArchiveError, BadDocument
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.states.agent_state import ABSENT_LEAF, BodyAbsent
from lifeboat_alf.testing.sample_states import AGENT_ID, make_credentials, make_identity, make_principals
from support.alf.raising import raises_code

# As the reference writes a line: its key order, nanoseconds, a v5 id, numbers and an escape not chosen here.
LINE = (
    b'{"id":"7d444840-9dc0-51d1-b245-5ffdce74fad2","agent_id":"019a0000-0000-7000-8000-00000000ada0","content":"Caf\\u00e9",'
    b'"memory_type":"hunch","source":{"runtime":"openclaw","origin":"workspace"},'
    b'"temporal":{"created_at":"2026-02-10T14:30:00.123456789Z"},"status":"active","namespace":"daily",'
    b'"confidence":1e-1,"x-count":123456789012345678901234567890, "x-more":{"deep":[1.0,2e2]}}'
)
SECOND = LINE.replace(b"7d444840", b"7d444841")
FILE = "memory/2026-Q1.jsonl"


def manifest(**fields):
    return {
        "alf_version": "1.0.0",
        "created_at": "2026-02-24T12:00:00Z",
        "agent": {"id": AGENT_ID, "name": "Nova", "source_runtime": "openclaw", "x-agent": 1},
        "layers": {
            "identity": {"version": 1, "file": "identity.json"},
            "principals": {"count": 1, "file": "principals.json"},
            "credentials": {"count": 1, "file": "credentials.json"},
            "memory": {
                "record_count": 2,
                "index_file": "memory/index.json",
                "partitions": [
                    {
                        "file": FILE,
                        "from": "2026-01-01",
                        "to": "2026-03-31",
                        "record_count": 2,
                        "sealed": False,
                        "x-p": 1,
                    }
                ],
                "has_embeddings": False,
                "has_raw_source": True,
            },
        },
        "raw_sources": ["openclaw"],
        **fields,
    }


def entries(document=None, **changed):
    found = {
        "identity.json": json_codec.encode_pretty(make_identity()),
        "principals.json": json_codec.encode_pretty(make_principals()),
        "credentials.json": json_codec.encode_pretty(make_credentials()),
        FILE: LINE + b"\n" + SECOND + b"\n",
        "raw/openclaw/SOUL.md": b"# Soul\n",
        **{name.replace("__", "/"): body for name, body in changed.items()},
        "manifest.json": json_codec.encode_pretty(document or manifest()),
    }
    return {name: body for name, body in found.items() if body is not None}


def zipped(bodies) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in bodies.items():
            archive.writestr(name, body)
    return out


def read(bodies) -> SnapshotReader:
    return SnapshotReader(zipped(bodies))


def rewritten(found: SnapshotReader) -> dict[str, bytes]:
    out = io.BytesIO()
    write_snapshot(found, out)
    with zipfile.ZipFile(out) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def again(bodies) -> dict[str, bytes]:
    with read(bodies) as found:
        return rewritten(found)


def test_the_reference_dialect_is_read_as_an_unsigned_state():
    with read(entries()) as found:
        found.check()
        assert (found.sequence.agent_id, found.sequence.number, found.sequence.digest) == (AGENT_ID, 0, b"")
        assert found.sequence.signature is None
        assert [record.line for record in found.records()] == [LINE, SECOND]
        assert found.warnings == ["the archive has no signature"]
        assert found.head["partitions"] == [
            {"file": FILE, "from": "2026-01-01", "to": "2026-03-31", "sealed": False, "x-p": 1}
        ]


def test_untouched_lines_and_files_survive_byte_for_byte():
    made = again(entries())
    original = entries()
    assert {name: made[name] for name in original if name != "manifest.json"} == {
        name: body for name, body in original.items() if name != "manifest.json"
    }
    assert "lifeboat/leaves.bin" not in made and "lifeboat/signature.json" not in made
    assert again(made) == made


def test_unknown_entries_and_fields_survive_everywhere():
    document = manifest(
        **{"x-top": {"a": 1}, "sync": {"last_sequence": 1247, "last_sync_at": "2026-02-24T12:00:00Z", "x-s": 2}}
    )
    document["layers"]["memory"]["x-memory"] = True
    document["layers"]["x-layer"] = {"file": "x/layer.json"}
    bodies = entries(
        document,
        x__layer=b"{}",
        **{
            "memory/index.json": b'{"x-index": [1]}',
            "attachments.json": b'{"attachments": [], "x-att": null, "artifact_size_threshold": 5}',
            "notes from elsewhere.bin": bytes(range(256)),
            "memory/embeddings/vectors.bin": b"\x00\x01",
        },
    )
    made = again(bodies)
    found = json.loads(made["manifest.json"])
    assert found["x-top"] == {"a": 1} and found["agent"] == document["agent"]
    assert found["sync"]["x-s"] == 2 and found["sync"]["last_sequence"] == 1247
    assert found["layers"]["memory"]["x-memory"] is True and found["layers"]["x-layer"] == {"file": "x/layer.json"}
    assert found["layers"]["memory"]["partitions"][0]["x-p"] == 1
    assert json.loads(made["memory/index.json"])["x-index"] == [1]
    attachments = json.loads(made["attachments.json"])
    assert (attachments["x-att"], attachments["artifact_size_threshold"]) == (None, 5)
    assert made["notes from elsewhere.bin"] == bytes(range(256))
    assert made["memory/embeddings/vectors.bin"] == b"\x00\x01"
    assert again(made) == made


def test_the_sequence_follows_from_the_sync_cursor():
    with read(entries(manifest(sync={"last_sequence": 1247}))) as found:
        assert (found.sequence.number, found.sequence.time) == (1247, "2026-02-24T12:00:00Z")


def test_two_readers_of_one_file_have_no_salt_in_common_but_each_is_stable():
    with read(entries()) as first, read(entries()) as second:
        assert list(first.entries()) == list(first.entries())
        assert list(first.records()) == list(first.records())
        salts = {item.leaf.salt for item in [*first.entries(), *first.records()]}
        assert len(salts) == 7
        assert not salts & {item.leaf.salt for item in [*second.entries(), *second.records()]}


def test_documents_are_found_where_the_manifest_says():
    document = manifest()
    document["layers"]["identity"]["file"] = "identity/identity.json"
    bodies = entries(
        document, **{"identity/identity.json": json_codec.encode_pretty(make_identity(4)), "identity.json": None}
    )
    with read(bodies) as found:
        assert found.entry("identity/identity.json") is None
        assert json.loads(found.body("identity.json"))["version"] == 4
    made = again(bodies)
    assert json.loads(made["manifest.json"])["layers"]["identity"] == {"version": 4, "file": "identity.json"}


def test_two_identities_are_refused():
    document = manifest()
    document["layers"]["identity"]["file"] = "identity/identity.json"
    with pytest.raises(BadDocument):
        read(entries(document, **{"identity/identity.json": b"{}"}))


@pytest.mark.parametrize("name", ["identity.json", "credentials.json", FILE])
def test_an_entry_that_the_manifest_names_must_be_there(name):
    bodies = entries()
    del bodies[name]
    with raises_code(ArchiveError.MISSING_ENTRY) as caught:
        read(bodies)
    assert caught.value.entry == name


def test_a_byte_order_mark_is_passed_over_with_a_warning():
    bom = b"\xef\xbb\xbf"
    bodies = {name: bom + body if name.endswith((".json", ".jsonl")) else body for name, body in entries().items()}
    with read(bodies) as found:
        assert next(found.records()).line == LINE
        found.check()
        marked = [warning for warning in found.warnings if "byte order mark" in warning]
        assert len(marked) == len(set(marked)) == 5
        made = rewritten(found)
    assert made["identity.json"] == bodies["identity.json"]
    assert json.loads(made["manifest.json"])["layers"]["identity"]["version"] == 1


def test_blank_lines_and_windows_line_ends_are_carried_or_passed_over():
    bodies = entries(**{FILE: LINE + b"\r\n\r\n" + SECOND})
    with read(bodies) as found:
        assert [record.line for record in found.records()] == [LINE + b"\r", SECOND]


def attachment(**fields):
    item = {
        "id": "019a0000-0000-7000-8000-0000000000d1",
        "filename": "shares.csv",
        "media_type": "text/csv",
        "size_bytes": 8,
        "hash": {"algorithm": "sha256", "value": "492d5ea496056f1a6a6592241032fab764c321596317930b4fa0e1e8bc3b7470"},
        "source_path": "workspace/shares.csv",
        "archive_path": "artifacts/shares.csv",
        "remote_ref": None,
        "referenced_by": [],
    }
    return {**item, **fields}


def with_attachments(*items, **changed):
    index = json_codec.encode_pretty({"artifact_size_threshold": 1024, "attachments": list(items)})
    return entries(**{"attachments.json": index, "artifacts/shares.csv": b"a,b\n1,2\n", **changed})


def test_attachments_of_the_specification_keep_every_field():
    listed = [
        attachment(),
        attachment(filename="d.png", source_path="workspace/images/d.png", archive_path=None, **{"x-note": "far"}),
        attachment(source_path="/elsewhere/abs.csv", archive_path=None, id="019a0000-0000-7000-8000-0000000000d2"),
        attachment(source_path="b.md5", archive_path=None, hash={"algorithm": "md5", "value": "00"}),
        attachment(archive_path="files/outside.txt", source_path="outside.txt", remote_ref="https://example.com/x"),
    ]
    bodies = with_attachments(*listed, **{"files/outside.txt": b"a,b\n1,2\n"})
    made = again(bodies)
    written = json.loads(made["attachments.json"])
    assert sorted(written["attachments"], key=str) == sorted(listed, key=str)
    assert made["files/outside.txt"] == b"a,b\n1,2\n"
    layer = json.loads(made["manifest.json"])["layers"]["attachments"]
    assert (layer["count"], layer["included_count"], layer["referenced_count"]) == (5, 2, 3)
    assert again(made) == made


def test_an_artifact_that_is_only_listed_has_no_bytes():
    with read(with_attachments(attachment(), attachment(source_path="images/d.png", archive_path=None))) as found:
        entry = found.entry("artifacts/images/d.png")
        assert entry is not None and (entry.leaf.digest, entry.size) == (ABSENT_LEAF, 8)
        with pytest.raises(BodyAbsent):
            found.body("artifacts/images/d.png")
        present = found.entry("artifacts/shares.csv")
        assert present is not None and present.meta["attachment"]["tier"] == 2


def test_an_artifact_is_held_against_its_hash_when_read():
    wrong = attachment(hash={"algorithm": "sha256", "value": "00" * 32})
    with read(with_attachments(wrong)) as found, raises_code(ArchiveError.CHECKSUM) as caught:
        found.body("artifacts/shares.csv")
    assert caught.value.entry == "artifacts/shares.csv"
    with raises_code(ArchiveError.CHECKSUM, match="size"):
        read(with_attachments(attachment(size_bytes=9)))


def test_an_index_that_names_unknown_files_is_warned_about():
    bodies = entries(**{"memory/index.json": json_codec.encode_pretty({"files": {"raw/openclaw/NOPE.md": ["a"]}})})
    with read(bodies) as found:
        assert any("NOPE" in warning for warning in found.warnings)


def test_a_partition_is_held_against_its_checksum():
    document = manifest()
    document["layers"]["memory"]["partitions"][0]["checksum"] = "sha256:" + "00" * 32
    with read(entries(document)) as found, raises_code(ArchiveError.CHECKSUM):
        list(found.records())


def test_an_empty_partition_that_is_not_there_is_no_error():
    document = manifest()
    gone = {"file": "memory/2025-Q4.jsonl", "from": "2025-10-01", "record_count": 0, "sealed": True}
    document["layers"]["memory"]["partitions"].insert(0, gone)
    with read(entries(document)) as found:
        found.check()
        assert [partition.file for partition in found.partitions] == ["memory/2025-Q4.jsonl", FILE]


def test_an_eleven_megabyte_section_case_twins_and_colons_are_carried():
    big = LINE.replace(b"Caf\\u00e9", b"x" * (11 << 20))
    bodies = entries(**{FILE: big + b"\n" + SECOND + b"\n", "raw/openclaw/soul.MD": b"1", "raw/openclaw/a:b.md": b"2"})
    made = again(bodies)
    assert made[FILE] == bodies[FILE]
    assert (made["raw/openclaw/soul.MD"], made["raw/openclaw/a:b.md"]) == (b"1", b"2")


def test_an_identity_wrapped_as_in_the_specification_s_example_is_read():
    made = again(entries(**{"identity.json": json_codec.encode_json({"identity": make_identity(6)})}))
    assert json.loads(made["manifest.json"])["layers"]["identity"]["version"] == 6
