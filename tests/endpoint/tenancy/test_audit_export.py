"""The audit is exported line by line, and checked without the endpoint."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tracemalloc
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lifeboat_endpoint.tenancy import audit_export, audit_file
from lifeboat_endpoint.tenancy.callers import Caller
from lifeboat_endpoint.tenancy.control import Control
from lifeboat_vault import errors
from lifeboat_vault.rows.sequence_rows import AuditRow
from support.alf.raising import raises_code
from support.endpoint.keeping import RunningClock, clock, control
from support.flushes import Flushes, flushes

__all__ = ["clock", "control", "flushes"]

CALLER = Caller("0198aaaa-aaaa-7aaa-8aaa-aaaaaaaaaaaa", "k7m2p9qa", "laptop", frozenset({"push", "pull"}))


def exported(control: Control, after: int = 0, tenant: str | None = None) -> list[bytes]:
    lines: list[bytes] = []
    audit_export.export_audit(control, lines.append, after=after, tenant=tenant)
    return lines


def documents(lines: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def problems(lines: list[bytes]) -> list[str]:
    return audit_export.check_audit_export(lines).problems


@pytest.fixture
def busy(control: Control) -> Control:
    """Some tenants with audit rows."""
    for name in ("one", "two", "three"):
        control.add_tenant(name)
    control.record(CALLER, "snapshot.read", "agent-1", {"sequence": 4, "share": 0.5, "text": "ä\u2028"})
    return control


def test_a_row_is_a_line_that_says_all_of_it(busy: Control) -> None:
    *_, last, end = documents(exported(busy))
    assert (last["number"], last["kind"], last["subject"]) == (5, "snapshot.read", "agent-1")
    assert (last["tenant"], last["token"]) == (CALLER.tenant_id, CALLER.token_id)
    assert last["details"] == {"sequence": 4, "share": 0.5, "text": "ä\u2028"}
    assert end == {"end": 5, "hash": last["hash"], "rows": 5, "tenant": None}
    assert end["hash"] == busy.audit_ends()[2]


def test_a_whole_export_is_whole_far_from_the_endpoint(busy: Control) -> None:
    found = audit_export.check_audit_export(exported(busy))
    assert (found.is_whole, found.rows, found.first, found.last) == (True, 5, 1, 5)


def test_an_export_goes_on_where_the_last_one_ended(busy: Control) -> None:
    first = exported(busy)
    end = documents(first)[-1]["end"]
    assert documents(exported(busy, after=end)) == [{**documents(first)[-1], "rows": 0}]
    busy.add_tenant("four")
    second = exported(busy, after=end)
    assert [one.get("number") for one in documents(second)] == [6, None]
    assert audit_export.check_audit_export([*first, *second]).is_whole
    assert audit_export.check_audit_export(second).is_whole


def changed(line: bytes, **members: Any) -> bytes:
    return json.dumps({**json.loads(line), **members}).encode() + b"\n"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda lines: [*lines[:2], *lines[3:]], "row 3 of the audit export is missing"),
        (lambda lines: [*lines[:4], lines[5]], "row 5 of the audit export is missing"),
        (
            lambda lines: [lines[0], changed(lines[1], subject="somebody"), *lines[2:]],
            "row 2 of the audit export does not match its hash",
        ),
        (
            lambda lines: [lines[0], changed(lines[1], tenant="x"), *lines[2:]],
            "row 2 of the audit export does not match its hash",
        ),
        (lambda lines: [*lines[:3], lines[1], *lines[3:]], "row 2 of the audit export comes after row 3"),
        (
            lambda lines: lines[:-1],
            "the final line of the export is missing: the file was truncated, or another process is still writing it",
        ),
        (
            lambda lines: [*lines[:-1], changed(lines[-1], hash="00" * 32)],
            "the final line for row 5 does not match the rows before it",
        ),
        (lambda lines: [*lines[:-1], lines[-1][:-1]], "line 6 of the file is not a valid line of an audit export"),
        (
            lambda lines: [lines[0], b'"text"\n', *lines[1:]],
            "line 2 of the file is not a valid line of an audit export",
        ),
        (
            lambda lines: [lines[0], b"[" * 5000 + b"\n", *lines[1:]],
            "line 2 of the file is not a valid line of an audit export",
        ),
    ],
)
def test_what_was_changed_in_an_export_is_found(busy: Control, spoil: Any, said: str) -> None:
    assert said in problems(spoil(exported(busy)))


def test_a_row_that_was_written_anew_with_its_hash_does_not_follow(busy: Control) -> None:
    lines = exported(busy)
    line = audit_export.parse_audit_line(lines[2])
    assert line is not None and line.row is not None
    forged = AuditRow(3, line.row.time, "tenant.add", "somebody else", {}, b"")
    digest = audit_export.audit_chain.row_hash(line.previous, forged)
    lines[2] = changed(lines[2], subject="somebody else", tenant=None, details={}, hash=digest.hex())
    assert problems(lines) == ["row 4 of the audit export does not continue the hash chain"]


def test_of_one_tenant_rows_are_whole_and_none_is_missed(busy: Control) -> None:
    tenant = busy.tenant("two").id
    found = exported(busy, tenant=tenant)
    assert [one["subject"] for one in documents(found)[:-1]] == [tenant]
    assert documents(found)[-1] == {**documents(exported(busy))[-1], "rows": 1, "tenant": tenant}
    assert audit_export.check_audit_export(found).is_whole
    assert problems([changed(found[0], kind="other"), found[1]]) == [
        "row 3 of the audit export does not match its hash"
    ]


def test_of_one_tenant_a_row_that_is_missing_is_found_by_their_number(busy: Control) -> None:
    busy.record(None, "key.rotated", "0123", {"tenant": busy.tenant("two").id})
    found = exported(busy, tenant=busy.tenant("two").id)
    assert len(found) == 3 and audit_export.check_audit_export(found).is_whole
    for left in (found[1:], [found[0], found[2]]):
        assert problems(left) == ["the final line counts 2 rows up to row 6, but the file contains 1 of them"]


def test_rows_of_all_are_not_passed_off_as_those_of_one_tenant(busy: Control) -> None:
    lines = exported(busy)
    tenant = busy.tenant("two").id
    left = [*lines[:2], *lines[3:5], changed(lines[5], tenant=tenant, rows=4)]
    assert problems(left) == [f"the part of the export that ends at row 5 contains rows of other tenants than {tenant}"]


def test_an_export_of_what_was_trimmed_begins_where_the_audit_does(busy: Control, clock: RunningClock) -> None:
    clock.advance(days=500)
    busy.add_tenant("new")
    busy.trim_audit(clock.now() - timedelta(days=400), 1000)
    found = audit_export.check_audit_export(exported(busy))
    assert (found.is_whole, found.first) == (True, 6)


def test_an_export_of_a_broken_chain_shows_that_it_is_broken(busy: Control, tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "control.db")) as other:
        other.execute("delete from audit where number = 3")
        other.commit()
    assert "row 3 of the audit export is missing" in problems(exported(busy))


def test_a_moment_is_a_place_in_the_audit(busy: Control, clock: RunningClock) -> None:
    clock.advance(hours=1)
    busy.add_tenant("late")
    assert busy.audit_since(clock.now() - timedelta(minutes=30)) == 5
    assert busy.audit_since(clock.now() + timedelta(minutes=30)) == 6


# A file that grows ----------------------------------------------------------------------------------------------------


def written(control: Control, path: Path, tenant: str | None = None) -> int:
    with audit_file.open_audit_file(path, tenant) as place:
        after = 0 if place.last is None else place.last.number
        if place.last is not None:
            assert audit_file.check_follows(place.last, control) == 0
        return audit_export.export_audit(control, place.file.write, after=after, tenant=tenant).rows


def test_what_was_written_is_on_the_disk_when_it_is_done(busy: Control, tmp_path: Path, flushes: Flushes) -> None:
    path = tmp_path / "audit.jsonl"
    written(busy, path)
    assert ("file", path, path.stat().st_size) in flushes.seen and path.stat().st_size


def test_a_file_is_continued_and_stays_whole(busy: Control, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    assert [written(busy, path), written(busy, path)] == [5, 0]
    busy.add_tenant("four")
    assert written(busy, path) == 1
    found = audit_file.check_audit_file(path)
    assert (found.is_whole, found.rows, path.stat().st_mode & 0o777) == (True, 6, 0o600)


@pytest.mark.parametrize("left", [0, 1, 40, 330, 331, 700, 1100, 1500, 1700])
def test_a_file_that_was_cut_off_is_continued_from_its_last_whole_row(busy: Control, tmp_path: Path, left: int) -> None:
    path = tmp_path / "audit.jsonl"
    written(busy, path)
    path.write_bytes(path.read_bytes()[:left])
    written(busy, path)
    found = audit_file.check_audit_file(path)
    assert (found.problems, found.rows) == ([], 5)


def test_another_file_is_not_written_over(busy: Control, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for text in ("my notes\n", "no line feed"):
        path.write_text(text)
        with raises_code(errors.EndpointError.AUDIT_FILE_REFUSED):
            written(busy, path)
        assert path.read_text() == text


def test_a_file_of_another_tenant_or_another_history_is_refused(
    busy: Control, tmp_path: Path, clock: RunningClock
) -> None:
    path, one = tmp_path / "audit.jsonl", tmp_path / "one.jsonl"
    written(busy, one, tenant=busy.tenant("one").id)
    with raises_code(errors.EndpointError.AUDIT_FILE_REFUSED, match="for the tenant"):
        written(busy, one)
    busy.add_tenant("four")
    written(busy, path)
    with contextlib.closing(sqlite3.connect(tmp_path / "control.db")) as other:
        other.execute("delete from audit where number = 6")
        other.commit()
    with raises_code(errors.EndpointError.AUDIT_FILE_REFUSED, match="restored from an older backup"):
        written(busy, path)
    clock.advance(hours=1)
    busy.add_tenant("five")
    with raises_code(errors.EndpointError.AUDIT_FILE_REFUSED, match="was changed after the export"):
        written(busy, path)


def test_what_was_let_go_before_it_was_written_is_told(busy: Control, tmp_path: Path, clock: RunningClock) -> None:
    path = tmp_path / "audit.jsonl"
    written(busy, path)
    for name in ("four", "five"):
        busy.add_tenant(name)
    clock.advance(days=500)
    busy.add_tenant("six")
    busy.trim_audit(clock.now() - timedelta(days=400), 1000)
    with audit_file.open_audit_file(path, None) as place:
        assert place.last is not None
        assert audit_file.check_follows(place.last, busy) == 2


def test_one_process_at_a_time_writes_a_file(busy: Control, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with audit_file.open_audit_file(path, None), pytest.raises(errors.EndpointBusy):
        written(busy, path)


def test_many_rows_take_no_memory(tmp_path: Path) -> None:
    row = AuditRow(1, "2026-11-20T12:00:00.000Z", "snapshot.read", "agent-1", {"tenant": CALLER.tenant_id}, b"h" * 32)

    class Many:
        def audit_page(self, after: int, most: int) -> tuple[bytes, list[AuditRow]]:
            page = range(after + 1, min(after + most, 30_000) + 1)
            return b"p" * 32, [AuditRow(number, *_rest(row)) for number in page]

    with (tmp_path / "audit.jsonl").open("wb") as file:
        tracemalloc.start()
        audit_export.export_audit(Many(), file.write, after=0)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (tmp_path / "audit.jsonl").stat().st_size > 8_000_000
    assert most < 3_000_000


def _rest(row: AuditRow) -> tuple[Any, ...]:
    return row.time, row.kind, row.subject, row.details, row.hash
