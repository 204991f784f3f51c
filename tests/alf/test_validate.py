"""Validation finds everything that is wrong with a file and says where."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import pytest

from lifeboat_alf import schemas
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.snapshot_manifest import entries_checksum
from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.memory.memory_records import ENUMS
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_alf.validation.validate_file import CAP, validate_archive
from support.alf.packed_vectors import RecordVector, pack_vectors
from support.alf.published_schemas import list_published_schemas, load_published_schema, validate_as_published
from support.json_schemas import jsonschema

PARTITION = "memory/partitions/2026-Q4.jsonl"


def archive(state):
    out = io.BytesIO()
    write_snapshot(state, out)
    return out.getvalue()


def edited(data, change=None, **entries):
    """Return an archive with entries replaced or added (None: removed), and a matching entry map and checksums."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        bodies = {name: file.read(name) for name in file.namelist()}
    bodies = {name: body for name, body in {**bodies, **entries}.items() if body is not None}
    manifest = json.loads(bodies.pop(archive_layout.MANIFEST))
    digests = {
        name: hashlib.sha256(body).hexdigest() for name, body in bodies.items() if name != archive_layout.DELTA_MANIFEST
    }
    for item in manifest.get("layers", {}).get("memory", {}).get("partitions", []):
        if item["file"] in digests:
            item["checksum"] = "sha256:" + digests[item["file"]]
    manifest |= {"entries": digests, "checksum": entries_checksum(digests)}
    if change:
        change(manifest)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, body in {**bodies, archive_layout.MANIFEST: json.dumps(manifest).encode()}.items():
            file.writestr(name, body)
    return out.getvalue()


def found(data, strict=False):
    return validate_archive(io.BytesIO(data), strict)


def codes(findings):
    return {finding.code for finding in findings}


@pytest.fixture
def plain():
    """Return an unsigned archive, whose content can be changed without a signature telling."""
    state = sample_states.make_full_state()
    data = archive(state)
    return edited(data, **{archive_layout.SIGNATURE: None, archive_layout.LEAVES: None})


def test_what_we_write_is_valid_also_strictly(tmp_path):
    path = tmp_path / "a.alf"
    path.write_bytes(archive(sample_states.make_full_state()))
    result = validate_archive(path, strict=True)
    assert result.ok and result.to_json() == {
        "ok": True, "errors": [], "warnings": [], "error_count": 0, "warning_count": 0
    }  # fmt: skip


def test_a_delta_we_write_is_valid_also_strictly():
    out = io.BytesIO()
    write_delta(diff_states(MemoryState(), sample_states.make_full_state().copy(number=3)), out)
    assert found(out.getvalue(), strict=True).ok


def test_unknown_fields_and_entries_are_fine(plain):
    def change(manifest):
        manifest["x_field"] = {"a": 2**70}
        manifest["layers"]["x_layer"] = {"file": "x"}

    assert found(edited(plain, change, **{"x/unknown.bin": b"\x00"}), strict=True).ok


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("layers", "identity", "version"), 9, "wrong_fact"),
        (("layers", "principals", "count"), 9, "wrong_fact"),
        (("layers", "credentials", "count"), 0, "wrong_fact"),
        (("layers", "memory", "record_count"), 9, "wrong_fact"),
        (("layers", "memory", "has_embeddings"), True, "wrong_fact"),
        (("layers", "memory", "has_raw_source"), False, "wrong_fact"),
        (("layers", "memory", "partitions", 0, "record_count"), 9, "wrong_fact"),
        (("layers", "memory", "partitions", 0, "checksum"), "sha256:00", "checksum"),
        (("layers", "memory", "partitions", 0, "to"), None, "sealed_without_end"),
        (("layers", "memory", "partitions", 0, "to"), "2026-12-01", "overlap"),
        (("layers", "memory", "partitions", 1, "from"), "2026-11-21", "outside_partition"),
        (("layers", "memory", "partitions", 1, "from"), "soon", "shape"),
        (("layers", "attachments", "count"), 9, "wrong_fact"),
        (("layers", "attachments", "included_size_bytes"), 9, "wrong_fact"),
        (("layers", "attachments", "referenced_count"), 9, "wrong_fact"),
        (("layers", "identity", "file"), "who.json", "missing_entry"),
        (("agent", "name"), None, "shape"),
        (("sync", "last_sequence"), -1, "shape"),
        (("created_at",), "yesterday", "shape"),
        (("checksum",), "sha256:00", "checksum"),
        (("alf_version",), "2.0.0", "unsupported_version"),
        (("runtime_hints",), {"primary_model": 3, "last_model": "x"}, "shape"),
        (("raw_sources",), "openclaw", "shape"),
    ],
)
def test_every_wrong_field_of_the_manifest_is_an_error(plain, path, value, code):
    def change(manifest):
        target = manifest
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = value

    result = found(edited(plain, change))
    assert not result.ok and code in codes(result.errors)
    assert all(finding.entry for finding in result.errors)


