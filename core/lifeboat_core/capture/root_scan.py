"""List the files in the roots of an agent by name and stat, without reading any of them."""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lifeboat_adapters import exclusion_rules
from lifeboat_adapters.contract import Adapter, CaptureRoot, Placement
from lifeboat_adapters.stable_reads import sqlite_files
from lifeboat_adapters.stable_reads.file_reading import StatKey, has_usual_rights, read_file, stat_key_of
from lifeboat_alf.archive import archive_layout, archive_names
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.seams.file_operations import FileOperations, FolderEntry, StrPath
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_core.capture.ignore_file import FILE_NAME, LARGEST, IgnoreFile
from lifeboat_core.capture.scan_cache import OURS, KnownFile

FILE, LINK, FOLDER = "file", "link", "folder"
DEEPEST = 200
"""Maximum nesting of folders. Paths of file systems reach little further, and a walk must not exhaust the stack."""


NOT_REGULAR, FOREIGN_LINK = "not a regular file", "a hard link to a file of another user"
"""Why something with a name in a root is not captured."""


class ScannedEntry(NamedTuple):
    """One thing to capture. `native` is the root prefix plus the relative name as the system spells it, `path` its
    archive path, `real` the path to open, `name_hex` the original name if the archive path differs. `has_log`: a
    database with a write-ahead log, whose size and time are included in `key`."""

    native: str
    path: str
    real: str
    kind: str
    key: StatKey
    name_hex: str | None = None
    has_log: bool = False


class HeldRoots(FilesBeneath):
    """The folders of the roots, held open, so that everything below is reached without following a link. `folder_of` is
    the real folder of each root, by its prefix."""

    def __init__(self, files: FileOperations, roots: Iterable[CaptureRoot]) -> None:
        self.folder_of = {root.prefix: os.path.realpath(root.folder) for root in roots}
        super().__init__(files, self.folder_of.values(), remembers=True)

    def open_regular(self, path: StrPath) -> int:
        """Open a regular file, but no hard link to a file of another user. Raises OSError."""
        descriptor = super().open_regular(path)
        try:
            root = next((folder for folder in self._folders if os.fspath(path).startswith(folder)), None)
            if root is not None and is_foreign_link(os.fstat(descriptor), self.status_of(root)):
                raise PermissionError(errno.EPERM, FOREIGN_LINK, os.fspath(path))
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def identity_of(self, root: CaptureRoot) -> str:
        """Return device and inode of a root, which change if the whole folder is replaced. Raises OSError."""
        found = self.status_of(self.folder_of[root.prefix])
        return f"{found.st_dev}:{found.st_ino}"

    def read_ignore_file(self, root: CaptureRoot) -> bytes:
        """Return the `.lifeboatignore` of a root. Raises OverLimit, Unstable, OSError."""
        return read_file(self, os.path.join(self.folder_of[root.prefix], FILE_NAME), LARGEST).data


@dataclass(slots=True)
class RootScan:
    """The result of a scan. `files` reads what was found. `found` is by native name. The other mappings give reasons:
    `skipped` by archive path; `unread` by archive prefix (folders, ending with `/`) or file that could not be examined;
    `held_back` in the same form, for files being written; `missing_roots` by prefix; `beside` by archive path, for what
    lies in the state directory and is not captured, though it may have been before. `mounts` are folders (ending with
    `/`) of other file systems."""

    files: HeldRoots
    found: dict[str, ScannedEntry] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    held_back: dict[str, str] = field(default_factory=dict)
    missing_roots: dict[str, str] = field(default_factory=dict)
    mounts: set[str] = field(default_factory=set)
    beside: dict[str, str] = field(default_factory=dict)

    def miss(self, mounts: Iterable[str]) -> None:
        """Mark file systems as unread that were mounted before and are not now: their files are not deleted."""
        for folder in set(mounts) - self.mounts:
            self.unread[folder] = "the file system that was mounted on this folder is not mounted now"
            self.found.pop(folder.rstrip("/"), None)

    def keeps(self, native: str) -> bool:
        """Return whether a name that was not found lies where the scan could not look, so that it is not deleted."""
        if any(native.startswith(prefix) for prefix in self.missing_roots):
            return True
        return _is_among(native, self.unread) or _is_among(native, self.held_back)


