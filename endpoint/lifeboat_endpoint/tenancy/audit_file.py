"""An export of the audit as a file that grows: each run writes what came since the last one."""

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
    """Where lines are written to: `file` at its end, after what `last` says, None for a file that begins."""

    file: BinaryIO
    last: AuditExportLine | None


@contextlib.contextmanager
def open_audit_file(path: Path, tenant: str | None) -> Iterator[AuditFilePosition]:
    """A file for its owner only, made when missing. Of one that is there a line that was cut off is removed; it must be
    of the same tenant. What was written is on the disk when this ends. What is no file (a pipe) is written only.

    Raises EndpointError.AUDIT_FILE_REFUSED, EndpointBusy when another process writes it, OSError.
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
            whose = "of all tenants" if last.end.tenant is None else f"of the tenant {last.end.tenant}"
            raise EndpointError.AUDIT_FILE_REFUSED(f"{path} is an export {whose}: name another file")
        yield AuditFilePosition(file, last)
        file.flush()
        flush_to_disk(file.fileno())


def check_follows(last: AuditExportLine, found: AuditSource) -> int:
    """How many rows after the last line of a file were let go before anybody wrote them. Raises
    EndpointError.AUDIT_FILE_REFUSED where the audit has another row there, or does not reach as far."""
    previous, rows = found.audit_page(last.number, 1)
    if rows and rows[0].number > last.number + 1:
        return rows[0].number - last.number - 1
    if previous and previous.hex() != last.hash:
        raise EndpointError.AUDIT_FILE_REFUSED(
            f"row {last.number} of the audit is another one than in the file: it was rewritten"
        )
    if not previous and not rows:
        raise EndpointError.AUDIT_FILE_REFUSED(
            f"the audit ends before row {last.number}, which the file has: the endpoint was put back to an earlier day"
        )
    return 0


def check_audit_file(path: Path) -> AuditExportReport:
    """Whether the export in a file is whole (see `audit_export.check`). Raises OSError."""
    with path.open("rb") as file:
        return check_audit_export(lines_of(file.readline))


def _alone(file: BinaryIO, path: Path) -> None:
    try:
        import fcntl
    except ImportError:
        return  # a system without such locks
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise EndpointBusy(f"another process writes {path}") from None


def _at_end(file: BinaryIO, path: Path) -> AuditExportLine | None:
    """The last whole line; the file stands behind it, and has nothing after it."""
    size = file.seek(0, os.SEEK_END)
    begin = max(0, size - 2 * LONGEST)
    file.seek(begin)
    tail = file.read(size - begin)
    whole = tail.rfind(b"\n") + 1
    line = parse_audit_line(tail[tail.rfind(b"\n", 0, max(0, whole - 1)) + 1 : whole]) if whole else None
    if line is None and size and not (begin == 0 and tail[:1] == b"{" and not whole):
        raise EndpointError.AUDIT_FILE_REFUSED(
            f"{path} holds something else than an export of the audit: name another file"
        )
    file.truncate(begin + whole)
    file.seek(begin + whole)
    return line
