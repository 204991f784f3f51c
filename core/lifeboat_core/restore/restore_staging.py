"""Write what a plan wants into a working folder, and compare all bytes with their leaves."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_core.capture.scan_cache import OURS
from lifeboat_core.processes.progress import ignore_units
from lifeboat_core.restore.credential_filler import CredentialFiller
from lifeboat_core.restore.wanted_contents import FILE, FOLDER, LINK, WantedFile
from lifeboat_vault.vault.state_inventory import ProvenState


class FileStager:
    """Writes wanted files, and calls `wrote` after each."""

    def __init__(
        self,
        files: FileOperations,
        state: ProvenState,
        filler: CredentialFiller | None,
        wrote: Callable[[], None] = ignore_units,
        aside: Callable[[], AbstractContextManager[Path]] | None = None,
    ) -> None:
        """Create a stager. `aside` opens a private folder for files that are not written through `files` and are copied
        from there; None: such a file is made in its place."""
        self._files = files
        self._state = state
        self._filler = filler
        self._wrote = wrote
        self._aside = aside
        self._folders: set[Path] = set()
        self._modes: dict[Path, int] = {}

    def write_tree(self, tree: Path, items: Sequence[WantedFile]) -> None:
        """Write a whole folder of files, links and empty folders under their own names."""
        self._make_folder(tree)
        for item in items:
            path = tree / item.name
            self._make_folder(path.parent)
            self.write(path, item)
        self.settle_folders()

    def write(self, path: Path, item: WantedFile) -> None:
        """Write one file, link or folder to an unused path; a folder gets its rights from `settle_folders`. Raises
        OSError, SignatureError."""
        if item.kind == FOLDER:
            self._files.make_folders(path)
            self._modes[path] = item.mode
        elif item.kind == LINK:
            self._files.make_link(item.target, path)
        elif item.make is not None:
            self._make(item.make, path)
        else:
            self._files.write_new(path, self.bytes_of(item), mode=item.mode, sync=False)
        if item.kind == FILE:
            self._files.set_mode(path, item.mode)
        if item.mtime_ns is not None:
            self._files.set_times(path, item.mtime_ns)
        self._wrote()

    def settle_folders(self) -> None:
        """Give folders their rights, the deepest first, because some may not be writable afterwards."""
        for path in sorted(self._modes, key=lambda each: len(each.parts), reverse=True):
            self._files.set_mode(path, self._modes[path])
        self._modes.clear()

    def bytes_of(self, item: WantedFile) -> bytes:
        """Return the bytes of a file after the restore."""
        if item.data is not None:
            body = item.data
        elif item.entry is not None:
            body = self._state.body(item.entry.path)
        else:
            return b""
        is_cut = bool(item.cuts) and (item.data is None or item.data_is_cut) and not item.has_gap
        return self._filler.fill(item, body) if is_cut and self._filler is not None else body

    def _make(self, make: Callable[[Path], None], path: Path) -> None:
        """Let an adapter make a file by its path; if the agent could exchange a folder above it, make it elsewhere and
        copy."""
        if self._aside is None or not path.parent.name.startswith(OURS):
            _made(make, path)
            return
        with self._aside() as folder:
            made = folder / path.name
            _made(make, made)
            with made.open("rb") as stream:
                self._files.write_from(path, stream, mode=0o600)

    def _make_folder(self, folder: Path) -> None:
        if folder not in self._folders:
            self._files.make_folders(folder)
            self._folders.add(folder)


def _made(make: Callable[[Path], None], path: Path) -> None:
    """Make a file. Raises OSError, also for an error of a database."""
    try:
        make(path)
    except sqlite3.Error as error:
        is_full = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
        raise OSError(errno.ENOSPC if is_full else errno.EIO, str(error), str(path)) from error
