"""The examples of the specification's text as whole archives are read, validated, applied and written again."""

from __future__ import annotations

import io
import json

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import identity_version
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.validation.validate_file import validate_archive
from support.alf import specification_examples as examples


def found(data: bytes, *, strict: bool = False):
    return validate_archive(io.BytesIO(data), strict)


def codes(findings) -> set[str]:
    return {finding.code for finding in findings}


def rewritten(state) -> bytes:
    out = io.BytesIO()
    write_snapshot(state, out)
    return out.getvalue()


def test_an_archive_as_the_text_writes_it_is_valid_and_its_outer_objects_are_warned_of():
    result = found(examples.archive(examples.entries()))
    assert result.ok, result.errors
    assert codes(result.warnings) == {"wrapped"} and result.warning_count == 2


def test_an_identity_with_an_outer_object_keeps_its_name_version_and_agent():
    with SnapshotReader(io.BytesIO(examples.archive(examples.entries()))) as state:
        identity = json.loads(state.body(archive_layout.IDENTITY))
        assert identity == examples.identity()["identity"]
        assert json.loads(state.body(archive_layout.CREDENTIALS)) == {
            "credentials": [examples.credential()["credential"]]
        }


def test_what_is_written_again_of_the_examples_is_valid_also_strictly():
    with SnapshotReader(io.BytesIO(examples.archive(examples.entries()))) as state:
        result = found(rewritten(state), strict=True)
    assert result.ok, [*result.errors, *result.warnings]


def test_a_delta_with_outer_objects_changes_the_identity_of_its_base():
    with (
        SnapshotReader(io.BytesIO(examples.archive(examples.entries()))) as base,
        DeltaReader(io.BytesIO(examples.archive(examples.delta_entries()))) as delta,
    ):
        state = AppliedState(base, delta)
        assert json.loads(state.body(archive_layout.IDENTITY))["structured"]["names"]["primary"] == "Rowan"
        result = found(rewritten(state), strict=True)
    assert result.ok, [*result.errors, *result.warnings]


def test_a_delta_as_the_text_writes_it_is_valid():
    result = found(examples.archive(examples.delta_entries()))
    assert result.ok, result.errors
    assert "wrapped" in codes(result.warnings)


def test_the_version_of_an_identity_with_an_outer_object_is_its_own():
    assert identity_version(examples.identity()) == 3


def test_fields_beside_the_outer_object_are_kept():
    entries = examples.entries()
    entries["identity.json"] = json.dumps({**examples.identity(), "x-more": 1}).encode()
    with SnapshotReader(io.BytesIO(examples.archive(entries))) as state:
        assert json.loads(state.body(archive_layout.IDENTITY))["x-more"] == 1


def _edited(name: str, change) -> bytes:
    entries = examples.entries()
    document = json.loads(entries[name])
    change(document)
    entries[name] = json.dumps(document).encode()
    return examples.archive(entries)


def _set(*path, value):
    def change(document):
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value

    return change


PROFILE = ("principals", 0, "profile")


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("identity.json", _set("identity", "agent_id", value=examples.OTHER_ID), "other_agent"),
        ("credentials.json", _set("credential", "agent_id", value=examples.OTHER_ID), "other_agent"),
        ("principals.json", _set(*PROFILE, "agent_id", value=examples.OTHER_ID), "other_agent"),
        ("principals.json", _set(*PROFILE, "principal_id", value=examples.OTHER_ID), "other_principal"),
        ("principals.json", _set(*PROFILE, "principal_id", value="robin"), "not_a_uuid"),
        ("principals.json", _set("principals", 0, "agent_id", value="robin"), "not_a_uuid"),
        ("credentials.json", _set("credential", "agent_id", value="juniper"), "not_a_uuid"),
        (
            "identity.json",
            _set("identity", "structured", "sub_agents", 0, "agent_id", value="research"),
            "not_a_uuid",
        ),
        (
            "identity.json",
            _set("identity", "structured", "capabilities", 0, "credential_ids", value=["a key"]),
            "not_a_uuid",
        ),
    ],
)
def test_every_id_that_leads_elsewhere_or_nowhere_is_warned_of(name, change, code):
    result = found(_edited(name, change))
    assert code in codes(result.warnings)


@pytest.mark.parametrize("algorithm", ["none", "None", "", "plaintext"])
def test_a_payload_that_no_algorithm_protects_is_an_error(algorithm):
    change = _set("credential", "encryption", "algorithm", value=algorithm)
    assert codes(found(_edited("credentials.json", change)).errors) == {"credential_in_clear"}


def test_the_placeholder_of_the_reference_client_is_no_payload_in_clear():
    def change(document):
        document["credential"]["encryption"] = {"algorithm": "none", "nonce": ""}
        document["credential"]["encrypted_payload"] = "<not-exported>"

    assert found(_edited("credentials.json", change)).ok


@pytest.mark.parametrize(("reference", "code"), [("no address", "not_a_uri"), ("https://example.com/a", None)])
def test_a_reference_to_a_copy_elsewhere_has_to_be_a_uri(reference, code):
    item = {
        "id": "019b0000-0000-7000-8000-00000000f001",
        "filename": "plan.pdf",
        "media_type": "application/pdf",
        "size_bytes": 5000000,
        "hash": {"algorithm": "sha256", "value": "ab" * 32},
        "source_path": "workspace/plan.pdf",
        "archive_path": None,
        "remote_ref": reference,
        "referenced_by": ["the plan"],
    }
    document = {"artifact_size_threshold": 102400, "attachments": [item]}
    data = examples.archive({**examples.entries(), "attachments.json": json.dumps(document).encode()})
    warned = [finding.code for finding in found(data).warnings]
    assert warned.count("not_a_uuid") == 1
    assert ("not_a_uri" in warned) is (code is not None)


def test_partitions_out_of_order_are_an_error():
    earlier = {"file": "memory/partitions/2026-Q3.jsonl", "from": "2026-07-01", "to": "2026-09-30"}

    def change(document):
        listed = document["layers"]["memory"]["partitions"]
        listed.append({**earlier, "record_count": 0, "sealed": True})

    assert codes(found(_edited("manifest.json", change)).errors) == {"order"}


def test_a_confidence_out_of_range_of_another_writer_is_a_warning():
    line = {**examples.record(), "confidence": 5.0}
    entries = examples.entries()
    lines = entries.pop("memory/partitions/2026-Q4.jsonl")
    manifest = json.loads(entries["manifest.json"])
    manifest["layers"]["memory"]["partitions"][0]["file"] = "memory/2026-Q4.jsonl"
    first = lines.splitlines()[0]
    entries["memory/2026-Q4.jsonl"] = first + b"\n" + json.dumps(line).encode() + b"\n"
    entries["manifest.json"] = json.dumps(manifest).encode()
    result = found(examples.archive(entries))
    assert result.ok, result.errors
    assert "confidence_range" in codes(result.warnings)
