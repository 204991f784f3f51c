"""The log of the service: what happened, never what it happened to.

One JSON document a line in `logs/daemon.log`, for its owner alone, five files of a megabyte. An event is a kind and
fields, and a field is a number, an id, a time or a word of this program: no content, no name of a file, no address. Who
writes an event keeps to that; what comes through all the same is replaced by its type (`safe_field`). What libraries
log has texts that nobody here chose: of that only the library, the level and the type of the exception are kept.

Losing lines is better than losing the service: on a full disk they are counted, and their number is said later.
"""

from __future__ import annotations

import contextlib
import enum
import logging
import logging.handlers
import os
import re
import sys
import threading
import traceback
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, cast

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.texts import readable_json

NAME = "daemon.log"
LARGEST = 1_000_000
"""Bytes of one file."""
OLDER = 4
"""Files beside the one that is written: `daemon.log.1` is the youngest of them."""
LEVELS = DEBUG, INFO, WARNING, ERROR = "debug", "info", "warning", "error"
_LEVELS = {DEBUG: logging.DEBUG, INFO: logging.INFO, WARNING: logging.WARNING, ERROR: logging.ERROR}
_PRIORITIES = {DEBUG: 7, INFO: 6, WARNING: 4, ERROR: 3}
_PLAIN = re.compile(r"[A-Za-z][A-Za-z_:-]{0,39}")
_KIND = re.compile(r"[a-z][a-z0-9_.]{0,39}")
_SENTENCE = re.compile(r"[A-Za-z][A-Za-z0-9_.,:() -]{0,79}")
_RELEASE = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6}){1,3}([a-z]{1,4}[0-9]{1,4})?(\+[0-9a-z.]{1,16})?")
_MANY = 50
_OURS = "lifeboat_"


class LogWord(str):
    """A short text that stands in this program's own source, and so may be logged: `Word("no battery")`."""

    __slots__ = ()


class EventLog:
    """The open log of the service. Never raises; may be used from any thread."""

    def __init__(self, handlers: list[logging.Handler]) -> None:
        self._handlers = handlers
        self._logger = logging.Logger("lifeboat", logging.DEBUG)
        for handler in handlers:
            self._logger.addHandler(handler)
        self._libraries = _LibraryWarnings(self)
        logging.getLogger().addHandler(self._libraries)

    def event(self, kind: str, /, level: str = INFO, **fields: object) -> None:
        """Note what happened. `kind` is a word, `level` one of debug, info, warning, error; fields as `safe_field`
        lets."""
        self._write(kind, level, fields)

    def exception(self, kind: str, error: BaseException, /, level: str = ERROR, **fields: object) -> None:
        """Note an error that nobody foresaw: its type and where it came from, never its message."""
        self._write(kind, level, fields, {"error": _error_word(error), "at": trace_places(error)})

    def close(self) -> None:
        """Write nothing any more. What libraries say goes nowhere then."""
        logging.getLogger().removeHandler(self._libraries)
        for handler in self._handlers:
            handler.close()

    def __enter__(self) -> EventLog:
        """Until the end, what a thread raises by mistake is noted here too, and not printed with its text."""
        threading.excepthook = self._thread_failed
        return self

    def _thread_failed(self, failed: threading.ExceptHookArgs) -> None:
        if failed.exc_value is not None:
            self.exception("unexpected", failed.exc_value)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        threading.excepthook = threading.__excepthook__
        self.close()

    def _write(self, kind: str, level: str, fields: Mapping[str, object], more: JsonObject | None = None) -> None:
        known = level if level in _LEVELS else INFO
        head = {"time": times.to_text(datetime.now(UTC)), "level": known, "kind": safe_kind(kind)}
        passed = {
            name: safe_field(value, name) for name, value in fields.items() if value is not None and name not in head
        }
        record = self._logger.makeRecord("lifeboat", _LEVELS[known], "", 0, "", (), None)
        record.__dict__["event"] = head | passed | (more or {})
        self._logger.handle(record)