def _is_among(native: str, names: Mapping[str, str]) -> bool:
    """Return whether a name is one of these names, or lies below one that ends with `/`."""
    if native in names or f"{native}/" in names:
        return True
    return any(prefix.endswith("/") and native.startswith(prefix) for prefix in names)


@dataclass(slots=True)
class RootWalk:
    """One walk over one root. `known` saves placing names again; it is empty when the rules have changed. `status` is
    the stat of the root folder."""

    files: HeldRoots
    root: CaptureRoot
    adapter: Adapter
    ignore: IgnoreFile
    known: Mapping[str, KnownFile]
    scan: RootScan
    is_workspace: bool
    status: os.stat_result = field(init=False)

    def run(self) -> None:
        folder = self.files.folder_of[self.root.prefix]
        try:
            self.status = self.files.status_of(folder)
        except (FileNotFoundError, NotADirectoryError):
            self.scan.missing_roots[self.root.prefix] = "the folder does not exist"
            return
        except OSError as error:
            self._unreadable("", error)
            return
        self._folder(folder, "")

    def _folder(self, real: str, relative: str) -> bool:
        """Walk one folder; return whether something in it is captured, or may be because it could not be read."""
        if relative.count("/") > DEEPEST:
            self.scan.unread[self.root.prefix + relative] = f"the folder is nested more than {DEEPEST} levels deep"
            return True
        try:
            entries = self.files.scan(real)
        except OSError as error:
            self._unreadable(relative, error)
            return True
        beside = sqlite_files.find_side_files(self.files, entries)
        is_top = self.is_workspace and not relative
        heads = exclusion_rules.repository_heads(entry.name for entry in entries) if is_top else ()
        kept = False
        for entry in entries:
            if entry.name in heads:
                self.scan.skipped[self.root.prefix + archive_names.to_archive_name(entry.name)[0]] = (
                    exclusion_rules.VERSION_CONTROL
                )
            elif entry.name in beside:
                self._skip_side_file(relative + entry.name, beside[entry.name])
            else:
                log = beside.get(entry.name + sqlite_files.WAL)
                kept = self._entry(entry, relative + entry.name, log and log.entry) or kept
        return kept

    def _skip_side_file(self, relative: str, beside: sqlite_files.SideFile) -> None:
        """Skip a file that SQLite keeps beside a database. It is read together with the database, because a log that
        does not match would damage it."""
        name, _ = archive_names.to_archive_name(relative)
        if beside.problem:
            self.scan.unread[self.root.prefix + relative] = beside.problem
        elif self._is_wanted(name):
            self.scan.skipped[self.root.prefix + name] = "a journal file of a database"

    def _unreadable(self, relative: str, error: OSError) -> None:
        if isinstance(error, FileNotFoundError) and relative:
            return
        self.scan.unread[self.root.prefix + relative] = refusal_reason(error)

    def _entry(self, entry: FolderEntry, relative: str, log: FolderEntry | None) -> bool:
        native = self.root.prefix + relative
        try:
            if entry.is_dir(follow_symlinks=False):
                return self._subfolder(entry, relative)
            key = _key(entry, log)
        except FileNotFoundError:
            return False
        except OSError as error:
            self.scan.unread[native] = refusal_reason(error)
            return True
        known = self.known.get(native)
        if known is None or known.key != key:
            return self._consider(entry, relative, key, has_log=log is not None)
        kind = _kind(key.mode) or FILE
        name_hex = archive_names.to_archive_name(relative)[1] if "%" in known.path else None
        self.scan.found[native] = ScannedEntry(
            native, known.path, entry.path, kind, known.key, name_hex, log is not None
        )
        return True

    def _consider(self, entry: FolderEntry, relative: str, key: StatKey, *, has_log: bool) -> bool:
        kind, native = _kind(key.mode), self.root.prefix + relative
        placed = self._placed(relative, is_folder=False, is_file=kind == FILE)
        if placed is None:
            return False
        path, name_hex = placed
        if kind is None:
            self.scan.skipped[path] = self.scan.refused[path] = NOT_REGULAR
            return False
        if is_foreign_link(entry.stat(follow_symlinks=False), self.status):
            self.scan.skipped[path] = self.scan.refused[path] = FOREIGN_LINK
            return False
        self.scan.found[native] = ScannedEntry(native, path, entry.path, kind, key, name_hex, has_log)
        return True

    def _subfolder(self, entry: FolderEntry, relative: str) -> bool:
        if self.root.only is not None and not any(may_hold(glob, relative) for glob in self.root.only):
            self._name_beside(archive_names.to_archive_name(relative)[0], is_folder=True)
            return False
        placed = self._placed(relative, is_folder=True)
        if placed is None:
            return False
        status = entry.stat(follow_symlinks=False)
        if status.st_dev != self.status.st_dev:
            self.scan.mounts.add(f"{self.root.prefix}{relative}/")
        is_kept = self._folder(entry.path, relative + "/")
        path, name_hex = placed
        # In the state directory, only selected files and the folders around them are captured.
        if (not is_kept and self.root.only is None) or (is_kept and not has_usual_rights(status.st_mode)):
            native = self.root.prefix + relative
            key = StatKey(0, 0, 0, 0, status.st_mode)
            self.scan.found[native] = ScannedEntry(native, path, entry.path, FOLDER, key, name_hex)
        return is_kept or self.root.only is None

    def _placed(self, relative: str, *, is_folder: bool, is_file: bool = False) -> tuple[str, str | None] | None:
        """Return the archive path and name of something to capture; None, with the reason noted, for the rest. Only
        regular files are artifacts."""
        name, name_hex = archive_names.to_archive_name(relative)
        path = self.root.prefix + name
        if not is_folder and not self._is_wanted(name):
            self._name_beside(name, is_folder=False)
            return None
        if name.rpartition("/")[2].startswith(OURS):
            self.scan.skipped[path + "/" * is_folder] = "a temporary folder of a restore"
            return None
        if self.is_workspace and self.ignore.matches(name, is_folder=is_folder):
            self.scan.skipped[path + "/" * is_folder] = "excluded by .lifeboatignore"
            return None
        placement = self.adapter.place(path, is_folder=is_folder)
        if placement is Placement.EXCLUDED:
            reason = self.adapter.exclusion(path, is_folder=is_folder)
            self.scan.skipped[path + "/" * is_folder] = reason or "excluded by the runtime's adapter"
            return None
        if placement is Placement.ARTIFACT and self.is_workspace and is_file:
            path = archive_layout.ARTIFACTS + name
        return path, name_hex

    def _name_beside(self, name: str, *, is_folder: bool) -> None:
        """Note what lies in the state directory and is not captured."""
        path = self.root.prefix + name
        reason = self.adapter.exclusion(path, is_folder=is_folder) or "not part of this agent"
        self.scan.beside[path + "/" * is_folder] = reason

    def _is_wanted(self, name: str) -> bool:
        return self.root.only is None or any(fnmatch.fnmatchcase(name, glob) for glob in self.root.only)


