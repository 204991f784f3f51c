"""Create, edit, delete, archive and revive happen in place while a partition is open, and by appending once it is
sealed."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.memory import effective_view, memory_records, record_lifecycle
from lifeboat_alf.memory.partitions import PartitionLedger
from lifeboat_alf.memory.record_lifecycle import RecordContext
from lifeboat_alf.states.agent_state import Partition
from support.alf.published_schemas import validate_as_published

AGENT = "019a0000-0000-7000-8000-00000000ada0"
SEALED = Partition("memory/partitions/2026-Q3.jsonl", "2026-07-01", "2026-09-30", True)
OPEN = Partition("memory/partitions/2026-Q4.jsonl", "2026-10-01", None, False)
NOW = "2026-11-20T12:00:00.000Z"


@pytest.fixture
def scribe():
    ordinals = itertools.count()
    ledger = PartitionLedger([SEALED, OPEN], datetime(2026, 11, 20, 12, tzinfo=UTC))
    return RecordContext(AGENT, ledger, lambda *parts: ids.mint_id(bytes(32), *parts, ordinal=next(ordinals)), 3)


def made(scribe, wanted="2026-10-05", **fields):
    source = {"runtime": "openclaw", "origin_file": "memory/2026-10-05.md"}
    return memory_records.parse_record(
        record_lifecycle.create_record(scribe, "Likes tea.", {"source": source, **fields}, wanted).line
    )


def old(scribe, **fields):
    """Return a record of the sealed quarter, made under identity version 1."""
    record = made(scribe, **fields)
    record["temporal"]["created_at"] = "2026-08-03T00:00:00.000Z"
    record["source"]["identity_version"] = 1
    return record


def validate(line):
    validate_as_published("memory-record", json.loads(line))


def test_a_new_record_is_dated_with_its_own_day_and_the_identity_of_now(scribe):
    step = record_lifecycle.create_record(
        scribe, "Likes tea.", {"source": {"runtime": "openclaw"}, "tags": []}, "2026-10-05"
    )
    record = memory_records.parse_record(step.line)
    assert (step.operation, step.partition, step.id) == ("create", OPEN.file, record["id"])
    assert record["temporal"] == {"created_at": "2026-10-05T00:00:00.000Z"}
    assert record["source"]["identity_version"] == 3
    assert list(record) == [
        "id", "agent_id", "content", "memory_type", "source", "temporal", "status", "namespace"
    ]  # fmt: skip


def test_without_an_identity_the_lineage_is_absent(scribe):
    nobody = RecordContext(AGENT, scribe.ledger, scribe.mint)
    assert "identity_version" not in made(nobody)["source"]


def test_an_edit_in_an_open_partition_keeps_id_birth_lineage_and_unknown_fields(scribe):
    record = made(scribe, x_unknown={"a": None}, related_records=[{"id": AGENT, "relation": "caused_by"}])
    record["source"]["identity_version"] = 1
    step = record_lifecycle.edit_record(
        scribe, record, OPEN.file, "Likes coffee.", {"tags": ["drinks"], "source": {"origin": "x"}}
    )
    new = memory_records.parse_record(step.line)
    assert (step.operation, step.id, step.partition) == ("update", record["id"], OPEN.file)
    assert new["temporal"] == {"created_at": "2026-10-05T00:00:00.000Z", "updated_at": NOW}
    assert new["source"]["identity_version"] == 1
    assert new["x_unknown"] == {"a": None}
    assert new["related_records"] == record["related_records"]
    assert (new["content"], new["tags"], new["source"]["origin"]) == ("Likes coffee.", ["drinks"], "x")


def test_an_edit_never_fills_a_lineage_in_that_was_not_known(scribe):
    record = made(RecordContext(AGENT, scribe.ledger, scribe.mint))
    new = memory_records.parse_record(
        record_lifecycle.edit_record(scribe, record, OPEN.file, "x", {"source": {"identity_version": 9}}).line
    )
    assert "identity_version" not in new["source"]


def test_an_edit_drops_the_vectors_of_the_old_text_and_fields_set_to_none(scribe):
    record = made(scribe, embeddings=[{"model": "example/small"}], category="core")
    new = memory_records.parse_record(
        record_lifecycle.edit_record(scribe, record, OPEN.file, "Other.", {"category": None}).line
    )
    assert "embeddings" not in new and "category" not in new
    same = memory_records.parse_record(
        record_lifecycle.edit_record(scribe, record, OPEN.file, record["content"], {"tags": ["x"]}).line
    )
    assert same["embeddings"] == record["embeddings"]


def test_an_edit_of_a_sealed_record_appends_a_successor_of_its_own_time_and_identity(scribe):
    record = old(scribe, x_unknown=1)
    step = record_lifecycle.edit_record(scribe, record, SEALED.file, "Likes coffee.")
    new = memory_records.parse_record(step.line)
    assert (step.operation, step.partition) == ("create", OPEN.file)
    assert new["id"] != record["id"] and new["supersedes"] == record["id"]
    assert new["temporal"] == {"created_at": NOW, "observed_at": "2026-08-03T00:00:00.000Z"}
    assert (new["source"]["identity_version"], new["x_unknown"]) == (3, 1)


def test_a_deletion_in_an_open_partition_keeps_the_record_and_its_text(scribe):
    record = made(scribe)
    step = record_lifecycle.delete_record(scribe, record, OPEN.file)
    gone = memory_records.parse_record(step.line)
    assert (step.operation, step.id, gone["status"], gone["content"]) == (
        "delete", record["id"], "deleted", "Likes tea."
    )  # fmt: skip


def test_a_deletion_in_a_sealed_partition_appends_a_tombstone_without_the_text(scribe):
    record = old(scribe, namespace="work", memory_type="summary", tags=["secret-project"])
    step = record_lifecycle.delete_record(scribe, record, SEALED.file)
    tombstone = memory_records.parse_record(step.line)
    assert step.operation == "delete" and step.partition == OPEN.file
    assert tombstone["content"] == "[deleted]" and tombstone["supersedes"] == record["id"]
    assert {name: tombstone[name] for name in ("namespace", "memory_type", "source")} == {
        name: record[name] for name in ("namespace", "memory_type", "source")
    }
    assert b"tea" not in step.line and b"secret-project" not in step.line


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"memory_type": "preference"}, True),
        ({"memory_type": "procedural"}, True),
        ({"memory_type": "semantic", "category": "aimem:decision"}, True),
        ({"memory_type": "semantic", "x_aimem": {"memory_type": "identity"}}, True),
        ({"memory_type": "episodic", "pinned": True}, True),
        ({"memory_type": "episodic", "x_aimem": {"memory_type": "preference", "mapped_from": "preference"}}, False),
        ({"memory_type": "episodic"}, False),
        ({"memory_type": "unheard_of"}, False),
    ],
)
def test_what_may_not_go_without_the_users_word_is_archived_when_it_vanishes(scribe, fields, kept):
    step = record_lifecycle.retire_vanished_record(scribe, made(scribe, **fields), OPEN.file)
    record = memory_records.parse_record(step.line)
    assert (record["status"], record.get("missing_at_source")) == (("archived", True) if kept else ("deleted", None))


def test_confirming_a_vanished_record_deletes_it(scribe):
    archived = memory_records.parse_record(record_lifecycle.archive_record(scribe, made(scribe), OPEN.file).line)
    gone = memory_records.parse_record(record_lifecycle.delete_record(scribe, archived, OPEN.file).line)
    assert gone["status"] == "deleted" and "missing_at_source" not in gone


def test_a_record_that_comes_back_in_an_open_partition_is_itself_again(scribe):
    record = made(scribe)
    gone = memory_records.parse_record(record_lifecycle.delete_record(scribe, record, OPEN.file).line)
    back = record_lifecycle.revive_record(scribe, gone, OPEN.file)
    assert (back.operation, back.id) == ("update", record["id"])
    assert memory_records.parse_record(back.line)["status"] == "active"


@pytest.mark.parametrize("partition", [OPEN, SEALED])
def test_a_record_behind_a_tombstone_comes_back_whole(scribe, partition):
    record = old(scribe, tags=["drinks"])
    tombstone = memory_records.parse_record(record_lifecycle.delete_record(scribe, record, SEALED.file).line)
    back = memory_records.parse_record(record_lifecycle.revive_record(scribe, tombstone, partition.file, record).line)
    seen = list(effective_view.iterate_effective([record, tombstone, back] if partition.sealed else [record, back]))
    assert [(item.record["content"], item.record["status"]) for item in seen] == [("Likes tea.", "active")]
    assert back["tags"] == ["drinks"]
    assert back["temporal"]["created_at"] == NOW


def test_everything_made_here_is_what_the_published_schema_asks(scribe):
    record = made(scribe, tags=[], category=None, entities=[])
    sealed = old(scribe)
    tombstone = record_lifecycle.delete_record(scribe, sealed, SEALED.file)
    steps = [
        record_lifecycle.create_record(scribe, "New.", {"source": {"runtime": "openclaw"}}),
        record_lifecycle.edit_record(scribe, record, OPEN.file, "Edited."),
        record_lifecycle.edit_record(scribe, sealed, SEALED.file, "Edited."),
        record_lifecycle.delete_record(scribe, record, OPEN.file),
        tombstone,
        record_lifecycle.archive_record(scribe, sealed, SEALED.file),
        record_lifecycle.revive_record(scribe, memory_records.parse_record(tombstone.line), OPEN.file, sealed),
    ]
    for step in steps:
        validate(step.line)
        assert b"null" not in step.line
    assert len({step.id for step in steps}) == 5


def test_a_record_keeps_the_id_it_had_elsewhere_only_where_that_is_free(scribe):
    elsewhere = "019d4860-d9c0-7616-9716-0d8801123e99"
    free = [elsewhere]
    claiming = replace(scribe, claim=lambda wanted: wanted in free and not free.clear())
    steps = [record_lifecycle.create_record(claiming, "Likes tea.", {}, record_id=elsewhere) for _ in range(2)]
    assert steps[0].id == elsewhere
    assert steps[1].id != elsewhere
    assert record_lifecycle.create_record(scribe, "Likes tea.", {}, record_id=elsewhere).id != elsewhere


def test_an_id_derived_from_a_foreign_name_is_the_same_for_everybody():
    derived = ids.derive_id(1775035800000, "aimem\0urn:aimem:memoryai-prod:chunk-1")
    assert derived == "019d4860-d9c0-7616-9716-0d8801123e99"
    assert ids.is_version_7(ids.derive_id(-5, "x"))
    assert ids.is_version_7(ids.derive_id(1 << 60, "x"))
