"""The manifest: versions, the head and what is derived from it, checksums."""

from __future__ import annotations

import hashlib
import json

import pytest

from lifeboat_alf.archive import snapshot_manifest
from lifeboat_alf.archive.snapshot_manifest import ManifestContents
from lifeboat_alf.errors import ArchiveError, BadDocument
from lifeboat_alf.states.agent_state import Sequence
from lifeboat_alf.testing.sample_states import AGENT_ID, TIME, make_head
from support.alf.raising import raises_code

SEQUENCE = Sequence(AGENT_ID, 7, 6, 1, TIME, b"")


@pytest.mark.parametrize("version", ["1.0.0", "1.9.12", "1.0.0+build.5"])
def test_every_version_of_the_same_major_is_read(version):
    assert snapshot_manifest.check_version(version) == []


def test_a_draft_version_is_read_with_a_warning():
    assert len(snapshot_manifest.check_version("1.0.0-rc.1")) == 1


@pytest.mark.parametrize("version", ["2.0.0", "0.9.0", "10.0.0", "1.0", "one", "", None, 1, "1.0.0 "])
def test_other_versions_are_refused(version):
    with raises_code(ArchiveError.UNSUPPORTED_VERSION) as caught:
        snapshot_manifest.check_version(version)
    assert caught.value.entry == "manifest.json"


def test_the_checksum_covers_the_sorted_map_of_digests():
    digests = {"b": "22", "a": "11"}
    expected = hashlib.sha256(b'{"a":"11","b":"22"}').hexdigest()
    assert snapshot_manifest.entries_checksum(digests) == f"sha256:{expected}"


def contents() -> ManifestContents:
    return ManifestContents(
        identity_version=3,
        principals=1,
        credentials=2,
        record_counts={"memory/partitions/2026-Q4.jsonl": 5},
        has_index=True,
        raw_runtimes=["openclaw"],
        included=[10, 20],
        referenced=[1000],
    )


def full_head():
    partitions = [
        {"file": "memory/partitions/2026-Q3.jsonl", "from": "2026-07-01", "to": "2026-09-30", "sealed": True},
        {"file": "memory/partitions/2026-Q4.jsonl", "from": "2026-10-01", "to": None, "sealed": False, "x-hint": 1},
    ]
    return make_head(
        partitions=partitions, runtime_hints={"primary_model": "a/b", "last_model": "a/b"}, **{"x-new": [1]}
    )


def built(**head_fields):
    digests = {"memory/partitions/2026-Q4.jsonl": "ab" * 32, "identity.json": "cd" * 32}
    return snapshot_manifest.build_manifest({**full_head(), **head_fields}, SEQUENCE, contents(), digests)


def test_every_field_of_the_specification_is_filled():
    document = built()
    assert document["sync"] == {"last_sequence": 7, "last_sync_at": TIME}
    assert document["layers"]["identity"] == {"version": 3, "file": "identity.json"}
    assert document["layers"]["principals"] == {"count": 1, "file": "principals.json"}
    assert document["layers"]["credentials"] == {"count": 2, "file": "credentials.json"}
    assert document["layers"]["attachments"] == {
        "count": 3,
        "included_count": 2,
        "included_size_bytes": 30,
        "referenced_count": 1,
        "referenced_size_bytes": 1000,
        "file": "attachments.json",
    }
    memory = document["layers"]["memory"]
    assert (memory["record_count"], memory["has_embeddings"], memory["has_raw_source"]) == (5, False, True)
    assert (document["raw_sources"], document["raw_state"]) == (["openclaw"], {"openclaw": 7})
    assert (document["alf_version"], document["created_at"], document["x-new"]) == ("1.0.0", TIME, [1])


def test_partitions_are_listed_with_count_and_checksum_and_only_when_they_hold_records():
    assert built()["layers"]["memory"]["partitions"] == [
        {
            "file": "memory/partitions/2026-Q4.jsonl",
            "from": "2026-10-01",
            "to": None,
            "record_count": 5,
            "sealed": False,
            "checksum": "sha256:" + "ab" * 32,
            "x-hint": 1,
        }
    ]


