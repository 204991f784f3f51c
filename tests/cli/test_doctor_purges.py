"""The doctor on purges: waiting and long pending ones, invalid receipts, and purged text that is still in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_cli.doctor import check_purges as purges
from lifeboat_core.purge import receipt_signing, receipt_store
from lifeboat_keys.signed.purge_receipt import VaultPurgeNote
from support.core.protected import Protected
from support.core.purge_receipt_home import WAITING, Purged


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Purged:
    return Purged(tmp_path_factory.mktemp("made"))


@pytest.fixture
def ada(made: Purged, tmp_path: Path) -> Purged:
    return made.copied(tmp_path / "copy")


def found(ada: Protected, subject: str) -> list[DoctorFinding]:
    return [one for one in purges.check(ada.context) if one.subject.startswith(subject)]


def pending(ada: Purged, message: str = "nobody answered") -> None:
    note = {"name": "office", "kind": "endpoint", "state": receipt_signing.PENDING, "message": message}
    receipt_signing.note_vault(ada.context, ada.receipt.id, VaultPurgeNote(id=WAITING, since="", **note))


def test_where_nothing_was_purged_there_is_nothing_to_say(tmp_path: Path) -> None:
    bert = Protected(tmp_path)
    bert.add()
    assert list(purges.check(bert.context)) == []


def test_receipts_that_hold_are_counted(ada: Purged) -> None:
    (one,) = found(ada, "receipts")
    assert one.level is DoctorLevel.OK and one.result.startswith("1 purge receipt ")


def test_a_purge_that_waits_is_no_fault_and_says_until_when(ada: Purged) -> None:
    (one,) = found(ada, "office")
    assert one.level is DoctorLevel.OK and "2026-11-13" in one.result and "receipts confirm" in one.result


def test_a_purge_whose_wait_was_over_long_ago_is_a_warning(ada: Purged) -> None:
    ada.clock.advance(days=2, hours=1)
    (one,) = found(ada, "office")
    assert one.level is DoctorLevel.WARNING and one.fix == f"lifeboat receipts show {ada.receipt.id}"


def test_a_purge_that_is_pending_since_today_is_no_fault(ada: Purged) -> None:
    ada.clock.advance(days=1)
    pending(ada)
    (one,) = found(ada, "office")
    assert one.level is DoctorLevel.OK and "nobody answered" in one.result


def test_a_purge_that_is_pending_for_more_than_a_day_is_a_warning(ada: Purged) -> None:
    ada.clock.advance(days=1)
    pending(ada)
    ada.clock.advance(hours=20)
    pending(ada, "still nobody")
    ada.clock.advance(hours=5)
    (one,) = found(ada, "office")
    assert one.level is DoctorLevel.WARNING and "still nobody" in one.result


def test_a_receipt_that_does_not_hold_is_an_error(ada: Purged) -> None:
    document = ada.document()
    document["here"]["undo_folders"] = 3
    receipt_store.locate_receipt(ada.context, ada.receipt.id).write_text(json.dumps(document))
    (one,) = found(ada, "receipt ")
    assert one.level is DoctorLevel.ERROR and one.fix == f"lifeboat receipts show {ada.receipt.id} --audit"


def test_a_receipt_that_cannot_be_read_is_an_error(ada: Purged) -> None:
    ada.damage_receipt()
    (one,) = found(ada, "receipt ")
    assert one.level is DoctorLevel.ERROR and ada.receipt.id in one.subject


# Keeping out ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept_out(tmp_path: Path) -> Purged:
    """Make a workspace that still contains the purged line, of which captures know."""
    return Purged(tmp_path / "kept")


def test_a_file_that_still_holds_what_was_purged_is_named(kept_out: Purged) -> None:
    kept_out.capture()
    (one,) = found(kept_out, "ada")
    assert one.level is DoctorLevel.WARNING and "MEMORY.md" in one.result and "30 days" in one.result


def test_until_when_a_clean_workspace_is_watched_is_told(kept_out: Purged) -> None:
    kept_out.write("MEMORY.md", "# Memory\n\n## Tea\n\nLikes green tea in the morning.\n")
    kept_out.capture()
    (one,) = found(kept_out, "ada")
    assert one.level is DoctorLevel.OK and "left out of captures until" in one.result
