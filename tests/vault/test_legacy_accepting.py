"""Pushes of clients that sign nothing are accepted as they are meant, numbered, and never replace what was there."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.errors import ApplyError, BadDocument, LifeboatError
from lifeboat_alf.memory import memory_records, partitions
from lifeboat_alf.memory.effective_view import effective_records
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.testing.sample_states import make_record as made_record
from lifeboat_vault.errors import RemoteRefused, StaleBase
from lifeboat_vault.legacy import legacy_pushes
from lifeboat_vault.legacy.legacy_state import legacy_view
from lifeboat_vault.vault import Draft, EntryPut, SequenceRow, Vault
from support.alf.any_shape import spoiled
from support.alf.raising import raises_code
from support.endpoint import reference_archives as reference
from support.vault.vaults import ManualClock

MEMORY = "# Memory\n\n## Tea\n\nLikes tea.\n\n## Home\n\nLives in Lisbon.\n"
DAY = 1_790_000_000_000_000_000
"""A time in September 2026, in nanoseconds: what that client takes for the day of a note."""


def note(workspace: Path, path: str, text: str, at: int = DAY) -> None:
    target = workspace / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.encode())
    os.utime(target, ns=(at, at))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    note(folder, "SOUL.md", "# Ada\n\nCurious and kind.\n")
    note(folder, "USER.md", "# Robin\n")
    note(folder, "MEMORY.md", MEMORY)
    note(folder, "memory/2026-11-02.md", "## Morning\n\nWatered the plants.\n")
    return folder


@pytest.fixture
def vault(tmp_path: Path, workspace: Path) -> Iterator[Vault]:
    with Vault.create(tmp_path / "vault", reference.agent_id(workspace), clock=ManualClock()) as made:
        yield made


def put(vault: Vault, archive: reference.Archive) -> SequenceRow:
    with SnapshotReader(io.BytesIO(reference.write_snapshot(archive))) as reader:
        return legacy_pushes.accept_snapshot(vault, reader, clock=ManualClock())


def send(vault: Vault, changes: list[tuple[str, JsonObject]], base: int = 0, **fields: Any) -> SequenceRow | None:
    manifest = {"created_at": "2026-11-20T12:00:00Z", "agent": {"id": vault.agent_id}, **fields}
    with DeltaReader(io.BytesIO(reference.write_delta(manifest, changes, base))) as reader:
        return legacy_pushes.accept_delta(vault, reader, base, clock=ManualClock())


def contents(vault: Vault) -> list[str]:
    """Return what that client would say is there."""
    found = (item.record for item in effective_records(vault.state()))
    return sorted(str(record["content"]) for record in found if not memory_records.is_deleted(record))


def parsed(vault: Vault) -> list[JsonObject]:
    return [memory_records.parse_record(record.line) for record in vault.state().records()]


def seal(vault: Vault) -> None:
    """Close all partitions, as a client does that makes one snapshot of many deltas."""
    head = json.loads(vault.state().body(archive_layout.MANIFEST))
    head["partitions"] = [{**item, "sealed": True} for item in head["partitions"]]
    put = EntryPut({}, json.dumps(head).encode())
    assert vault.commit(Draft({archive_layout.MANIFEST: put}), kind="snapshot", writer="x", time="2026-11-20T12:00:00Z")


# Snapshots ----------------------------------------------------------------------------------------------------------


def test_a_first_snapshot_is_the_sequence_0_and_holds_what_was_sent(vault: Vault, workspace: Path) -> None:
    archive = reference.export(workspace)
    row = put(vault, archive)
    assert (row.number, row.kind, row.signature) == (0, "snapshot", None)
    assert contents(vault) == sorted(record["content"] for record in archive.records)
    state = vault.state()
    assert {entry.path: state.body(entry.path) for entry in state.entries("raw/")} == archive.raw
    assert vault.verify(trusted=None).ok


def test_the_same_snapshot_again_changes_nothing_and_gives_the_head(vault: Vault, workspace: Path) -> None:
    archive = reference.export(workspace)
    assert put(vault, archive) == put(vault, archive)
    assert len(vault.sequences()) == 1


def test_a_snapshot_on_a_history_is_the_next_sequence_and_replaces_none(vault: Vault, workspace: Path) -> None:
    put(vault, reference.export(workspace))
    note(workspace, "MEMORY.md", MEMORY + "\n## New\n\nPlays the cello.\n")
    (workspace / "memory/2026-11-02.md").unlink()
    row = put(vault, reference.export(workspace))
    assert (row.number, row.base, row.kind) == (1, 0, "snapshot")
    assert contents(vault) == sorted(record["content"] for record in reference.export(workspace).records)
    assert vault.state(0).entry("raw/openclaw/memory/2026-11-02.md") is not None
    assert vault.state().entry("raw/openclaw/memory/2026-11-02.md") is None


def test_a_snapshot_of_another_agent_is_refused(vault: Vault, workspace: Path) -> None:
    archive = reference.export(workspace)
    archive.manifest["agent"]["id"] = "019a0000-0000-7000-8000-0000000000ff"
    with raises_code(ApplyError.WRONG_AGENT):
        put(vault, archive)


def test_a_redacted_settings_file_is_not_kept(vault: Vault, workspace: Path) -> None:
    archive = reference.export(workspace)
    archive.raw["raw/zeroclaw/config.toml"] = b'telegram = { bot_token = "not-redacted-because-inline" }\n'
    put(vault, archive)
    assert vault.state().entry("raw/zeroclaw/config.toml") is None


def test_credentials_that_say_only_what_they_are_for_are_kept(vault: Vault, workspace: Path) -> None:
    put(vault, _with_credential(reference.export(workspace), "<not-exported>"))
    assert vault.state().entry(archive_layout.CREDENTIALS) is not None


def test_a_credential_in_clear_is_refused_and_nothing_is_kept(vault: Vault, workspace: Path) -> None:
    with pytest.raises(RemoteRefused):
        put(vault, _with_credential(reference.export(workspace), "obviously-not-a-real-secret"))
    assert vault.head() is None


def _with_credential(archive: reference.Archive, payload: str) -> reference.Archive:
    encryption = {"algorithm": "none", "nonce": ""}
    credential = {"id": "019a0000-0000-7000-8000-0000000000c1", "service": "example", "credential_type": "custom"}
    credential |= {"encrypted_payload": payload, "encryption": encryption, "created_at": "2026-11-20T12:00:00Z"}
    archive.documents[archive_layout.CREDENTIALS] = {"credentials": [credential]}
    return archive


# Deltas -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def notes(vault: Vault, workspace: Path) -> list[JsonObject]:
    """Return the records of a first snapshot: preamble, Tea, Home, Morning."""
    archive = reference.export(workspace)
    put(vault, archive)
    return archive.records


def test_a_delta_is_the_sequence_after_its_base(vault: Vault, notes: list[JsonObject]) -> None:
    row = send(vault, [("update", {**notes[1], "content": "## Tea\n\nPrefers coffee.\n"})])
    assert row is not None and (row.number, row.base, row.kind) == (1, 0, "delta")
    assert "## Tea\n\nPrefers coffee.\n" in contents(vault)


def test_a_delta_on_another_base_is_stale_and_says_what_the_head_is(vault: Vault, notes: list[JsonObject]) -> None:
    with pytest.raises(StaleBase) as refused:
        send(vault, [("delete", notes[1])], base=7)
    assert refused.value.sequence == 0


def test_a_delta_for_an_agent_without_a_snapshot_is_stale(vault: Vault, workspace: Path) -> None:
    with pytest.raises(StaleBase) as refused:
        send(vault, [("create", reference.export(workspace).records[0])])
    assert refused.value.sequence is None


def test_a_deleted_record_of_an_open_partition_keeps_its_place(vault: Vault, notes: list[JsonObject]) -> None:
    send(vault, [("delete", notes[1])])
    assert notes[1]["content"] not in contents(vault)
    assert memory_records.is_deleted(next(record for record in parsed(vault) if record["id"] == notes[1]["id"]))


def test_a_deleted_record_that_is_created_again_is_back(vault: Vault, notes: list[JsonObject]) -> None:
    send(vault, [("delete", notes[1])])
    send(vault, [("create", notes[1])], base=1)
    assert notes[1]["content"] in contents(vault)


def test_what_that_client_ignores_makes_no_sequence(vault: Vault, notes: list[JsonObject]) -> None:
    unknown = {**notes[0], "id": "019a0000-0000-7000-8000-0000000000aa"}
    ignored = [
        ("create", {**notes[0], "content": "another text"}),
        ("update", unknown),
        ("delete", unknown),
        ("rename", notes[1]),
    ]
    assert send(vault, ignored) is None
    assert len(vault.sequences()) == 1


def test_a_record_that_a_delta_creates_is_not_changed_by_the_same_delta(vault: Vault, notes: list[JsonObject]) -> None:
    new = {**notes[0], "id": "019a0000-0000-7000-8000-0000000000aa", "content": "as created"}
    send(vault, [("create", new), ("update", {**new, "content": "later"}), ("delete", new), ("create", new)])
    assert "as created" in contents(vault) and "later" not in contents(vault)


def test_a_record_of_a_new_quarter_opens_a_partition_where_that_client_looks_for_it(
    vault: Vault, notes: list[JsonObject]
) -> None:
    temporal = {"created_at": "2026-04-02T00:00:00Z", "observed_at": "2026-04-02T00:00:00Z"}
    new = {**notes[0], "id": "019a0000-0000-7000-8000-0000000000aa", "temporal": temporal}
    send(vault, [("create", new)])
    found = vault.state().record(new["id"])
    assert found is not None and found.partition == "memory/2026-Q2.jsonl"
    head = json.loads(vault.state().body(archive_layout.MANIFEST))
    assert [item["from"] for item in head["partitions"]] == ["2026-04-01", "2026-07-01", "2026-10-01"]


def test_a_record_stays_in_its_partition_when_the_file_is_touched_in_another_quarter(
    vault: Vault, notes: list[JsonObject]
) -> None:
    touched = {**notes[1], "temporal": {"created_at": "2026-11-20T10:00:00Z", "updated_at": "2026-11-20T10:00:00Z"}}
    send(vault, [("update", touched)])
    head = json.loads(vault.state().body(archive_layout.MANIFEST))
    for record in vault.state().records():
        held = next(item for item in partitions.from_head(head) if item.file == record.partition)
        assert partitions.covers_day(
            held, partitions.day_of(memory_records.created_at(memory_records.parse_record(record.line)))
        )


def test_in_a_sealed_partition_a_change_is_a_successor_and_any_of_its_ids_names_the_memory(
    vault: Vault, notes: list[JsonObject]
) -> None:
    seal(vault)
    send(vault, [("update", {**notes[1], "content": "first edit"})], base=1)
    send(vault, [("update", {**notes[1], "content": "second edit"})], base=2)
    assert notes[1]["content"] not in contents(vault) and "first edit" not in contents(vault)
    assert "second edit" in contents(vault)
    assert notes[1] in parsed(vault)


def test_in_a_sealed_partition_a_deletion_is_a_tombstone_and_a_creation_takes_its_place(
    vault: Vault, notes: list[JsonObject]
) -> None:
    seal(vault)
    send(vault, [("delete", notes[1])], base=1)
    assert notes[1]["content"] not in contents(vault) and notes[1] in parsed(vault)
    send(vault, [("create", notes[1])], base=2)
    assert notes[1]["content"] in contents(vault)


def test_a_snapshot_that_says_what_a_sealed_memory_says_changes_no_record(
    vault: Vault, workspace: Path, notes: list[JsonObject]
) -> None:
    seal(vault)
    before = parsed(vault)
    put(vault, reference.export(workspace))
    assert parsed(vault) == before


def test_over_a_signed_state_nothing_is_written(vault: Vault, workspace: Path, notes: list[JsonObject]) -> None:
    signed = Draft({"raw/openclaw/SOUL.md": EntryPut({}, b"# Ada, signed\n")})
    vault.commit(signed, kind="capture", writer="laptop", time="2026-11-20T12:00:00Z", sign=lambda _: {"by": "a key"})
    assert legacy_pushes.is_adopted(vault)
    with pytest.raises(StaleBase) as refused:
        send(vault, [("delete", notes[1])], base=1)
    assert refused.value.sequence == 1
    with pytest.raises(StaleBase):
        put(vault, reference.export(workspace))


def test_once_a_device_has_begun_an_epoch_nothing_is_written_either(vault: Vault, notes: list[JsonObject]) -> None:
    vault.raise_epoch()
    with pytest.raises(StaleBase) as refused:
        send(vault, [("delete", notes[1])])
    assert refused.value.sequence == 0


def test_a_delta_that_another_client_outran_is_stale(vault: Vault, notes: list[JsonObject]) -> None:
    class Outrunning(ManualClock):
        """A clock that is asked when a delta is half made: then another client is quicker."""

        asked = 0

        def now(self) -> datetime:
            self.asked += 1
            if self.asked == 1:
                send(vault, [("delete", notes[2])])
            return super().now()

    manifest = {"created_at": "2026-11-20T12:00:00Z", "agent": {"id": vault.agent_id}}
    bundle = io.BytesIO(reference.write_delta(manifest, [("delete", notes[1])], 0))
    with DeltaReader(bundle) as reader, pytest.raises(StaleBase) as refused:
        legacy_pushes.accept_delta(vault, reader, 0, clock=Outrunning())
    assert refused.value.sequence == 1
    assert notes[1]["content"] in contents(vault)


def test_a_delta_whose_answer_was_lost_gives_the_head_when_it_is_sent_again(
    vault: Vault, notes: list[JsonObject]
) -> None:
    new = {**notes[0], "id": "019a0000-0000-7000-8000-0000000000aa", "content": "new"}
    changes = [("create", new), ("update", {**notes[1], "content": "## Tea"}), ("delete", notes[2])]
    made = send(vault, changes)
    assert send(vault, changes) == made
    assert len(vault.sequences()) == 2


def test_a_delta_of_which_the_head_says_only_a_part_or_more_is_stale(vault: Vault, notes: list[JsonObject]) -> None:
    send(vault, [("delete", notes[2]), ("update", {**notes[1], "content": "## Tea"})])
    for other in ([("delete", notes[2])], [("delete", notes[2]), ("delete", notes[1])]):
        with pytest.raises(StaleBase):
            send(vault, other)


BAD_PARTS: list[JsonObject] = [
    {"temporal": None},
    {"temporal": {}},
    {"temporal": {"created_at": "yesterday"}},
    {"temporal": {"created_at": "2026-11-20T12:00:00Z", "observed_at": 7}},
    {"temporal": {"created_at": "2026-11-20"}},
    {"content": 7},
    {"source": []},
]


@pytest.mark.parametrize("part", BAD_PARTS)
def test_a_record_that_is_none_is_refused_in_whatever_it_comes(
    vault: Vault, workspace: Path, tmp_path: Path, part: JsonObject
) -> None:
    archive = reference.export(workspace)
    bad = {**archive.records[0], **part}
    whole = _edited(reference.write_snapshot(archive), archive.records[0], bad)
    with SnapshotReader(io.BytesIO(whole)) as reader, pytest.raises(BadDocument):
        legacy_pushes.accept_snapshot(vault, reader, clock=ManualClock())
    assert vault.head() is None
    put(vault, archive)
    with pytest.raises(BadDocument):
        send(vault, [("update", bad)])
    with SnapshotReader(io.BytesIO(whole)) as reader, pytest.raises(BadDocument):
        legacy_pushes.accept_snapshot(vault, reader, clock=ManualClock())


def _edited(archive: bytes, old: JsonObject, new: JsonObject) -> bytes:
    """Return the archive with another line in place of a record's."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(_line(old), _line(new)))
    return out.getvalue()


