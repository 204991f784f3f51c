"""ALF §10.1: schema validation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing import sample_states
from lifeboat_alf.validation.validate_file import validate_archive
from support import reference
from support.alf import archive_files
from support.alf.archive_files import ArchiveFile
from support.alf.published_schemas import load_published_schema, validate_as_published
from support.cli.cli_client import run
from support.json_schemas import jsonschema

LAYERS = {
    "identity.json": "identity",
    "principals.json": "principals",
    "credentials.json": "credentials",
    "attachments.json": "attachments",
    "manifest.json": "manifest",
}


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    path = tmp_path / "agent.alf"
    with path.open("wb") as out:
        write_snapshot(sample_states.make_full_state(), out)
    return path


def _examples() -> Iterator[JsonObject]:
    """Every JSON object that the text of the specification shows."""
    text = reference.require("specs", "alf-1.0.0-rc.1.md").read_text()
    text = re.sub(r'([0-9a-f])\.\.\."', r'\1"', text)  # digests that were cut short for reading
    decoder, position = json.JSONDecoder(), 0
    while (start := text.find("\n{", position)) >= 0:
        try:
            value, end = decoder.raw_decode(text, start + 1)
        except ValueError:
            position = start + 1
        else:
            yield value
            position = end


def _part(name: str, definition: str) -> JsonObject:
    """One definition of a schema, with the others beside it."""
    schema = load_published_schema(name)
    return {**schema["$defs"][definition], "$defs": schema["$defs"]}


def _schema_for(example: JsonObject) -> tuple[JsonObject, JsonObject] | None:
    """An example, unwrapped, with the schema it has to obey; None for examples of parts."""
    if "identity" in example:
        return example["identity"], load_published_schema("identity")
    if "credential" in example:
        return {"credentials": [example["credential"]]}, load_published_schema("credentials")
    if "attachments" in example:
        return example, load_published_schema("attachments")
    if "alf_version" in example:
        return example, load_published_schema("manifest")
    if "principal_id" in example:
        return example, _part("principals", "PrincipalProfile")
    if "source" in example:
        return example["source"], _part("memory-record", "SourceProvenance")
    if "temporal" in example:
        return example["temporal"], _part("memory-record", "TemporalMetadata")
    if "runtime_hints" in example:
        return example["runtime_hints"], _part("manifest", "RuntimeHints")
    if "sub_agents" in example:
        return example["sub_agents"][0], _part("identity", "SubAgent")
    return None


def test_every_example_of_the_specification_is_valid() -> None:
    checked = [pair for pair in map(_schema_for, _examples()) if pair]
    assert len(checked) >= 9
    for example, schema in checked:
        jsonschema.validate(example, schema)


def test_every_layer_of_an_export_is_valid_under_its_schema(agent: Path, tmp_path: Path) -> None:
    target = tmp_path / "export.alf"
    run("alf", "export", "openclaw", agent, "-o", target)
    archive = ArchiveFile(target)
    for name, schema in LAYERS.items():
        validate_as_published(schema, archive.json(name))
    assert len(archive.records) > 10
    for record in archive.records:
        validate_as_published("memory-record", record)


def _with_record(snapshot: Path, change: JsonObject, *drop: str) -> Path:
    """The snapshot with its last record changed, as a tool without signatures would write it."""
    archive = ArchiveFile(snapshot)
    partition = archive.partitions[-1]["file"]
    *kept, last = archive.lines(partition)
    changed = {key: value for key, value in {**last, **change}.items() if key not in drop}
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in [*kept, changed])
    unsigned: dict[str, bytes | None] = {"lifeboat/leaves.bin": None, "lifeboat/signature.json": None}
    return archive_files.edit(snapshot, snapshot.with_name("edited.alf"), {**unsigned, partition: lines})


@pytest.mark.parametrize(
    "field", ["id", "agent_id", "content", "memory_type", "source", "temporal", "status", "namespace"]
)
def test_a_record_without_a_required_field_is_rejected(snapshot: Path, field: str) -> None:
    found = validate_archive(_with_record(snapshot, {}, field))
    assert not found.ok
    assert any(field in error and ".jsonl" in error for error in found.errors)


@pytest.mark.parametrize(
    ("field", "value"),
    [("content", 7), ("tags", "one"), ("source", "openclaw"), ("temporal", {"created_at": 3}), ("status", None)],
)
def test_a_record_with_a_wrong_type_is_rejected(snapshot: Path, field: str, value: Any) -> None:
    found = validate_archive(_with_record(snapshot, {field: value}))
    assert not found.ok
    assert any(".jsonl" in error for error in found.errors)


@pytest.mark.parametrize("field", ["memory_type", "status"])
def test_an_unknown_enum_value_is_a_warning_and_under_strict_an_error(snapshot: Path, field: str) -> None:
    """§8.2 forbids to reject such a record, so only a strict check does."""
    edited = _with_record(snapshot, {field: "prophetic"})
    tolerant = validate_archive(edited)
    assert tolerant.ok
    assert any("prophetic" in warning for warning in tolerant.warnings)
    assert not validate_archive(edited, strict=True).ok


def test_records_with_unknown_fields_are_accepted_and_kept(snapshot: Path, tmp_path: Path) -> None:
    edited = _with_record(snapshot, {"x_mood": {"valence": 0.25, "words": ["calm"]}})
    assert validate_archive(edited).ok
    from lifeboat_alf.snapshot import SnapshotReader

    again = tmp_path / "again.alf"
    with SnapshotReader(edited) as state, again.open("wb") as out:
        write_snapshot(state, out)
    assert ArchiveFile(again).records[-1]["x_mood"] == {"valence": 0.25, "words": ["calm"]}
