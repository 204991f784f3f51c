"""An audit export in a file to which each run appends the new rows."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from lifeboat_alf.seams.file_operations import flush_to_disk
from lifeboat_endpoint.tenancy.audit_export import (
    LONGEST,
    AuditExportLine,
    AuditExportReport,
    AuditSource,
    check_audit_export,
    lines_of,
    parse_audit_line,
)
from lifeboat_vault.errors import EndpointBusy, EndpointError


class AuditFilePosition(NamedTuple):
    """Where to write: the end of `file`, after the line `last`, None at the beginning."""

    file: BinaryIO
    last: AuditExportLine | None


@contextlib.contextmanager
def open_audit_file(path: Path, tenant: str | None) -> Iterator[AuditFilePosition]:
    """Open an export to append to it, and write it to the disk at the end.

    A new file is readable by its owner only. In an existing one an incomplete last line is removed; it must be of the
    same tenant. A pipe is only written. Raises EndpointError.AUDIT_FILE_REFUSED, EndpointBusy if another process writes
    it, OSError.
    """
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        with path.open("wb") as pipe:
            yield AuditFilePosition(pipe, None)
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    with open(descriptor, "r+b") as file:
        _alone(file, path)
        last = _at_end(file, path)
        if last is not None and last.end is not None and last.end.tenant != tenant:
            whose = "for all tenants" if last.end.tenant is None else f"for the tenant {last.end.tenant}"
            raise EndpointError.AUDIT_FILE_REFUSED(f"{path} is an audit export {whose}; give another file")
        yield AuditFilePosition(file, last)
        file.flush()
        flush_to_disk(file.fileno())


def check_follows(last: AuditExportLine, found: AuditSource) -> int:
    """Return how many rows after the last line of a file were trimmed before any run wrote them.

    Raises EndpointError.AUDIT_FILE_REFUSED if the audit has another row there, or ends before it.
    """
    previous, rows = found.audit_page(last.number, 1)
    if rows and rows[0].number > last.number + 1:
        return rows[0].number - last.number - 1
    if previous and previous.hex() != last.hash:
        raise EndpointError.AUDIT_FILE_REFUSED(
            f"row {last.number} of the audit differs from the file, so the audit was changed after the export"
        )
    if not previous and not rows:
        raise EndpointError.AUDIT_FILE_REFUSED(
            f"the audit ends before row {last.number}, which the file contains; the endpoint was "
            "probably restored from an older backup"
        )
    return 0


def check_audit_file(path: Path) -> AuditExportReport:
    """Check the export in a file (see `check_audit_export`). Raises OSError."""
    with path.open("rb") as file:
        return check_audit_export(lines_of(file.readline))


def _alone(file: BinaryIO, path: Path) -> None:
    try:
        import fcntl
    except ImportError:
        return  # this system has no such locks
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise EndpointBusy(f"another process is writing {path}") from None


def _at_end(file: BinaryIO, path: Path) -> AuditExportLine | None:
    """Return the last complete line, and cut the file behind it."""
    size = file.seek(0, os.SEEK_END)
    # Two lines of the largest size are enough to find the last complete one.
    begin = max(0, size - 2 * LONGEST)
    file.seek(begin)
    tail = file.read(size - begin)
    whole = tail.rfind(b"\n") + 1
    line = parse_audit_line(tail[tail.rfind(b"\n", 0, max(0, whole - 1)) + 1 : whole]) if whole else None
    if line is None and size and not (begin == 0 and tail[:1] == b"{" and not whole):
        raise EndpointError.AUDIT_FILE_REFUSED(f"{path} is not an audit export; give another file")
    file.truncate(begin + whole)
    file.seek(begin + whole)
    return line