def _line(record: JsonObject) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


# Of any shape ---------------------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(st.data())
def test_what_has_any_shape_is_taken_or_refused_with_an_error_of_the_project(data: st.DataObject) -> None:
    """Rubbish in one place of a snapshot's memory, and in one of a delta's."""
    memory = made_record("Likes tea.", tags=["drinks"], source={"runtime": "openclaw", "origin_file": "MEMORY.md"})
    number = str(memory["agent_id"])
    agent = {"id": number, "name": "Ada", "source_runtime": "openclaw"}
    manifest = {"alf_version": "1.0.0", "created_at": "2026-11-20T12:00:00Z", "agent": agent}
    whole = reference.write_snapshot(
        reference.Archive(manifest, [{**data.draw(spoiled(memory)), "temporal": memory["temporal"]}], {})
    )
    changed = data.draw(spoiled({**memory, "content": "Likes coffee."}))
    with (
        tempfile.TemporaryDirectory() as folder,
        Vault.create(Path(folder).resolve() / "vault", number, clock=ManualClock()) as made,
        contextlib.suppress(LifeboatError),
    ):
        with SnapshotReader(io.BytesIO(whole)) as reader:
            legacy_pushes.accept_snapshot(made, reader, clock=ManualClock())
        with DeltaReader(io.BytesIO(reference.write_delta(manifest, [("update", changed)], 0))) as delta:
            legacy_pushes.accept_delta(made, delta, 0, clock=ManualClock())
        write_snapshot(legacy_view(made.state()), io.BytesIO())
