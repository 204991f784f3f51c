"""Tests that every pair of stores under a vault must pass. Subclass in a test module and run pytest.

class TestMyStores(StoreConformance):
    def open_stores(self, folder):
        return MyMetadata(folder), MyBlobs(folder)
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import ByteEdit, LeafReplacement, Redaction
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import NO_SALT, SALT_BYTES, Leaf
from lifeboat_alf.testing.sample_states import AGENT_ID, first_day, make_head, make_record, quarter_file
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import redaction_signatures
from lifeboat_vault.at_rest.sealer import PLAIN, Sealer
from lifeboat_vault.errors import DraftInvalid, VaultBusy, VaultDamaged, VaultError
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, Retention, Vault
from lifeboat_vault.vault.vault_creation import create_tables

_START = datetime(2026, 10, 1, 12, tzinfo=UTC)
_SET = "insert into decision(key, value) values (?, ?)"
_GET = "select value from decision where key = ?"
_TOLD = "the-lamp-was-sold-in-may"
"""The text to purge."""
_LOSSES = (
    "delete from record where first < 5",
    "update record set position = position + 100 where first > 2",
    "delete from entry where first in (3, 4)",
    "update object set body = null where id in (select object from record)",
    "update object set salt = null where id in (select object from entry where first = 2)",
    "delete from record where last is null",
    "delete from bucket where number > 7",
    "update record set last = 99 where last is null",
    "update entry set first = 98 where last is null",
)
"""Damage to apply, one after the other, to the rows of a history of eight days."""
_KEYS = "select key from decision order by key"


class StoreConformance(ABC):
    """One test per promise of `MetadataStore` and `BlobStore`, and a whole history on both."""

    @abstractmethod
    def open_stores(self, folder: Path) -> tuple[MetadataStore, BlobStore]:
        """Return the pair in `folder`, created when missing. Several calls for one folder act as several processes."""

    def sealer(self) -> Sealer:
        """Return the sealer of the content; always the same one."""
        return PLAIN

    def files(self, folder: Path) -> list[Path]:
        """Return where everything is stored, as files or folders."""
        return [folder]

    leaves_remains: bool = False
    """Whether deleted rows may leave traces in the files of the store. If so, it only promises that nothing was ever
    written to them in plain text, which is tested with a `sealer`."""

    def _metadata(self, folder: Path) -> MetadataStore:
        metadata, _ = self.open_stores(folder)
        metadata.prepare()
        return metadata

    def _blobs(self, folder: Path) -> BlobStore:
        return self.open_stores(folder)[1]

    # Rows -------------------------------------------------------------------------------------------------------

    def test_what_was_committed_is_there_for_the_next_one(self, tmp_path: Path) -> None:
        first = self._metadata(tmp_path)
        with first.transaction():
            assert first.execute(_SET, ("key", "value")) == 1
        first.close()
        assert self._metadata(tmp_path).row(_GET, ("key",)) == ("value",)

    def test_a_transaction_that_fails_leaves_nothing(self, tmp_path: Path) -> None:
        metadata = self._metadata(tmp_path)

        def fail() -> None:
            with metadata.transaction():
                metadata.execute(_SET, ("key", "value"))
                raise KeyboardInterrupt

        assert isinstance(_raised(fail), KeyboardInterrupt)
        assert metadata.row(_GET, ("key",)) is None

    def test_a_broken_constraint_is_an_invalid_draft(self, tmp_path: Path) -> None:
        metadata = self._metadata(tmp_path)

        def break_it() -> None:
            with metadata.transaction():
                metadata.execute_many(_SET, [("key", "value"), ("key", "again")])

        assert isinstance(_raised(break_it), DraftInvalid)
        assert list(metadata.rows(_KEYS)) == []

    def test_a_row_cannot_name_an_object_that_is_not_there(self, tmp_path: Path) -> None:
        metadata = self._metadata(tmp_path)

        def break_it() -> None:
            with metadata.transaction():
                values = ("path", 7, "{}", 0, 0)
                metadata.execute("insert into entry(path, object, meta, bucket, first) values (?, ?, ?, ?, ?)", values)

        assert isinstance(_raised(break_it), DraftInvalid)

    def test_there_is_one_writer_at_a_time(self, tmp_path: Path) -> None:
        first, second = self._metadata(tmp_path), self._metadata(tmp_path)

        def write_too() -> None:
            with second.transaction(wait=False):
                second.execute(_SET, ("other", "value"))

        with first.transaction():
            first.execute(_SET, ("key", "value"))
            assert isinstance(_raised(write_too), VaultBusy)
            assert second.row(_GET, ("key",)) is None
        write_too()

    def test_a_snapshot_sees_one_moment(self, tmp_path: Path) -> None:
        reader, writer = self._metadata(tmp_path), self._metadata(tmp_path)
        with reader.snapshot():
            assert reader.row(_GET, ("key",)) is None
            with writer.transaction():
                writer.execute(_SET, ("key", "value"))
            assert reader.row(_GET, ("key",)) is None
        assert reader.row(_GET, ("key",)) == ("value",)

    def test_rows_are_streamed_while_other_statements_run(self, tmp_path: Path) -> None:
        metadata = self._metadata(tmp_path)
        with metadata.transaction():
            metadata.execute_many(_SET, ((f"{number:05}", str(number)) for number in range(1000)))
        values = [metadata.row(_GET, key) for key in metadata.rows(_KEYS)]
        assert values == [(str(number),) for number in range(1000)]

    def test_text_is_ordered_by_its_utf8_bytes(self, tmp_path: Path) -> None:
        metadata = self._metadata(tmp_path)
        keys = ["a", "A", "é", "z", "\uffff", "\U00010000", "a/b", "a.b", ""]
        with metadata.transaction():
            metadata.execute_many(_SET, [(key, "") for key in keys])
        assert [key for (key,) in metadata.rows(_KEYS)] == sorted(keys, key=str.encode)

    def test_bytes_and_large_numbers_survive(self, tmp_path: Path) -> None:
        metadata = self._metadata(tmp_path)
        body = bytes(range(256)) * 3
        with metadata.transaction():
            metadata.execute("insert into bucket(number, hash) values (?, ?)", (2**62, body))
        assert metadata.row("select number, hash from bucket") == (2**62, body)

    def test_space_is_counted_and_given_back_and_nothing_is_wrong(self, tmp_path: Path) -> None:
        metadata = self._metadata(tmp_path)
        with metadata.transaction():
            metadata.execute_many(_SET, ((str(number), "x" * 4000) for number in range(500)))
        full = metadata.size()
        with metadata.transaction():
            metadata.execute("delete from decision")
        metadata.compact()
        assert 0 < metadata.size() < full / 2 and full > 500 * 4000 and metadata.problems() == []

    def test_nothing_that_was_overwritten_or_deleted_is_left_in_a_file(self, tmp_path: Path) -> None:
        metadata = self._metadata(tmp_path)
        for size in (100, 900, 300, 2000, 40):  # growing and shrinking rows are moved from page to page
            with metadata.transaction():
                metadata.execute("delete from decision where key < '0200'")
                metadata.execute_many(
                    _SET, ((f"{number:04}", f"{_TOLD} {size} ".ljust(size, "x")) for number in range(200))
                )
        with metadata.transaction():
            metadata.execute("update decision set value = ''")
        assert metadata.scrub() is True
        assert not [row for row in metadata.rows("select value from decision") if _TOLD in row[0]]
        metadata.close()
        if not self.leaves_remains:
            assert _in_files(self.files(tmp_path), _TOLD.encode()) == []

    def test_who_is_reading_keeps_the_log_and_is_not_waited_for(self, tmp_path: Path) -> None:
        reader, writer = self._metadata(tmp_path), self._metadata(tmp_path)
        with writer.transaction():
            writer.execute(_SET, ("key", "value"))
        with reader.snapshot():
            assert reader.row(_GET, ("key",)) == ("value",)
            with writer.transaction():
                writer.execute("delete from decision")
            assert writer.scrub(wait=False) is self.leaves_remains
            assert reader.row(_GET, ("key",)) == ("value",)
        assert writer.scrub(wait=False) is True

    # Bodies -----------------------------------------------------------------------------------------------------

    def test_a_body_is_there_for_the_next_one(self, tmp_path: Path) -> None:
        first = self._blobs(tmp_path)
        first.put("0a", b"body" * 1000)
        first.put("0b", b"")
        first.flush()
        second = self._blobs(tmp_path)
        assert second.read("0a") == b"body" * 1000 and second.read("0b") == b""
        assert sorted(second.names()) == ["0a", "0b"] and second.size() == 4000

    def test_a_body_is_written_once(self, tmp_path: Path) -> None:
        blobs = self._blobs(tmp_path)
        blobs.put("0a", b"body")
        assert isinstance(_raised(lambda: blobs.put("0a", b"other")), VaultError)
        assert blobs.read("0a") == b"body"

    def test_a_missing_body_is_damage_and_removing_it_again_is_not(self, tmp_path: Path) -> None:
        blobs = self._blobs(tmp_path)
        blobs.put("0a", b"body")
        blobs.remove("0a")
        blobs.remove("0a")
        assert isinstance(_raised(lambda: blobs.read("0a")), VaultDamaged) and list(blobs.names()) == []

    # A vault on both stores -------------------------------------------------------------------------------------

    def test_a_history_is_kept_thinned_and_verified(self, tmp_path: Path) -> None:
        metadata, blobs = self.open_stores(tmp_path)
        create_tables(metadata, AGENT_ID, SystemClock(), sealer=self.sealer())
        vault = Vault(metadata, blobs, files=SystemFiles(), clock=SystemClock(), sealer=self.sealer())
        expected = [_lived(vault, day) for day in range(30)]
        assert [row.digest for row in vault.sequences()] == expected
        assert vault.changes(3, 20) and not vault.changes(5, 5)
        while vault.thin(Retention(), _START + timedelta(days=400)).dropped:
            pass
        kept = vault.sequences()
        assert len(kept) < 10 and all(row.digest == expected[row.number] for row in kept)
        assert all(merkle.state_digest(vault.state(row.number)) == row.digest for row in kept)
        assert vault.verify(trusted=None).findings == []

    def test_rows_that_are_lost_or_changed_are_put_back_from_snapshots(self, tmp_path: Path) -> None:
        metadata, blobs = self.open_stores(tmp_path)
        create_tables(metadata, AGENT_ID, SystemClock(), sealer=self.sealer())
        vault = Vault(metadata, blobs, files=SystemFiles(), clock=SystemClock(), sealer=self.sealer())
        begun = Draft({archive_layout.MANIFEST: EntryPut({}, _manifest())})
        vault.commit(begun, kind="capture", writer="test", time=_START)
        for day in range(8):
            _lived(vault, day)
        snapshots = [_snapshot(vault, row.number) for row in vault.sequences()]
        for statement in _LOSSES:
            with metadata.transaction():
                assert metadata.execute(statement) > 0
            vault.note_damage(vault.verify(trusted=None))
            assert vault.damaged_states()
            while damaged := vault.damaged_states():
                with SnapshotReader(io.BytesIO(snapshots[damaged[0]])) as reader:
                    vault.put_back(damaged[0], lambda: reader)
            assert vault.verify(trusted=None).findings == []
            assert [_snapshot(vault, row.number) for row in vault.sequences()] == snapshots
        _lived(vault, 8)
        assert vault.verify(trusted=None).findings == []

    def test_a_file_that_is_described_falsely_is_filled_by_its_leaf(self, tmp_path: Path) -> None:
        metadata, blobs = self.open_stores(tmp_path)
        create_tables(metadata, AGENT_ID, SystemClock(), sealer=self.sealer())
        vault = Vault(metadata, blobs, files=SystemFiles(), clock=SystemClock(), sealer=self.sealer())
        body = _noise(1)
        leaf, salts = merkle.new_leaf(body), (bytes(SALT_BYTES), NO_SALT)
        puts = {f"raw/{salt.hex()}.bin": EntryPut({}, None, Leaf(leaf.digest, salt), 7, "ab" * 32) for salt in salts}
        vault.commit(Draft({**puts}), kind="push", writer="test", time=_START)
        assert vault.artifacts.missing_leaves([leaf.digest]) == [leaf.digest]
        assert len(vault.verify(trusted=None).lacking) == len(puts)
        assert vault.artifacts.fill_leaf(leaf, body) and vault.artifacts.fill_leaf(leaf, body)
        assert vault.artifacts.missing_leaves([leaf.digest], read=True) == []
        found = vault.verify(trusted=None)
        assert (found.findings, found.lacking) == ([], {})
        for entry in vault.state().entries():
            assert (entry.leaf, entry.size) == (leaf, len(body))
            assert vault.state().body(entry.path) == body
        vault.close()

    def test_what_is_purged_is_in_no_file_and_every_digest_stays(self, tmp_path: Path) -> None:
        metadata, blobs = self.open_stores(tmp_path)
        create_tables(metadata, AGENT_ID, SystemClock(), sealer=self.sealer())
        vault = Vault(metadata, blobs, files=SystemFiles(), clock=SystemClock(), sealer=self.sealer())
        expected = [_lived(vault, day) for day in range(10)]
        expected += [_told(vault, day) for day in range(10, 14)]
        expected += [_lived(vault, day) for day in range(14, 20)]
        trusted, redaction = _purge_of(vault, _TOLD.encode())
        report = vault.redact(redaction)
        assert report.swept and report.objects == len(redaction.leaves) > 4 and vault.remaining(redaction) == 0
        assert [row.digest for row in vault.sequences()] == expected
        assert all(merkle.state_digest(vault.state(row.number)) == row.digest for row in vault.sequences())
        findings = vault.verify(trusted=trusted).findings
        vault.close()
        assert findings == []
        if not self.leaves_remains or self.sealer() is not PLAIN:
            assert _in_files(self.files(tmp_path), _TOLD.encode()) == []


def a_day(day: int) -> Draft:
    """Return a draft with a growing note, a new large file and a memory."""
    memory = make_record(f"Day {day} was fine.", created_at="2026-10-01T08:00:00.000Z")
    partition = quarter_file("2026-10-01T08:00:00.000Z")
    note = "\n".join(f"- day {number}: the lighthouse was lit at {number % 24}" for number in range(day * 40)).encode()
    entries = {"raw/note.md": EntryPut({}, note), "raw/large.bin": EntryPut({}, _noise(day))}
    return Draft(entries, [RecordPut("create", memory["id"], partition, json_codec.encode_json(memory))])


def time_of_day(day: int) -> datetime:
    return _START + timedelta(days=day)


def _lived(vault: Vault, day: int) -> bytes:
    """Commit one day and return the digest of the sequence."""
    made = vault.commit(a_day(day), kind="capture", writer="test", time=time_of_day(day))
    assert made is not None
    return made.digest


def _manifest() -> bytes:
    partition = quarter_file("2026-10-01T08:00:00.000Z")
    listed = [{"file": partition, "from": first_day(partition), "to": None, "sealed": False}]
    return json_codec.encode_pretty(make_head(AGENT_ID, name="Ada", partitions=listed))


def _snapshot(vault: Vault, number: int) -> bytes:
    out = io.BytesIO()
    write_snapshot(vault.state(number), out)
    return out.getvalue()


def _told(vault: Vault, day: int) -> bytes:
    """Commit a day on which the note, a large file and a memory contain the text to purge."""
    drafted = a_day(day)
    memory = make_record(_TOLD, created_at="2026-10-01T08:00:00.000Z")
    put = RecordPut("create", memory["id"], quarter_file("2026-10-01T08:00:00.000Z"), json_codec.encode_json(memory))
    entries = {path: put._replace(body=_TOLD.encode() + body) for path, put, body in _bodies(drafted)}
    made = vault.commit(Draft(entries, [*drafted.records, put]), kind="capture", writer="test", time=time_of_day(day))
    assert made is not None
    return made.digest


def _bodies(draft: Draft) -> Iterator[tuple[str, EntryPut, bytes]]:
    for path, put in draft.entries.items():
        if put is not None and isinstance(put.body, bytes):
            yield path, put, put.body


def _purge_of(vault: Vault, text: bytes) -> tuple[TrustedKeys, Redaction]:
    """Return a signed redaction of everything that contains a text, and its signer."""
    leaves: dict[bytes, LeafReplacement | None] = {}
    for item in vault.history():
        body = vault.read_object(item.object)
        if text in body:
            cut = redactions.replacement_of(body, [ByteEdit(body.index(text), len(text))])
            leaves[item.leaf.digest] = None if item.record_id else cut
    asked = time_of_day(30).isoformat()
    owner = UserKey.generate()
    made = Redaction(
        ids.make_id("2026-11-01T12:00:00.000Z"), AGENT_ID, redactions.RECORDS, "user_request", asked, "owner"
    )
    signed = redaction_signatures.sign_redaction(replace(made, leaves=leaves), DeviceKey.generate(owner))
    return TrustedKeys(owner.public), signed


def _in_files(places: list[Path], text: bytes) -> list[str]:
    """Return the names of the files, at any depth, that contain a text."""
    every = [path for place in places for path in ([place] if place.is_file() else place.rglob("*"))]
    return [path.name for path in every if path.is_file() and text in path.read_bytes()]


def _noise(day: int) -> bytes:
    """Return 300 KB that do not compress."""
    leaf, block = b"%d" % day, []
    for _ in range(300 << 5):
        leaf = merkle.merkle_root([leaf])
        block.append(leaf)
    return b"".join(block)


def _raised(action: Callable[[], object]) -> BaseException | None:
    try:
        action()
    except BaseException as error:
        return error
    return None