def is_foreign_link(found: os.stat_result, root: os.stat_result) -> bool:
    """Return whether a file has more than one name and another owner than its root.

    Otherwise an agent with its own user id could link a file that only this user may read, and have it captured.
    """
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1 and found.st_uid != root.st_uid


def _key(entry: FolderEntry, log: FolderEntry | None) -> StatKey:
    """Return the stat of an entry and its log. Raises OSError."""
    key = stat_key_of(entry.stat(follow_symlinks=False))
    if log is not None:
        with contextlib.suppress(FileNotFoundError):
            return sqlite_files.add_log_stat(key, log.stat(follow_symlinks=False))
    return key


def _kind(mode: int) -> str | None:
    if stat.S_ISREG(mode):
        return FILE
    return LINK if stat.S_ISLNK(mode) else FOLDER if stat.S_ISDIR(mode) else None


def may_hold(glob: str, folder: str) -> bool:
    """Return whether a file below `folder` could match a glob whose `*` crosses `/`."""
    literal = re.split(r"[*?\[]", glob, maxsplit=1)[0]
    return literal.startswith(folder + "/") or (literal != glob and (folder + "/").startswith(literal))


def scan_roots(
    files: FileOperations,
    roots: list[CaptureRoot],
    adapter: Adapter,
    ignore: IgnoreFile,
    known: Mapping[str, KnownFile],
) -> RootScan:
    """Scan all roots, of which the first is the workspace. Raises nothing: what cannot be read is noted in the
    result."""
    held = files if isinstance(files, HeldRoots) else HeldRoots(files, roots)
    scan = RootScan(held)
    for number, root in enumerate(roots):
        RootWalk(held, root, adapter, ignore, known, scan, number == 0).run()
    return scan