def test_layers_without_content_are_omitted():
    document = snapshot_manifest.build_manifest(make_head(), SEQUENCE, ManifestContents(), {})
    assert document["layers"] == {}


def test_the_head_comes_back_without_what_follows_from_the_content():
    written = {**full_head(), "partitions": full_head()["partitions"][1:]}
    document = json.loads(json.dumps(built(partitions=written["partitions"])))
    assert json.dumps(snapshot_manifest.derive_head(document)) == json.dumps(written)


def test_unknown_fields_at_every_level_survive():
    document = built()
    document["layers"]["memory"]["x-memory"] = 1
    document["layers"]["x-layer"] = {"file": "x.json"}
    document["sync"]["x-sync"] = True
    found = snapshot_manifest.derive_head(document)
    again = snapshot_manifest.build_manifest(found, SEQUENCE, contents(), document["entries"])
    assert again == document


def test_raw_of_another_runtime_keeps_the_sequence_it_was_captured_at():
    document = built(raw_state={"zeroclaw": 3})
    assert document["raw_state"] == {"openclaw": 7, "zeroclaw": 3}
    assert snapshot_manifest.derive_head(document)["raw_state"] == {"zeroclaw": 3}


@pytest.mark.parametrize(
    "change",
    [
        {"agent": None},
        {"agent": {"name": "x"}},
        {"agent": {"id": 5}},
        {"layers": []},
        {"layers": {"memory": {"partitions": {}}}},
        {"layers": {"memory": {"partitions": [{"file": "a"}]}}},
        {"layers": {"memory": {"partitions": [{"file": "a", "from": "2026-01-01", "record_count": -1}]}}},
        {"layers": {"memory": {"partitions": [{"file": "a", "from": "2026-01-01", "record_count": True}]}}},
        {"layers": {"memory": {"partitions": [{"file": "a", "from": "2026-01-01", "to": 5}]}}},
        {"layers": {"memory": {"partitions": [{"file": "a", "from": "2026-01-01"}] * 2}}},
        {"layers": {"identity": {"file": 7}}},
        {"layers": {"identity": "x"}},
        {"sync": {"last_sequence": "7"}},
        {"sync": {"last_sequence": -1}},
        {"sync": []},
        {"raw_sources": "openclaw"},
        {"raw_sources": [1]},
        {"raw_state": 4},
    ],
)
def test_a_manifest_of_another_shape_is_refused_by_name(change):
    with pytest.raises(BadDocument) as caught:
        snapshot_manifest.check_manifest({**built(), **change})
    assert caught.value.entry == "manifest.json"


def test_what_is_odd_but_readable_is_warned_about():
    document = built()
    assert snapshot_manifest.check_manifest(document) == []
    del document["entries"], document["created_at"]
    assert len(snapshot_manifest.check_manifest(document)) == 2


def test_the_entry_map_is_held_against_checksum_and_names():
    document = built()
    names = [*document["entries"], "manifest.json"]
    assert snapshot_manifest.check_entries(document, names) == document["entries"]
    with raises_code(ArchiveError.MISSING_ENTRY, match=r"identity\.json"):
        snapshot_manifest.check_entries(document, ["memory/partitions/2026-Q4.jsonl"])
    with raises_code(ArchiveError.CHECKSUM, match=r"smuggled\.md"):
        snapshot_manifest.check_entries(document, [*names, "smuggled.md"])
    with raises_code(ArchiveError.CHECKSUM):
        snapshot_manifest.check_entries({**document, "checksum": "sha256:00"}, names)
    for entries in ([], {"a": 1}):
        with pytest.raises(BadDocument):
            snapshot_manifest.check_entries({**document, "entries": entries}, names)


def test_an_archive_without_entry_map_gives_none():
    assert snapshot_manifest.check_entries({"checksum": "md5:00"}, ["a"]) == {}
