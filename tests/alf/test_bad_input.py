"""Damaged and malicious input raises typed errors that name entry and line; legal oddities are kept."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lifeboat_alf.archive.zip_container import ContainerLimits
from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import AlfError, ArchiveError, BadDocument, BadJson, UnsafeEntry
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.testing.sample_states import AGENT_ID, TIME, MemoryState, make_full_state, make_identity, make_record
from support.alf.raising import raises_code

FILE = "memory/partitions/2026-Q4.jsonl"
LINE = json_codec.encode_json(make_record("Likes tea."))


def manifest(records: int = 1, **fields):
    partition = {"file": FILE, "from": "2026-10-01", "to": None, "record_count": records, "sealed": False}
    return {
        "alf_version": "1.0.0",
        "created_at": TIME,
        "agent": {"id": AGENT_ID, "name": "Ada", "source_runtime": "openclaw"},
        "layers": {"memory": {"record_count": records, "index_file": "memory/index.json", "partitions": [partition]}},
        **fields,
    }


def archive(document=None, lines=(LINE,), **more: bytes) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(
            "manifest.json", document if isinstance(document, bytes) else json_codec.encode_json(document or manifest())
        )
        file.writestr(FILE, b"".join(line + b"\n" for line in lines))
        for name, body in more.items():
            file.writestr(name, body)
    return out


def read_whole(source: io.BytesIO, limits: ContainerLimits | None = None) -> None:
    with SnapshotReader(source, limits) as found:
        found.check()


def test_the_archive_that_the_other_tests_spoil_is_good():
    read_whole(archive())


BAD_JSON = {
    "not a number": b'{"a": NaN}',
    "infinity": b'{"a": -Infinity}',
    "too large a number": b'{"a": 1e400}',
    "a key twice": b'{"a": 1, "a": 2}',
    "a key twice, deep": b'{"a": [{"b": 1, "\\u0062": 2}]}',
    "half a surrogate pair": b'{"a": "\\ud800"}',
    "bytes that are no UTF-8": b'{"a": "\xff"}',
    "half of it": b'{"a": ',
    "two values": b"{} {}",
    "a comment": b"{} // no",
    "single quotes": b"{'a': 1}",
    "a list": b"[]",
    "nothing": b"",
    "nesting without end": b'{"a":' * 100_000,
    "another encoding": '{"a": 1}'.encode("utf-16"),
}


@pytest.mark.parametrize("body", BAD_JSON.values(), ids=list(BAD_JSON))
@pytest.mark.parametrize(
    "name", ["identity.json", "principals.json", "attachments.json", "memory/index.json", "lifeboat/files.json"]
)
def test_a_document_that_is_not_strict_json_is_named(name, body):
    with pytest.raises(BadJson) as caught:
        read_whole(archive(**{name: body}))
    assert caught.value.entry == name


@pytest.mark.parametrize("body", BAD_JSON.values(), ids=list(BAD_JSON))
def test_a_manifest_that_is_not_strict_json_is_named(body):
    with pytest.raises(BadJson) as caught:
        read_whole(archive(body or b" "))
    assert caught.value.entry == "manifest.json"


@pytest.mark.parametrize(
    "body", [body for body in BAD_JSON.values() if body], ids=[name for name in BAD_JSON if BAD_JSON[name]]
)
def test_a_record_that_is_not_strict_json_is_named_with_its_line(body):
    spoiled = body.replace(b"\n", b" ")
    with pytest.raises(BadJson) as caught:
        read_whole(archive(manifest(3), [LINE, spoiled, LINE]))
    assert (caught.value.entry, caught.value.line) == (FILE, 2)


def test_history_is_strict_too():
    with pytest.raises(BadJson, match=r"history/identity/1\.json"):
        read_whole(archive(**{"history/identity/1.json": b"{"}))


@pytest.mark.parametrize("line", [b"{}", b'{"id": 5}', b'{"id": ""}', b'{"id": null}'])
def test_a_record_without_id_is_named_with_its_line(line):
    with pytest.raises(BadDocument) as caught:
        read_whole(archive(manifest(2), [LINE, line]))
    assert (caught.value.entry, caught.value.line) == (FILE, 2)


def test_a_line_over_the_limit_is_named():
    with raises_code(ArchiveError.TOO_LARGE) as caught:
        read_whole(archive(manifest(2), [LINE, LINE + b" " * 9000]), ContainerLimits(line=9000))
    assert (caught.value.entry, caught.value.line) == (FILE, 2)


@pytest.mark.parametrize(("declared", "lines"), [(1, 0), (1, 2), (3, 2)])
def test_another_number_of_records_than_declared_is_refused(declared, lines):
    records = [json_codec.encode_json(make_record(str(number))) for number in range(lines)]
    with pytest.raises(BadDocument) as caught:
        read_whole(archive(manifest(declared), records))
    assert caught.value.entry == FILE


def test_an_id_that_stands_twice_is_refused():
    with pytest.raises(BadDocument, match="two records have the id"):
        read_whole(archive(manifest(2), [LINE, LINE]))
    with (
        SnapshotReader(archive(manifest(2), [LINE, LINE])) as found,
        pytest.raises(BadDocument, match="two records have the id"),
    ):
        found.record("any")


@pytest.mark.parametrize("version", ["2.0.0", "0.3.0", "latest", None])
def test_another_major_version_is_refused(version):
    with raises_code(ArchiveError.UNSUPPORTED_VERSION):
        read_whole(archive(manifest(alf_version=version)))


def test_a_zip_without_manifest_is_refused_by_name():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("hello.txt", b"hi")
    with raises_code(ArchiveError.MISSING_ENTRY, match=r"manifest\.json"):
        read_whole(out)


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("attachments.json", {"attachments": {}}),
        ("attachments.json", {"attachments": [5]}),
        ("attachments.json", {"attachments": [{"size_bytes": -1}]}),
        ("attachments.json", {"attachments": [{"size_bytes": "9"}]}),
        ("attachments.json", {"attachments": [{"archive_path": 9}]}),
        ("attachments.json", {"attachments": [{"entry_path": 9}]}),
        ("attachments.json", {"attachments": [{"source_path": "a"}, {"source_path": "a"}]}),
        ("memory/index.json", {"files": []}),
        ("memory/index.json", {"files": {"raw/openclaw/.env": "x"}}),
        ("lifeboat/files.json", {"raw/a": 1}),
        ("lifeboat/files.json", {"raw/a": {"absent": {}}}),
        ("lifeboat/files.json", {"raw/a": {"absent": 7}}),
        ("lifeboat/cuts.json", {"raw/openclaw/.env": {}}),
        ("lifeboat/signature.json", {}),
        ("lifeboat/signature.json", {"sequence": {}, "signature": None}),
        ("lifeboat/head.json", {"agent": {"id": "somebody else"}}),
    ],
)
def test_a_document_of_another_shape_is_refused_by_name(name, document):
    with pytest.raises(BadDocument) as caught:
        read_whole(archive(**{name: json_codec.encode_json(document), "raw/openclaw/.env": b"A=\n"}))
    assert caught.value.entry == name


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("attachments.json", {"attachments": [{"archive_path": "../../etc/passwd"}]}),
        ("attachments.json", {"attachments": [{"entry_path": "/etc/passwd"}]}),
        ("lifeboat/files.json", {"../up": {"type": "folder"}}),
        ("lifeboat/files.json", {"a\\b": {"type": "folder"}}),
    ],
)
def test_a_document_cannot_name_a_path_that_an_entry_could_not_have(name, document):
    with pytest.raises(UnsafeEntry):
        read_whole(archive(**{name: json_codec.encode_json(document)}))


def test_a_file_that_only_a_document_speaks_of_is_missing():
    with raises_code(ArchiveError.MISSING_ENTRY, match=r"raw/openclaw/gone\.sh"):
        read_whole(archive(**{"lifeboat/files.json": b'{"raw/openclaw/gone.sh": {"executable": true}}'}))


@pytest.mark.parametrize("file", ["manifest.json", "attachments.json", "identity.json", "lifeboat/files.json"])
def test_a_partition_cannot_be_another_document(file):
    document = manifest()
    document["layers"]["memory"]["partitions"][0]["file"] = file
    with pytest.raises(BadDocument):
        read_whole(
            archive(document, **{"identity.json": json_codec.encode_json(make_identity()), "attachments.json": b"{}"})
        )


def test_a_layer_cannot_be_the_manifest():
    document = manifest()
    document["layers"]["identity"] = {"file": "manifest.json"}
    with pytest.raises(BadDocument):
        read_whole(archive(document))


def test_big_integers_survive_to_the_digit():
    number = 2**70 + 1
    state = MemoryState(**{"x-big": number})
    state.add(make_record("Counted.", **{"x-big": number}))
    state.put("raw/openclaw/a", b"", **{"x-big": number})
    out = io.BytesIO()
    write_snapshot(state, out)
    with SnapshotReader(out) as found:
        found.check()
        assert json.loads(next(found.records()).line)["x-big"] == number
        assert (found.head["x-big"], found.entries("raw/").__next__().meta) == (number, {"x-big": number})


# Damage ---------------------------------------------------------------------------------------------------------


def _whole() -> bytes:
    out = io.BytesIO()
    write_snapshot(make_full_state().copy(3).sign(lambda _: {"by": "device"}), out)
    return out.getvalue()


OURS = _whole()
FOREIGN = archive(
    **{"identity.json": json_codec.encode_json(make_identity()), "raw/openclaw/SOUL.md": b"# Soul\n"}
).getvalue()


def content(data: bytes):
    with SnapshotReader(io.BytesIO(data)) as found:
        found.check()
        entries = [(entry.path, entry.meta, entry.sha256) for entry in found.entries()]
        return entries, [(item.id, item.partition, item.line) for item in found.records()]


@pytest.mark.parametrize("whole", [OURS, FOREIGN], ids=["ours", "foreign"])
@settings(max_examples=60)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_truncated_snapshot_is_a_typed_error(whole, share):
    with pytest.raises(ArchiveError):
        content(whole[: int(len(whole) * share)])


@pytest.mark.parametrize("whole", [OURS, FOREIGN], ids=["ours", "foreign"])
@settings(max_examples=250)
@given(data=st.data())
def test_a_flipped_bit_is_a_typed_error_or_changes_nothing(whole, data):
    place = data.draw(st.integers(0, len(whole) * 8 - 1))
    spoiled = bytearray(whole)
    spoiled[place // 8] ^= 1 << place % 8
    try:
        found = content(bytes(spoiled))
    except AlfError:
        return
    assert found == content(whole)


@settings(max_examples=100)
@given(name=st.sampled_from(sorted(zipfile.ZipFile(io.BytesIO(OURS)).namelist())), body=st.binary(max_size=200))
def test_any_bytes_in_any_entry_are_a_typed_error(name, body):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(OURS)) as source, zipfile.ZipFile(out, "w") as target:
        for item in source.namelist():
            assume(item != name or source.read(item) != body)
            target.writestr(item, body if item == name else source.read(item))
    with pytest.raises(AlfError):
        content(out.getvalue())


def test_a_file_that_is_no_zip_at_all_is_refused(tmp_path):
    path = tmp_path / "notes.alf"
    path.write_text("just text\n" * 100)
    with raises_code(ArchiveError.NOT_AN_ARCHIVE):
        SnapshotReader(path)
    assert list(tmp_path.iterdir()) == [path]
