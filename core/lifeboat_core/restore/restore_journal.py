"""The journal of a restore: all changes to the disk, written durably before the first move.

restore/<id>.json           a restore under way; the next process finishes it
restore/undo/<id>.json      a finished one that can be undone for seven days
restore/receipts/<id>.json  what was done, kept permanently

A journal does not record its progress. That is read from the disk, so each move can be repeated safely.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import FileOperations, read_all, write_atomic
from lifeboat_core.capture.scan_cache import OURS
from lifeboat_core.home.lifeboat_home import Home

STAGING = "staging"
"""Files are being staged: a crash here changes nothing."""
MOVING = "moving"
"""Everything is staged and checked: a crash here is rolled forward."""
DONE = "done"
PURGED = "purged"
"""A purge removed what the restore had moved aside: it cannot be undone any more."""
_NOT_TEXT = "\0"


def path_to_text(path: os.PathLike[str] | str) -> str:
    """Return a path as JSON text; one that is not UTF-8 becomes NUL and hex (no path contains a NUL)."""
    text = os.fspath(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _NOT_TEXT + os.fsencode(text).hex()
    return text


def text_to_path(text: str) -> Path:
    """Return the path from the text of `path_to_text`."""
    return Path(os.fsdecode(bytes.fromhex(text[1:])) if text.startswith(_NOT_TEXT) else text)


@dataclass(frozen=True, slots=True)
class SeenPath:
    """What was at a path, in enough detail to notice that it was replaced or written to. For a folder only the inode
    counts, because its times change with moves inside it."""

    kind: int
    inode: int
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0


def stat_path(files: FileOperations, path: os.PathLike[str] | str) -> SeenPath | None:
    """Return what is at a path, None for nothing."""
    try:
        found = files.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return seen_from(found)


def seen_from(found: os.stat_result) -> SeenPath:
    kind = stat.S_IFMT(found.st_mode)
    if stat.S_ISDIR(kind):
        return SeenPath(kind, found.st_ino)
    return SeenPath(kind, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class JournalMove:
    """One file, link or folder: what is at `target` goes to `aside`, and `staged` (None: a removal) takes its name.
    `seen` is what the plan saw at `target`; a `loose` one is not compared, because reading its database changes it.
    Before a database is moved in, any log beside its target is moved aside."""

    target: str
    staged: str | None
    aside: str
    seen: SeenPath | None
    loose: bool = False
    is_database: bool = False


@dataclass(frozen=True, slots=True)
class JournalFolder:
    """A folder to create (with these rights and time, if known) or to remove when it is empty."""

    path: str
    mode: int | None = None
    mtime_ns: int | None = None


@dataclass(frozen=True, slots=True)
class TimeChange:
    """A file whose bytes are right and whose time is not."""

    path: str
    new_ns: int
    old_ns: int


@dataclass(frozen=True, slots=True)
class ModeChange:
    """A folder that stays and whose rights differ."""

    path: str
    new: int
    old: int


@dataclass(frozen=True, slots=True)
class AgentResidence:
    """Where an agent lives: its workspace as text, its runtime, the runtime's name for it, and the newest sequence
    captured there, if any."""

    workspace: str
    runtime: str
    native_id: str
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class RestoreJournal:
    """`fresh` are folders that the moves will create, the deepest first. `whole` is (staged tree, target) if a new
    folder is renamed into place at once. `work` are the staging folders, removed at the end; `undo` those that keep
    what was moved aside. `installed` is what the finished restore left at each move's target, in the order of `moves`.
    `replaces` is the journal that an undo takes back. `former` is where an agent lived before a restore adopted it
    elsewhere."""

    id: str
    agent_id: str
    kind: str
    phase: str
    sequence: int
    workspace: str
    time: str
    moves: tuple[JournalMove, ...] = ()
    make: tuple[JournalFolder, ...] = ()
    drop: tuple[JournalFolder, ...] = ()
    fresh: tuple[str, ...] = ()
    times: tuple[TimeChange, ...] = ()
    modes: tuple[ModeChange, ...] = ()
    whole: tuple[str, str] | None = None
    work: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    installed: tuple[SeenPath | None, ...] = ()
    replaces: str | None = None
    former: AgentResidence | None = None
    report: JsonObject = field(default_factory=dict)

    @property
    def needs_no_journal(self) -> bool:
        """Return whether this restore only makes a copy in a new folder."""
        return self.whole is not None and not self.moves and self.former is None

    @property
    def renames(self) -> int:
        """Return how many things are moved in."""
        return len(self.moves) + (self.whole is not None)


def locate_journal(home: Home, journal_id: str) -> Path:
    return home.restore_folder / f"{journal_id}.json"


def locate_undo_journal(home: Home, journal_id: str) -> Path:
    return home.restore_folder / "undo" / f"{journal_id}.json"


def locate_restore_receipt(home: Home, receipt_id: str) -> Path:
    return home.restore_folder / "receipts" / f"{receipt_id}.json"


def write_document(files: FileOperations, path: Path, document: Any) -> None:
    """Write a document of a restore durably, and create its folder if needed."""
    files.make_folders(path.parent, 0o700)
    write_atomic(files, path, json_codec.encode_json(document))


def begin_journal(home: Home, files: FileOperations, journal: RestoreJournal) -> None:
    """Write the journal of a restore. One that renames a whole new folder into place is a single step with nothing to
    roll forward, and needs no journal if the home is not writable.

    Raises OSError.
    """
    try:
        write_document(files, locate_journal(home, journal.id), journal)
    except OSError:
        if not journal.needs_no_journal:
            raise


def remove_journal(home: Home, files: FileOperations, journal: RestoreJournal) -> None:
    """Remove the journal of a finished restore. Raises OSError."""
    path = locate_journal(home, journal.id)
    try:
        files.remove(path)
        files.sync_folder(path.parent)
    except OSError:
        if not journal.needs_no_journal or stat_path(files, path) is not None:
            raise


def read_journal(files: FileOperations, path: Path) -> RestoreJournal:
    """Read a journal. Raises OSError, msgspec.ValidationError or msgspec.DecodeError."""
    journal = msgspec.convert(json_codec.decode_json(read_all(files, path)), RestoreJournal)
    work = _working_folders(journal.work, (move.staged for move in journal.moves), f"{OURS}stage-{journal.id}")
    undo = _working_folders(journal.undo, (move.aside for move in journal.moves), f"{OURS}undo-{journal.id}")
    return replace(journal, work=work, undo=undo)


def _working_folders(listed: tuple[str, ...], used: Iterable[str | None], ending: str) -> tuple[str, ...]:
    """Add folders that a journal uses and does not list: earlier releases listed none for names that are not UTF-8."""
    parents = (folder for text in used if text is not None for folder in text_to_path(text).parents)
    return tuple(
        dict.fromkeys((*listed, *(path_to_text(folder) for folder in parents if folder.name.endswith(ending))))
    )


def list_finished_journals(home: Home, files: FileOperations) -> list[RestoreJournal]:
    """Return the restores that can be undone, newest first."""
    return sorted(_all_in(home.restore_folder / "undo", files), key=lambda each: (each.time, each.id), reverse=True)


def _all_in(folder: Path, files: FileOperations) -> Iterator[RestoreJournal]:
    """Yield the journals in a folder, without damaged ones, which must not block the others."""
    if folder.is_dir():
        for entry in sorted(files.scan(folder), key=lambda each: each.name):
            if entry.name.endswith(".json") and not entry.name.startswith("."):
                with contextlib.suppress(msgspec.DecodeError, msgspec.ValidationError, FileNotFoundError):
                    yield read_journal(files, Path(entry.path))