@pytest.fixture
def with_vectors():
    state = sample_states.make_full_state()
    item = next(state.records())
    for path, body in pack_vectors(
        [RecordVector(item.partition, item.id, sample_states.make_embedding([0.5, 1.0]))]
    ).items():
        state.put(path, body)
    return archive(state)


def test_vectors_whose_index_fits_are_right(with_vectors):
    assert found(with_vectors, strict=True).ok


@pytest.mark.parametrize(
    ("suffix", "change", "code"),
    [
        (".bin", lambda body: None, "missing_entry"),
        (".bin", lambda body: body[:-1], "vectors"),
        (".json", lambda body: b"{", "vectors"),
        (".json", lambda body: body.replace(b'"dimensions":2', b'"dimensions":"2"'), "vectors"),
        (".json", lambda body: body.replace(b'"records":["', b'"records":["nobody'), "dangling"),
    ],
)
def test_vectors_whose_index_does_not_fit_are_a_warning(with_vectors, suffix, change, code):
    with zipfile.ZipFile(io.BytesIO(with_vectors)) as file:
        (name,) = (one for one in file.namelist() if one.startswith(archive_layout.EMBEDDINGS) and one.endswith(suffix))
        body = file.read(name)
    unproven = {archive_layout.LEAVES: None, archive_layout.SIGNATURE: None}
    result = found(edited(with_vectors, **{name: change(body)}, **unproven))
    assert result.ok and code in codes(result.warnings)


def lines(*records):
    return b"".join(json_codec.encode_json(record) + b"\n" for record in records)


@pytest.mark.parametrize(
    ("change", "error", "warning"),
    [
        ({"memory_type": "prophetic"}, None, "unknown_enum"),
        ({"status": "dreaming"}, None, "unknown_enum"),
        ({"source": {"runtime": "x", "extraction_method": "guessed"}}, None, "unknown_enum"),
        ({"entities": [{"name": "x", "type": "ghost"}]}, None, "unknown_enum"),
        ({"embeddings": [sample_states.make_embedding([1.0], source="oracle")]}, None, "unknown_enum"),
        ({"embeddings": [sample_states.make_embedding([1.0], dimensions=2)]}, "dimensions", None),
        ({"related_records": [{"id": sample_states.AGENT_ID, "relation": "caused_by"}]}, None, "dangling"),
        ({"supersedes": sample_states.AGENT_ID}, None, "dangling"),
        ({"supersedes": None}, "shape", None),
        ({"tags": None}, "shape", None),
        ({"content": ""}, "shape", None),
        ({"content": 7}, "shape", None),
        ({"confidence": 1.5}, "shape", None),
        ({"temporal": {"created_at": "2026-11-20"}}, "shape", None),
        ({"temporal": {"created_at": "2026-05-20T00:00:00Z"}}, "outside_partition", None),
        ({"id": "4c1f0f9a-98f7-4f19-9d33-3b6a1f6f6f00"}, None, "id_not_v7"),
        ({"id": "native-17"}, None, "not_a_uuid"),
        ({"agent_id": "4c1f0f9a-98f7-4f19-9d33-3b6a1f6f6f00"}, None, "other_agent"),
    ],
)
def test_every_wrong_record_is_named_with_its_line(change, error, warning):
    good, bad = sample_states.make_record("Good."), {**sample_states.make_record("Bad."), **change}
    state = MemoryState()
    state.add_all([good, {**good, "id": sample_states.make_record()["id"]}])
    unsigned = {archive_layout.SIGNATURE: None, archive_layout.LEAVES: None}

    def vectors(manifest):
        manifest["layers"]["memory"]["has_embeddings"] = "embeddings" in change

    data = edited(archive(state), vectors, **{PARTITION: lines(good, bad), **unsigned})
    result = found(data)
    assert codes(result.errors) >= ({error} if error else set())
    assert codes(result.warnings) >= ({warning} if warning else set())
    assert all(
        (finding.entry, finding.line) == (PARTITION, 2)
        for finding in [*result.errors, *result.warnings]
        if finding.code in (error, warning)
    )
    assert result.ok is (error is None) and not found(data, strict=True).ok


def test_an_id_that_stands_in_two_partitions_is_an_error():
    record = sample_states.make_record()
    state = MemoryState()
    state.add(record)
    state.add(sample_states.make_record(created_at="2026-05-03T00:00:00.000Z"))
    state.seal("memory/partitions/2026-Q2.jsonl", "2026-06-30")
    twin = {**record, "temporal": {"created_at": "2026-05-03T00:00:00.000Z"}}
    changed = {
        "memory/partitions/2026-Q2.jsonl": lines(twin),
        archive_layout.SIGNATURE: None,
        archive_layout.LEAVES: None,
    }
    assert codes(found(edited(archive(state), **changed)).errors) == {"duplicate_id"}


@pytest.mark.parametrize(
    ("line", "code"),
    [(b'{"id":1,"id":2}', "bad_json"), (b'{"id":NaN}', "bad_json"), (b"[]", "bad_json"), (b"{}", "shape")],
)
def test_a_line_that_is_no_strict_record_is_named(plain, line, code):
    result = found(edited(plain, **{PARTITION: line + b"\n"}))
    finding = next(item for item in result.errors if item.code == code)
    assert (finding.entry, finding.line) == (PARTITION, 1)
    assert str(finding).startswith(f"{PARTITION}, line 1: ")