def open_log(home: Home, *, foreground: bool) -> EventLog:
    """The log of a home's service. With `foreground` people's lines go to standard error too; where that is the journal
    of systemd, they carry their priority. A folder that cannot be made or written is no reason not to run."""
    handlers: list[logging.Handler] = [_EventFileHandler(home.logs_folder / NAME)]
    if sys.stderr is not None:
        if _is_journal(sys.stderr):
            handlers.append(_EventStreamHandler(sys.stderr, journal=True))
        elif foreground:
            handlers.append(_EventStreamHandler(sys.stderr, journal=False))
    return EventLog(handlers)


# What may be told ------------------------------------------------------------------------------------------------


def safe_field(value: object, name: str = "") -> object:
    """A field as it may stand in the log: as it is, or its type in `<>` for anything that somebody else wrote.

    Numbers, switches, times, members of enumerations, ids, releases, `LogWord`s and the codes of errors pass. A plain
    text passes when it is one word of letters under a name that only ever holds this program's own (`_OWN`).
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, enum.Enum):
        return safe_field(LogWord(value.value) if isinstance(value.value, str) else value.value)
    if isinstance(value, datetime):
        return times.to_text(value.astimezone(UTC))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, BaseException):
        return _error_word(value)
    if isinstance(value, str):
        return str(value) if _may_stand(value, name) else "<str>"  # a `LogWord` is no type that the encoder knows
    if isinstance(value, Mapping):
        return {str(safe_field(key, "what")): safe_field(item, str(key)) for key, item in list(value.items())[:_MANY]}
    if isinstance(value, list | tuple | set | frozenset):
        return [safe_field(item, name) for item in list(value)[:_MANY]]
    return f"<{type(value).__name__}>"


_OWN = frozenset(
    (
        *("kind", "kind_of", "level", "error", "code", "reason", "cause", "why", "what"),
        *("operation", "method", "event", "signal", "action", "trigger", "step", "phase", "cadence"),
        *("mode", "state", "status", "verdict", "outcome", "result", "library", "notifier", "manager"),
    )
)
"""Names of fields that hold a word of this program and nothing else."""


def _may_stand(text: str, name: str) -> bool:
    if ids.is_uuid(text) or _RELEASE.fullmatch(text) or _is_time(text):
        return True
    if isinstance(text, LogWord):
        return _SENTENCE.fullmatch(text) is not None
    return name in _OWN and _PLAIN.fullmatch(text) is not None


def safe_kind(text: str) -> str:
    """A kind of event as it may stand in the log: `captured`, `worker.started`."""
    return text if _KIND.fullmatch(text) else "<str>"


def _is_time(text: str) -> bool:
    if not text[:4].isdigit() or len(text) > 40:
        return False
    try:
        times.parse_time(text)
    except ValueError:
        return False
    return True


def _error_word(error: BaseException) -> str:
    """The stable code of an error of ours, the number of one of the system, else its type."""
    if isinstance(error, LifeboatError):
        return error.code
    if isinstance(error, OSError) and error.errno is not None:
        import errno

        return f"{type(error).__name__}:{errno.errorcode.get(error.errno, error.errno)}"
    return type(error).__name__


def trace_places(error: BaseException) -> list[str]:
    """Where an error came through this program: `lifeboat_daemon.service.event_log:120`, the innermost last. Lines of
    source, so nothing that a user wrote."""
    frames = traceback.walk_tb(error.__traceback__)
    named = ((str(frame.f_globals.get("__name__", "")), line) for frame, line in frames)
    return [f"{module}:{line}" for module, line in named if module.startswith(_OURS)][-12:]


# Where it goes ---------------------------------------------------------------------------------------------------


class _LineFile:
    """A file of lines, each added with one write. One that was cut off (a full disk, a crash) is ended first."""

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        if hasattr(os, "fchmod"):
            os.fchmod(self._descriptor, 0o600)
        self._whole = self._ends_whole()

    def _ends_whole(self) -> bool:
        if not self.size():
            return True
        os.lseek(self._descriptor, -1, os.SEEK_END)
        return os.read(self._descriptor, 1) == b"\n"

    def write(self, line: str) -> None:
        data = memoryview((line if self._whole else f"\n{line}").encode())
        self._whole = False
        while data:
            data = data[os.write(self._descriptor, data) :]
        self._whole = True

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def are_at(self, path: str) -> bool:
        """Whether the file still has its name."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(path))
        except FileNotFoundError:
            return False

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        os.close(self._descriptor)


