"""ALF §10.14: hard deletion, as far as it concerns files."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.embeddings import encode_float32
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_embedding, make_identity, make_principals, make_record
from support.alf.archive_files import ArchiveFile
from support.alf.packed_vectors import RecordVector, pack_vectors
from support.cli.cli_client import run

OLD, OLDER, NOW = "2026-05-04T08:00:00.000Z", "2026-02-04T08:00:00.000Z", "2026-11-20T12:00:00.000Z"


@pytest.fixture
def state() -> MemoryState:
    """A hundred records in a sealed quarter, three in an older one, two in the current one."""
    made = (
        MemoryState().put_document("identity.json", make_identity()).put_document("principals.json", make_principals())
    )
    made.add_all(make_record(f"Old fact number {number:03}.", created_at=OLD) for number in range(100))
    made.add_all(make_record(f"Older fact {number}.", created_at=OLDER) for number in range(3))
    made.add_all(make_record(f"Fact of today {number}.", created_at=NOW) for number in range(2))
    return made.seal("memory/partitions/2026-Q1.jsonl", "2026-03-31").seal(
        "memory/partitions/2026-Q2.jsonl", "2026-06-30"
    )


@pytest.fixture
def whole(state: MemoryState, tmp_path: Path) -> Path:
    return _written(state, tmp_path / "whole.alf")


def _written(state: MemoryState, path: Path) -> Path:
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path


def _ids(path: Path, *contents: str) -> list[str]:
    records = ArchiveFile(path).records
    return [next(item["id"] for item in records if item["content"] == content) for content in contents]


def _purge(path: Path, ids: list[str]) -> tuple[JsonObject, ArchiveFile]:
    target = path.with_name("purged.alf")
    chosen = [part for record_id in ids for part in ("--record", record_id)]
    return run("alf", "purge", path, *chosen, "-o", target), ArchiveFile(target)


def _partition(archive: ArchiveFile, name: str) -> JsonObject:
    return next(item for item in archive.partitions if name in item["file"])


def test_three_of_a_hundred_records_are_purged_from_a_file(whole: Path) -> None:
    gone = ["Old fact number 007.", "Old fact number 050.", "Old fact number 099."]
    ids = _ids(whole, *gone)
    audit, purged = _purge(whole, ids)
    partition = _partition(purged, "2026-Q2")
    data = purged.bodies[partition["file"]]
    assert partition["record_count"] == len(purged.lines(partition["file"])) == 97
    assert partition["checksum"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert data != ArchiveFile(whole).bodies[partition["file"]]
    for text in (*ids, *gone):
        assert [name for name, body in purged.bodies.items() if text.encode() in body] == []
    assert sorted(audit["record_ids"]) == sorted(ids)


def test_records_of_two_partitions_are_purged_independently(whole: Path) -> None:
    ids = _ids(whole, "Old fact number 001.", "Older fact 2.")
    audit, purged = _purge(whole, ids)
    assert [_partition(purged, name)["record_count"] for name in ("2026-Q1", "2026-Q2")] == [2, 99]
    assert sorted(audit["partitions_affected"]) == [
        "memory/partitions/2026-Q1.jsonl",
        "memory/partitions/2026-Q2.jsonl",
    ]


def test_a_record_of_the_current_partition_is_purged(whole: Path) -> None:
    audit, purged = _purge(whole, _ids(whole, "Fact of today 1."))
    current = purged.partitions[-1]
    assert [item["content"] for item in purged.lines(current["file"])] == ["Fact of today 0."]
    assert not current["sealed"]
    assert audit["partitions_affected"] == [current["file"]]


def test_a_purged_file_is_a_valid_archive_without_the_records(whole: Path) -> None:
    _, purged = _purge(whole, _ids(whole, "Old fact number 042."))
    assert run("alf", "validate", purged.path, "--strict")["ok"]
    assert len(purged.records) == 104


def test_the_audit_record_tells_nothing_of_the_content(whole: Path) -> None:
    ids = _ids(whole, "Older fact 0.")
    audit, _ = _purge(whole, ids)
    assert set(audit) == {
        "purge_id", "agent_id", "scope", "record_ids", "partitions_affected",
        "reason", "requested_at", "completed_at", "requested_by",
    }  # fmt: skip
    assert (audit["scope"], audit["reason"]) == ("record_purge", "user_request")
    assert audit["requested_by"] == make_principals()["principals"][0]["id"]
    assert "Older fact" not in str(audit)


def test_the_vectors_and_the_index_of_a_file_forget_the_record(state: MemoryState, tmp_path: Path) -> None:
    first, second = list(state.records("memory/partitions/2026-Q4.jsonl"))
    for path, body in pack_vectors(
        [RecordVector(each.partition, each.id, make_embedding([0.5, 0.25])) for each in (first, second)]
    ).items():
        state.put(path, body)
    state.put("raw/openclaw/MEMORY.md", b"Fact of today 0.\nFact of today 1.\n", records=[first.id, second.id])
    _, purged = _purge(_written(state, tmp_path / "whole.alf"), [first.id])
    assert [name for name, body in purged.bodies.items() if first.id.encode() in body] == []
    assert purged.bodies["raw/openclaw/MEMORY.md"] == b"\nFact of today 1.\n"
    assert purged.bodies["memory/embeddings/2026-Q4/0.bin"] == encode_float32([0.5, 0.25])


@pytest.mark.parametrize("named", [0, 1, 2])
def test_a_chain_goes_from_a_file_whole_and_nothing_older_comes_back(
    state: MemoryState, tmp_path: Path, named: int
) -> None:
    chain = [state.add(make_record("First text of a memory.", created_at=OLD))]
    for text in ("Second text of a memory.", "Third text of a memory."):
        chain.append(state.add(make_record(text, supersedes=chain[-1].id)))
    audit, purged = _purge(_written(state, tmp_path / "whole.alf"), [chain[named].id])
    assert audit["record_ids"] == sorted(each.id for each in chain)
    assert [item for item in purged.records if "text of a memory" in item["content"]] == []


@pytest.mark.parametrize("options", [(), ("--passage",)])
def test_a_text_from_standard_input_goes_from_every_entry_of_a_file(
    state: MemoryState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    state.add(make_record("The number is X1234567."))
    state.put("raw/openclaw/notes.json", b'{"a": "X12\\u00334567", "b": 1}')
    whole, target = _written(state, tmp_path / "whole.alf"), tmp_path / "purged.alf"
    monkeypatch.setattr("sys.stdin", io.StringIO("X1234567\n"))
    audit = run("alf", "purge", whole, "--text-stdin", *options, "-o", target)
    purged = ArchiveFile(target)
    assert [name for name, body in purged.bodies.items() if b"X1234567" in body] == []
    assert purged.bodies["raw/openclaw/notes.json"] == b'{"a": "", "b": 1}'
    assert len(purged.records) == (106 if options else 105)
    assert len(audit["record_ids"]) == (0 if options else 1) and "X1234567" not in str(audit)


def test_a_dry_run_counts_by_partition_and_file_and_masks_what_it_found(
    state: MemoryState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = state.add(make_record("The number is X1234567."))
    state.put("raw/openclaw/notes.md", b"a\nX1234567 and X7654321\n")
    whole = _written(state, tmp_path / "whole.alf")
    monkeypatch.setattr("sys.stdin", io.StringIO(r"X\d{7}"))
    said = run("alf", "purge", whole, "--pattern-stdin", "--dry-run")
    assert said["partitions"] == [{"file": made.partition, "records": 1}]
    assert said["files"] == [{"path": "raw/openclaw/notes.md", "matches": 2}]
    assert [(hit["where"], hit["line"], hit["masked"]) for hit in said["hits"]] == [
        ("raw/openclaw/notes.md", 2, "····67"),
        ("raw/openclaw/notes.md", 2, "····21"),
        (made.id, None, "····67"),
    ]
    assert list(tmp_path.iterdir()) == [whole]
