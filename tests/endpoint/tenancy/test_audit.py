"""The audit of an endpoint is a chain that shows changes."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_endpoint.tenancy.audit_buffer import AuditBatch, AuditBuffer
from lifeboat_endpoint.tenancy.callers import Caller
from lifeboat_endpoint.tenancy.control import Control
from lifeboat_endpoint.tenancy.control_file import ControlFile
from lifeboat_vault import errors
from support.endpoint.keeping import RunningClock, clock, control
from support.patience import patience

__all__ = ["clock", "control"]

CALLER = Caller("tenant-1", "k7m2p9qa", "laptop", frozenset({"push", "pull"}))


def kinds(control: Control) -> list[str]:
    return [row.kind for row in control.audit_rows()]


def test_what_an_operator_does_is_in_the_audit_before_it_is_said_to_be_done(control: Control, tmp_path: Path) -> None:
    tenant = control.add_tenant("home")
    token, _ = control.add_token(tenant.id, "laptop", ["push"])
    control.revoke_token(token.id, by=CALLER)
    with contextlib.closing(sqlite3.connect(tmp_path / "control.db")) as other:
        found = [kind for (kind,) in other.execute("select kind from audit order by number")]
    assert found == ["endpoint.create", "tenant.add", "token.add", "token.revoke"]


def test_a_read_names_tenant_token_subject_and_counts(control: Control) -> None:
    control.note(CALLER, "snapshot.read", "agent-1", {"sequence": 4, "bytes": 900})
    row = list(control.audit_rows())[-1]
    assert (row.kind, row.subject) == ("snapshot.read", "agent-1")
    assert row.details == {"tenant": "tenant-1", "token": "k7m2p9qa", "sequence": 4, "bytes": 900}


def test_what_is_alike_within_a_batch_is_one_row_with_a_count(control: Control, clock: RunningClock) -> None:
    for _ in range(3):
        control.note(CALLER, "agent.read", "agent-1")
        clock.advance(seconds=1)
    control.note(CALLER, "agent.read", "agent-2")
    first, second = list(control.audit_rows())[-2:]
    assert (first.details["count"], first.details["until"]) == (3, "2026-11-20T12:00:02.000Z")
    assert second.subject == "agent-2" and "count" not in second.details


def test_closing_writes_what_was_gathered(control: Control, tmp_path: Path, clock: RunningClock) -> None:
    other = Control(ControlFile(tmp_path / "control.db"), clock=clock)
    other.note(CALLER, "agent.read", "agent-1")
    other.close()
    assert kinds(control)[-1] == "agent.read"


def test_a_full_batch_is_written_without_waiting() -> None:
    written: list[AuditBatch] = []
    notes = AuditBuffer(written.append, seconds=3600, most=2)
    notes.add("read", "a", {}, "2026-11-20T12:00:00.000Z")
    assert written == []
    notes.add("read", "b", {}, "2026-11-20T12:00:00.000Z")
    assert len(written[0].rows) == 2
    notes.close()


def test_what_was_gathered_is_written_in_time_without_anybody_asking() -> None:
    written = threading.Event()
    notes = AuditBuffer(lambda _: written.set(), seconds=0.01)
    notes.used("k7m2p9qa", "2026-11-20T12:00:00.000Z")
    assert written.wait(patience())
    notes.close()


def test_rows_that_no_room_was_left_for_are_counted(monkeypatch: pytest.MonkeyPatch, control: Control) -> None:
    monkeypatch.setattr("lifeboat_endpoint.tenancy.audit_buffer.MOST_KEPT", 2)
    for number in range(5):
        control.note(CALLER, "read", f"agent-{number}")
    last = list(control.audit_rows())[-1]
    assert (last.kind, last.details) == ("audit.lost", {"rows": 3})


def test_what_cannot_be_written_is_kept_for_the_next_time() -> None:
    written: list[AuditBatch] = []
    is_full = True

    def write(batch: AuditBatch) -> None:
        if is_full:
            raise errors.VaultFull("no space")
        written.append(batch)

    notes = AuditBuffer(write, seconds=3600)
    notes.add("read", "a", {}, "2026-11-20T12:00:00.000Z")
    with pytest.raises(errors.VaultFull):
        notes.flush()
    notes.add("read", "a", {}, "2026-11-20T12:00:09.000Z")
    is_full = False
    notes.close()
    (row,) = written[0].rows.values()
    assert (row.count, row.first, row.last) == (2, "2026-11-20T12:00:00.000Z", "2026-11-20T12:00:09.000Z")


@pytest.mark.parametrize(
    "statement",
    [
        "update audit set subject = 'somebody else' where number = 2",
        "update audit set details = '{}' where number = 3",
        "delete from audit where number = 2",
        "delete from audit where number = 1",
        "update audit set hash = x'00' where number = 3",
    ],
)
def test_a_row_that_was_changed_or_removed_breaks_the_chain(control: Control, tmp_path: Path, statement: str) -> None:
    for name in ("one", "two", "three"):
        control.add_tenant(name)
    assert control.check_audit() == []
    with contextlib.closing(sqlite3.connect(tmp_path / "control.db")) as other:
        other.execute(statement)
        other.commit()
    assert control.check_audit() != []


def test_old_rows_go_and_the_chain_stays_whole(control: Control, clock: RunningClock) -> None:
    control.add_tenant("old")
    clock.advance(days=500)
    control.add_tenant("new")
    assert control.trim_audit(clock.now() - timedelta(days=400), 1000) == 2
    assert kinds(control) == ["tenant.add", "audit.trimmed"]
    assert control.check_audit() == []
    clock.advance(days=500)
    control.trim_audit(clock.now() - timedelta(days=400), 1000)
    assert control.check_audit() == []


def test_the_oldest_rows_beyond_the_most_that_stay_go(control: Control, clock: RunningClock) -> None:
    for number in range(10):
        control.add_tenant(f"tenant {number}")
    control.trim_audit(clock.now() - timedelta(days=400), 3)
    assert kinds(control) == ["tenant.add"] * 3 + ["audit.trimmed"]
    assert control.check_audit() == []


def test_rows_that_were_removed_by_hand_after_a_trimming_are_missed(
    control: Control, clock: RunningClock, tmp_path: Path
) -> None:
    for number in range(10):
        control.add_tenant(f"tenant {number}")
    control.trim_audit(clock.now() - timedelta(days=400), 5)
    with contextlib.closing(sqlite3.connect(tmp_path / "control.db")) as other:
        other.execute("delete from audit where number in (select min(number) from audit)")
        other.commit()
    assert control.check_audit() != []


def test_nothing_is_trimmed_where_nothing_is_old(control: Control, clock: RunningClock) -> None:
    control.add_tenant("home")
    assert control.trim_audit(clock.now() - timedelta(days=400), 1000) == 0
    assert kinds(control) == ["endpoint.create", "tenant.add"]


def test_the_newest_hash_changes_with_every_row(control: Control) -> None:
    before = control.audit_ends()
    control.add_tenant("home")
    after = control.audit_ends()
    assert before[:2] == (1, 1) and after[:2] == (1, 2) and before[2] != after[2]
