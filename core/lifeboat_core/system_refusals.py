"""Errors of the system, of SQLite and of the program itself, as errors that a user can read."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import Busy, DaemonError, DiskFull, ReaderGone, SystemRefused, UnexpectedError

if TYPE_CHECKING:
    import sqlite3  # it takes a megabyte, and the daemon has no database


def convert_system_error(error: OSError | sqlite3.Error) -> DaemonError:
    """Return an error of the system, or of a cache, as a LifeboatError."""
    if isinstance(error, OSError):
        kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else SystemRefused
        return kind(describe_refusal(error))
    return _of_cache(error)


def _of_cache(error: sqlite3.Error) -> DaemonError:
    import sqlite3

    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Busy(f"another process uses a cache in the home of Lifeboat: {error}")
    return (DiskFull if code == sqlite3.SQLITE_FULL else SystemRefused)(
        f"a cache in the home of Lifeboat cannot be used: {error}"
    )


def convert_error(error: Exception) -> LifeboatError:
    """Return an error as a LifeboatError. For an internal error, report type and location only: the message may contain
    secrets."""
    if isinstance(error, LifeboatError):
        return error
    import sqlite3

    if isinstance(error, OSError | sqlite3.Error):
        return convert_system_error(error)
    return UnexpectedError(f"{type(error).__name__} {_place(error)}".rstrip())


def _place(error: Exception) -> str:
    """Return module and line of the innermost code of Lifeboat in a traceback."""
    place, trace = "", error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.startswith("lifeboat_"):
            place = f"in {module}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place


@contextlib.contextmanager
def convert_system_errors() -> Iterator[None]:
    """Raise refusals of the system inside the block as SystemRefused, DiskFull or Busy."""
    import sqlite3

    try:
        yield
    except ReaderGone:
        raise
    except (OSError, sqlite3.Error) as error:
        raise convert_system_error(error) from error
