"""An interrupted purge never happened, or the next process that opens the vault completes it."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.errors import VaultFull, VaultUnusable
from lifeboat_vault.store import disk_blobs
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.vault import Draft, EntryPut, Vault
from support.killing import killed_at
from support.vault.redacted_vaults import CANARY, DEVICE, TRUSTED, leaks, purge_of
from support.vault.vaults import START, commit, content_of, create

NOTE, OTHER = "raw/openclaw/memory.md", "raw/openclaw/other.bin"
BEFORE = (CrashPoint.THIN_REENCODED, CrashPoint.PURGE_REDACTED)
AFTER = (CrashPoint.PURGE_SWEPT,)


@pytest.fixture(autouse=True)
def small_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_blobs, "LARGEST_INLINE", 2_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a closed vault with the canary in a chain of patches, in a body file and in a record."""
    with Vault.create(tmp_path / "vault", AGENT_ID) as vault:
        text = b"".join(b"line %d of the note\n" % number for number in range(100))
        noise = os.urandom(3_000)
        for number in range(6):
            text += b"more\n" + (CANARY if number == 2 else b"")
            entries = {NOTE: EntryPut({}, text), OTHER: EntryPut({}, noise + CANARY)}
            records = [create(CANARY.decode())] if number == 0 else []
            moment = START + timedelta(minutes=number)
            commit(
                vault,
                Draft(entries, records),
                moment,
                sign=lambda made: sequence_signatures.sign_sequence(made, DEVICE),
            )
    return tmp_path / "vault"


def planned(folder: Path) -> Redaction:
    with Vault.open(folder) as vault:
        return purge_of(vault, CANARY)


def redact(folder: Path, redaction: Redaction) -> bool:
    with Vault.open(folder) as vault:
        return vault.redact(redaction).swept


def is_whole(folder: Path) -> None:
    with Vault.open(folder) as vault:
        assert vault.verify(trusted=TRUSTED).findings == [] and vault.check_audit() == []


@pytest.mark.parametrize("step", BEFORE)
def test_ended_before_it_was_committed_it_never_was(folder: Path, step: CrashPoint) -> None:
    redaction = planned(folder)
    with Vault.open(folder) as vault:
        before = [content_of(vault.state(number)) for number in range(6)]
    assert killed_at(lambda: redact(folder, redaction), step)
    with Vault.open(folder) as vault:
        assert len(vault.redactions) == 0
        assert [content_of(vault.state(number)) for number in range(6)] == before
    is_whole(folder)
    assert redact(folder, redaction) and leaks(folder) == []
    is_whole(folder)


@pytest.mark.parametrize("step", AFTER)
def test_ended_after_it_was_committed_the_next_to_open_the_vault_finishes_it(folder: Path, step: CrashPoint) -> None:
    redaction = planned(folder)
    assert killed_at(lambda: redact(folder, redaction), step)
    assert leaks(folder) != []
    Vault.open(folder).close()
    assert leaks(folder) == []
    is_whole(folder)
    with Vault.open(folder) as vault:
        assert vault.is_swept() and not vault.redact(redaction).fresh


def test_ended_after_the_files_were_rewritten_it_is_finished_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redaction = planned(folder)
    scrub = SqliteStore.scrub

    def end(store: SqliteStore, *, wait: bool = True) -> bool:
        scrub(store, wait=wait)
        os._exit(86)

    with monkeypatch.context() as patched:
        patched.setattr(SqliteStore, "scrub", end)
        assert killed_at(lambda: redact(folder, redaction), CrashPoint.PURGE_NOTED)
    with Vault.open(folder) as vault:
        assert vault.is_swept()
    assert leaks(folder) == []
    is_whole(folder)


def test_a_disk_that_is_full_while_the_files_are_rewritten_is_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(store: SqliteStore, *, wait: bool = True) -> bool:
        raise VaultFull("no space is left")

    with closing(Vault.open(folder)) as vault:
        with monkeypatch.context() as patched:
            patched.setattr(SqliteStore, "scrub", full)
            report = vault.redact(purge_of(vault, CANARY))
        assert report.fresh and not report.swept and not vault.is_swept()
        vault.compact()
        assert vault.is_swept()
        assert leaks(folder) == []


class FailingFiles(SystemFiles):
    """On request, writes a part of each new file and then fails."""

    reason: int | None = None

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        if self.reason is None:
            return super().write_new(path, data, mode=mode, sync=sync)
        super().write_new(path, data[:100], mode=mode, sync=sync)
        raise OSError(self.reason, os.strerror(self.reason), os.fspath(path))


@pytest.mark.parametrize(("reason", "error"), [(errno.ENOSPC, VaultFull), (errno.EIO, VaultUnusable)])
def test_what_is_left_of_a_body_cannot_be_written_and_nothing_happened(
    folder: Path, reason: int, error: type[Exception]
) -> None:
    redaction, files = planned(folder), FailingFiles()
    with Vault.open(folder, files=files) as vault:
        before = sorted((folder / "objects").iterdir())
        files.reason = reason
        with pytest.raises(error):
            vault.redact(redaction)
        assert len(vault.redactions) == 0 and sorted((folder / "objects").iterdir()) == before
        files.reason = None
        assert vault.redact(redaction).swept
    assert leaks(folder) == []
    is_whole(folder)


def test_a_full_disk_under_the_database_leaves_everything_as_it_was(folder: Path) -> None:
    with Vault.open(folder) as vault:
        redaction = purge_of(vault, CANARY)
        pages = vault._metadata.row("pragma page_count")
        assert pages is not None
        list(vault._metadata.rows(f"pragma max_page_count = {pages[0]}"))
        with pytest.raises(VaultFull):
            vault.redact(redaction, decisions={"keep_out": "x" * 100_000})
        assert len(vault.redactions) == 0 and CANARY in vault.state().body(OTHER)
        list(vault._metadata.rows("pragma max_page_count = 1000000"))
        assert vault.redact(redaction).swept
    assert leaks(folder) == []


def test_what_rests_on_a_damaged_body_does_not_keep_it_from_going(tmp_path: Path) -> None:
    """The note of the second day is a patch on that of the first, which is unreadable."""
    note = os.urandom(5_000)
    with Vault.create(tmp_path / "vault", AGENT_ID) as vault:
        for day, body in enumerate((note + CANARY, note + b"more")):
            commit(vault, Draft({NOTE: EntryPut({}, body)}), START + timedelta(days=day))
        redaction = purge_of(vault, CANARY)
        (file,) = (tmp_path / "vault" / "objects").iterdir()
        file.write_bytes(b"damaged" + CANARY)
        assert vault.redact(redaction).swept and vault.remaining(redaction) == 0
        assert "body" in {finding.kind for finding in vault.verify(trusted=TRUSTED).findings}
    assert leaks(tmp_path) == []


def test_a_damaged_body_goes_all_the_same(folder: Path) -> None:
    redaction = planned(folder)
    (file,) = (folder / "objects").iterdir()
    file.write_bytes(b"damaged" + CANARY)
    with Vault.open(folder) as vault:
        assert vault.redact(redaction).swept and vault.remaining(redaction) == 0
        assert list((folder / "objects").iterdir()) == []
    assert leaks(folder) == []
