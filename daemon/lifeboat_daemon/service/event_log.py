"""The log of the service: what happened, without any data of the user.

`logs/daemon.log` contains one JSON document per line. It is readable by its owner only, and five files of a megabyte
are kept. An event is a kind and fields. A field is a number, an id, a time or a word of this program: no content, no
file name, no address. The writers of events follow this rule, and any other value is replaced by its type
(`safe_field`). Messages of libraries may contain anything, so only the library, the level and the type of the exception
are kept.

The service runs on if the log cannot be written. On a full disk the lost lines are counted, and their number is logged
later.
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
"""The number of rotated files. `daemon.log.1` is the youngest of them."""
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
    """A short text from this program's own source, which may be logged: `LogWord("no battery")`."""

    __slots__ = ()


class EventLog:
    """The open log of the service. Never raises; can be used from any thread."""

    def __init__(self, handlers: list[logging.Handler]) -> None:
        self._handlers = handlers
        self._logger = logging.Logger("lifeboat", logging.DEBUG)
        for handler in handlers:
            self._logger.addHandler(handler)
        self._libraries = _LibraryWarnings(self)
        logging.getLogger().addHandler(self._libraries)

    def event(self, kind: str, /, level: str = INFO, **fields: object) -> None:
        """Write an event. `kind` is a word, `level` one of debug, info, warning, error; fields are filtered by
        `safe_field`."""
        self._write(kind, level, fields)

    def exception(self, kind: str, error: BaseException, /, level: str = ERROR, **fields: object) -> None:
        """Write an unexpected error: its type and its places in the source, never its message."""
        self._write(kind, level, fields, {"error": _error_word(error), "at": trace_places(error)})

    def close(self) -> None:
        """Close the log. Later messages of libraries are discarded."""
        logging.getLogger().removeHandler(self._libraries)
        for handler in self._handlers:
            handler.close()

    def __enter__(self) -> EventLog:
        """Until the log is closed, also log uncaught errors of threads instead of printing them with their text."""
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
    """Open the log of a home's service. With `foreground`, lines for people also go to standard error. If standard
    error is the journal of systemd, they carry their priority. The service also runs if the directory cannot be created
    or written."""
    handlers: list[logging.Handler] = [_EventFileHandler(home.logs_folder / NAME)]
    if sys.stderr is not None:
        if _is_journal(sys.stderr):
            handlers.append(_EventStreamHandler(sys.stderr, journal=True))
        elif foreground:
            handlers.append(_EventStreamHandler(sys.stderr, journal=False))
    return EventLog(handlers)


# Permitted values ------------------------------------------------------------------------------------------------


def safe_field(value: object, name: str = "") -> object:
    """Return a field as it may be logged: unchanged, or its type in `<>` if it may contain data of others.

    Numbers, booleans, times, enum members, ids, releases, `LogWord`s and error codes are permitted. A plain string is
    permitted if it is one word of letters under a name that is reserved for words of this program (`_OWN`).
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
        return str(value) if _may_stand(value, name) else "<str>"  # The JSON encoder does not know the type `LogWord`.
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
"""Names of fields that only ever contain a word of this program."""


def _may_stand(text: str, name: str) -> bool:
    if ids.is_uuid(text) or _RELEASE.fullmatch(text) or _is_time(text):
        return True
    if isinstance(text, LogWord):
        return _SENTENCE.fullmatch(text) is not None
    return name in _OWN and _PLAIN.fullmatch(text) is not None


def safe_kind(text: str) -> str:
    """Return the kind of an event if it is well-formed (`captured`, `worker.started`), otherwise `<str>`."""
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
    """Return the code of our own error, the number of a system error, otherwise the type."""
    if isinstance(error, LifeboatError):
        return error.code
    if isinstance(error, OSError) and error.errno is not None:
        import errno

        return f"{type(error).__name__}:{errno.errorcode.get(error.errno, error.errno)}"
    return type(error).__name__


def trace_places(error: BaseException) -> list[str]:
    """Return the modules and lines of this program that an error passed through, innermost last:
    `lifeboat_daemon.service.event_log:120`. They contain nothing that a user wrote."""
    frames = traceback.walk_tb(error.__traceback__)
    named = ((str(frame.f_globals.get("__name__", "")), line) for frame, line in frames)
    return [f"{module}:{line}" for module, line in named if module.startswith(_OURS)][-12:]


# Files and streams -----------------------------------------------------------------------------------------------


class _LineFile:
    """A file to which each line is added with one write. A truncated last line (full disk, crash) is terminated
    first."""

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
        """Return whether the file still has its name."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(path))
        except FileNotFoundError:
            return False

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def close(self) -> None:
        os.close(self._descriptor)


class _EventFileHandler(logging.handlers.RotatingFileHandler):
    """Five log files. Lines that could not be written are counted, and the next line that can be written tells their
    number."""

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
        """Also start a new file if the present one was removed or renamed, for example by the user or by another
        daemon. Otherwise the log would continue in a file that readers do not find."""
        lines = cast(_LineFile | None, self.stream)
        if lines is None:
            return False
        if not lines.are_at(self.baseFilename):
            self.close_stream()
            return False
        return lines.size() + len(self.format(record)) > self.maxBytes

    def doRollover(self) -> None:
        """Start a new file. If the present one cannot be renamed (on Windows, while it is open elsewhere), it continues
        to grow and the older files stay."""
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
        """Close the file. The next line opens it again."""
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
    """Writes lines for people. A closed terminal is not an error."""

    def __init__(self, stream: TextIO, *, journal: bool) -> None:
        super().__init__(stream)
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        document = get_record_event(record)
        if self._journal:  # The journal adds the time itself.
            return f"<{_PRIORITIES[document['level']]}>{format_event(document)}"
        return f"{document['time'][11:19]} {document['level']:<7} {format_event(document)}"

    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore the error: the reader of the stream has gone."""


class _LibraryWarnings(logging.Handler):
    """Logs warnings of libraries without their text."""

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
    """Return the event of a log record."""
    return cast(JsonObject, record.__dict__["event"])


def format_event(document: JsonObject) -> str:
    """Format an event for people in one line: its kind, and the fields by name."""
    fields = (f"{name}={_shown(value)}" for name, value in document.items() if name not in ("time", "level", "kind"))
    return " ".join([str(document.get("kind", "")), *fields])


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return value if isinstance(value, str) and " " not in value else readable_json.encode_json(value).decode()


def _is_journal(stream: TextIO) -> bool:
    """Return whether a stream is the one that systemd declares as its journal (`JOURNAL_STREAM`: device and inode)."""
    device, colon, inode = os.environ.get("JOURNAL_STREAM", "").partition(":")
    if not colon:
        return False
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return (str(found.st_dev), str(found.st_ino)) == (device, inode)