class _EventFileHandler(logging.handlers.RotatingFileHandler):
    """Five files of lines. What could not be written is counted; the next line that can be says how many were lost."""

    terminator = "\n"

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=LARGEST, backupCount=OLDER, encoding="utf-8", delay=True)
        self._lost = 0

    def _open(self) -> Any:
        path = Path(self.baseFilename)
        if not path.parent.is_dir():
            path.parent.mkdir(mode=0o700)
        return _LineFile(path)

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        """A file that somebody removed, or that a daemon which waits for its turn saw renamed, is begun anew: else the
        log would go on where nobody looks for it."""
        lines = cast(_LineFile | None, self.stream)
        if lines is None:
            return False
        if not lines.are_at(self.baseFilename):
            self.close_stream()
            return False
        return lines.size() + len(self.format(record)) > self.maxBytes

    def doRollover(self) -> None:
        """Begin a new file. One that cannot be renamed (on Windows, while somebody reads it) grows on, and the older
        ones stay."""
        self.close_stream()
        base = self.baseFilename
        try:
            os.replace(base, f"{base}.0")
        except OSError:
            return
        for number in range(self.backupCount, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{base}.{number - 1}", f"{base}.{number}")

    def close_stream(self) -> None:
        """Open again with the next line."""
        stream: Any = self.stream
        self.stream = None
        stream.close()

    def emit(self, record: logging.LogRecord) -> None:
        before = self._lost
        super().emit(record)
        if self._lost == before:
            self._lost = 0

    def format(self, record: logging.LogRecord) -> str:
        document = get_record_event(record)
        return readable_json.encode_json(document | {"lost": self._lost} if self._lost else document).decode()

    def handleError(self, record: logging.LogRecord) -> None:
        self._lost += 1


class _EventStreamHandler(logging.StreamHandler[TextIO]):
    """People's lines. A terminal that has gone is no failure."""

    def __init__(self, stream: TextIO, *, journal: bool) -> None:
        super().__init__(stream)
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        document = get_record_event(record)
        if self._journal:  # which has the time already
            return f"<{_PRIORITIES[document['level']]}>{format_event(document)}"
        return f"{document['time'][11:19]} {document['level']:<7} {format_event(document)}"

    def handleError(self, record: logging.LogRecord) -> None:
        """Nobody reads it any more."""


class _LibraryWarnings(logging.Handler):
    """What libraries warn of, without their texts."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        level = ERROR if record.levelno >= logging.ERROR else WARNING
        library = record.name.partition(".")[0]
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            self._log.event("library", level, library=library)
        else:
            self._log.exception("library", error, level, library=library)


def get_record_event(record: logging.LogRecord) -> JsonObject:
    """The event that a record carries."""
    return cast(JsonObject, record.__dict__["event"])


def format_event(document: JsonObject) -> str:
    """An event for people, in one line: its kind, and the fields by name."""
    fields = (f"{name}={_shown(value)}" for name, value in document.items() if name not in ("time", "level", "kind"))
    return " ".join([str(document.get("kind", "")), *fields])


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return value if isinstance(value, str) and " " not in value else readable_json.encode_json(value).decode()


def _is_journal(stream: TextIO) -> bool:
    """Whether a stream is what systemd says that it reads (`JOURNAL_STREAM`: device and inode)."""
    device, colon, inode = os.environ.get("JOURNAL_STREAM", "").partition(":")
    if not colon:
        return False
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return (str(found.st_dev), str(found.st_ino)) == (device, inode)