def test_an_artifact_that_is_not_what_its_index_says_is_an_error(plain):
    result = found(edited(plain, **{"artifacts/shares.csv": b"a,b\n9,9\n"}))
    assert codes(result.errors) == {"checksum"}
    assert codes(found(edited(plain, **{"artifacts/shares.csv": None})).errors) == {"missing_entry"}


def test_an_index_of_records_that_are_not_there_is_an_error(plain):
    index = json_codec.encode_json(
        {"files": {"raw/openclaw/MEMORY.md": [sample_states.AGENT_ID], "raw/openclaw/gone.md": []}}
    )
    assert codes(found(edited(plain, **{archive_layout.MEMORY_INDEX: index})).errors) == {
        "unknown_record",
        "missing_entry",
    }


def test_enums_and_links_of_identity_principals_and_credentials_are_warned_about():
    people, sealed = sample_states.make_principals(), sample_states.make_credentials()
    people["principals"][0]["principal_type"] = "oracle"
    sealed["credentials"][0]["credential_type"] = "riddle"
    capability = {"name": "read", "portability": "floating", "credential_ids": [sample_states.AGENT_ID]}
    sub_agent = {"agent_id": None, "name": "s", "capabilities": [capability], "status": "asleep"}
    state = (
        MemoryState().put_document(archive_layout.PRINCIPALS, people).put_document(archive_layout.CREDENTIALS, sealed)
    )
    state.put_document(
        archive_layout.IDENTITY, sample_states.make_identity(capabilities=[capability], sub_agents=[sub_agent])
    )
    result = found(archive(state))
    assert result.ok and [finding.code for finding in result.warnings].count("unknown_enum") == 5
    assert [finding.code for finding in result.warnings].count("dangling") == 2
    assert not found(archive(state), strict=True).ok


def test_a_changed_byte_with_a_checksum_that_fits_is_found_by_the_digest():
    data = archive(sample_states.make_full_state())
    assert codes(found(edited(data, **{"raw/openclaw/SOUL.md": b"# Soul\n\nEvil.\n"})).errors) == {"signature"}


@pytest.mark.parametrize("data", [b"", b"not a zip", archive(sample_states.make_full_state())[:-30]])
def test_a_file_that_is_no_archive_is_a_finding(data):
    result = found(data)
    assert codes(result.errors) == {"not_an_archive"} and not result.ok


def test_findings_are_capped_and_counted():
    state = MemoryState()
    state.add_all(sample_states.make_record(str(number), status="odd") for number in range(CAP + 5))
    result = found(archive(state))
    assert len(result.warnings) == CAP and result.warning_count == CAP + 5


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ({"operation": "create", **sample_states.make_record(), "status": 3}, "shape"),
        ({"operation": "upsert", **sample_states.make_record()}, "unknown_operation"),
    ],
)
def test_a_delta_with_a_wrong_line_is_not_valid(line, code):
    a = MemoryState()
    b = a.copy()
    b.add(sample_states.make_record())
    out = io.BytesIO()
    write_delta(diff_states(a, b), out)
    result = found(edited(out.getvalue(), **{archive_layout.DELTA_RECORDS: lines(line)}))
    assert codes(result.errors) == {code}


# Schemas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(schemas.DOCUMENTS))
def test_the_shipped_schemas_are_those_of_the_types(name):
    assert schemas.load_schema(name) == schemas.generate_schema(name), "run: python -m lifeboat_alf.schemas"
    jsonschema.Draft202012Validator.check_schema(schemas.load_schema(name))


def documents():
    data = archive(sample_states.make_full_state())
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        for name in ("manifest", "identity", "principals", "credentials", "attachments"):
            yield name, json.loads(file.read(f"{name}.json"))
        for name in file.namelist():
            if name.startswith(archive_layout.PARTITIONS):
                yield from (("memory-record", json.loads(line)) for line in file.read(name).splitlines())
    out = io.BytesIO()
    write_delta(diff_states(MemoryState(), sample_states.make_full_state().copy()), out)
    with zipfile.ZipFile(out) as file:
        yield "delta-manifest", json.loads(file.read(archive_layout.MANIFEST))


def test_everything_written_is_valid_under_our_schemas_and_under_the_published_ones():
    checker = jsonschema.FormatChecker()
    for name, document in documents():
        own = jsonschema.Draft202012Validator(schemas.load_schema(name), format_checker=checker)
        own.validate(document)
        validate_as_published(name, document)


def test_the_enums_of_the_published_schemas_are_those_known_here():
    published = [
        tuple(sorted(values)) for name in list_published_schemas() for values in enums(load_published_schema(name))
    ]
    assert sorted(published) == sorted(tuple(sorted(enum.values)) for enum in ENUMS.values())


def enums(schema):
    if isinstance(schema, dict) and isinstance(schema.get("enum"), list):
        yield schema["enum"]
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from enums(value)
