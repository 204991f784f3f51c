"""Read and write key files: 0600 in a 0700 folder, written once, read back before use, refused when others can read
them."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import filelock
import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError, SignatureError
from lifeboat_alf.seams.file_operations import TEMPORARY, FileOperations, NotRegular, write_atomic
from lifeboat_keys.errors import KeyDamaged, KeysError
from lifeboat_keys.home.key_file_names import IRREPLACEABLE

Checked = TypeVar("Checked")

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_OTHERS = 0o077
_LOCK = ".lock"
_LOCK_SECONDS = 30.0
_LARGEST = 16 << 20
"""Maximum bytes of a document, far beyond an agent with thousands of pairs."""


class KeyFiles:
    """The JSON documents of one folder. Every error is a KeysError that names a command that helps.

    `spares` is a second folder with a copy of each document that `read_checked` reads. No secret document is read that
    way.
    """

    def __init__(self, folder: Path, files: FileOperations, spares: Path | None = None) -> None:
        self.folder = folder
        self._files = files
        self._spares = spares

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of this folder, which is created if missing. The lock is reentrant within a thread."""
        self._make_folder(self.folder)
        lock = filelock.FileLock(self.folder / _LOCK, timeout=_LOCK_SECONDS, mode=FILE_MODE, is_singleton=True)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise KeysError(
                f"another program has been using {self.folder} for more than {_LOCK_SECONDS:.0f} seconds"
            ) from None
        except OSError as error:
            raise KeysError(f"the lock file {self.folder / _LOCK} cannot be used: {error.strerror or error}") from None
        try:
            if lock.lock_counter == 1:
                self._sweep()
            yield
        finally:
            lock.release()

    def read(self, name: str) -> JsonObject | None:
        """Return a document; None when it is missing. Raises KeysError.UNSAFE, KeyDamaged."""
        path = self.folder / name
        data = read_private(self._files, path)
        if data is None:
            return None
        self._check_folder(path.parent)
        return _document(path, data)

    def read_checked(self, name: str, check: Callable[[JsonObject], Checked]) -> Checked | None:
        """Return the result of `check` on a document, or on its spare when the document is missing or damaged; the
        document is then written again. None when both are missing.

        `check` raises KeyDamaged or SignatureError for invalid content. Raises that error of the document where no
        spare is better, KeysError.UNSAFE, and KeysError for an unreadable file.
        """
        try:
            document = self.read(name)
            found = None if document is None else check(document)
        except (KeyDamaged, SignatureError):
            spare = self._checked_spare(name, check)
            if spare is None:
                raise
            return self._put_back(name, *spare)
        if document is not None and found is not None:
            self._keep_spare(name, document)
            return found
        spare = self._checked_spare(name, check)
        return None if spare is None else self._put_back(name, *spare)

    def _checked_spare(self, name: str, check: Callable[[JsonObject], Checked]) -> tuple[JsonObject, Checked] | None:
        """Return the spare and the result of `check`; None for an unusable spare."""
        with contextlib.suppress(KeysError, SignatureError):
            document = self._read_spare(name)
            if document is not None:
                return document, check(document)
        return None

    def _put_back(self, name: str, document: JsonObject, found: Checked) -> Checked:
        with contextlib.suppress(KeysError), self.locked():  # read from the spare if the home is not writable
            if self._read_spare(name) == document:  # otherwise another process destroyed or replaced it meanwhile
                self.replace(name, document)
        return found

    def _keep_spare(self, name: str, document: JsonObject) -> None:
        """Write the spare of a valid document. Failing (for example on a full disk) is fine; nothing may depend on a
        spare."""
        with contextlib.suppress(KeysError):
            if self._spares is None or self._is_spared(name, document):
                return
            with self.locked():
                if self.read(name) == document:
                    self._write_spare(name, document)

    def _is_spared(self, name: str, document: JsonObject) -> bool:
        try:
            return self._read_spare(name) == document
        except KeysError:
            return False

    def _read_spare(self, name: str) -> JsonObject | None:
        if self._spares is None:
            return None
        data = read_private(self._files, self._spares / name)
        return None if data is None else _document(self._spares / name, data)

    def _write_spare(self, name: str, document: JsonObject) -> None:
        if self._spares is None:
            return
        with contextlib.suppress(OSError):
            self._files.make_folders((self._spares / name).parent, FOLDER_MODE)
            write_atomic(self._files, self._spares / name, json_codec.encode_pretty(document) + b"\n", mode=FILE_MODE)

    def _remove_spare(self, name: str) -> None:
        if self._spares is None:
            return
        path = self._spares / name
        try:
            self._files.remove(path)
            self._files.sync_folder(path.parent)
        except FileNotFoundError:
            return
        except OSError as error:
            raise KeysError(f"{path} could not be removed: {error.strerror or error}") from None

    def write_once(self, name: str, document: JsonObject) -> None:
        """Create a document and read it back. Raises KeysError.EXISTS when the name is taken. Requires `locked`."""
        path = self.folder / name
        if self._is_there(path):
            raise KeysError.EXISTS(f"{path} exists already")
        self.replace(name, document)

    def replace(self, name: str, document: JsonObject) -> None:
        """Write a document that may be overwritten, and read it back. Requires `locked`."""
        path = self.folder / name
        self._make_folder(path.parent)
        try:
            write_atomic(self._files, path, json_codec.encode_pretty(document) + b"\n", mode=FILE_MODE)
        except OSError as error:
            raise KeysError(f"{path} could not be written: {error.strerror or error}") from None
        if self.read(name) != document:
            raise KeyDamaged(f"{path} was written, but contains something else when read again")
        if self._spares is not None and self._has_spare(name):
            self._write_spare(name, document)

    def remove(self, name: str) -> None:
        """Delete a document for good, its spare first. Requires `locked`."""
        path = self.folder / name
        self._remove_spare(name)
        try:
            self._files.remove(path)
            self._files.sync_folder(path.parent)
        except OSError as error:
            raise KeysError(f"{path} could not be removed: {error.strerror or error}") from None

    def _has_spare(self, name: str) -> bool:
        return self._spares is not None and self._is_there(self._spares / name)

    def discard(self, name: str) -> bool:
        """Delete a document and its spare for good, if present; return False when neither was. Requires `locked`."""
        had_spare, had = self._has_spare(name), self.has(name)
        if had:
            self.remove(name)
        elif had_spare:
            self._remove_spare(name)
        return had or had_spare

    def names(self, folder: str = "") -> list[str]:
        """Return the sorted names of the files in this folder, or in one below it, including files there of which only
        the spare is left."""
        found = self._names_in(self.folder / folder)
        if folder and self._spares is not None:
            found |= self._names_in(self._spares / folder)
        return sorted(f"{folder}/{name}" if folder else name for name in found)

    def _names_in(self, folder: Path) -> set[str]:
        try:
            return {one.name for one in self._files.scan(folder)}
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise _unreadable(folder, error) from None

    def has(self, name: str) -> bool:
        """Return whether a document exists, readable or not."""
        return self._is_there(self.folder / name)

    def _sweep(self) -> None:
        """Remove what interrupted writes left, because it may hold a key. The caller holds the lock."""
        with contextlib.suppress(OSError):
            for entry in self._files.scan(self.folder):
                inside = self._files.scan(entry) if entry.is_dir(follow_symlinks=False) else []
                for one in (entry, *inside):
                    if one.name.startswith(".") and one.name.endswith(TEMPORARY):
                        self._files.remove(one)

    def _is_there(self, path: Path) -> bool:
        return self._status(path) is not None

    def _status(self, path: Path) -> os.stat_result | None:
        try:
            return self._files.lstat(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(path, error) from None

    def _make_folder(self, folder: Path) -> None:
        try:
            self._files.make_folders(folder, FOLDER_MODE)
        except OSError as error:
            raise KeysError(f"{folder} could not be created: {error.strerror or error}") from None
        self._check_folder(folder)

    def _check_folder(self, folder: Path) -> None:
        status = self._status(folder)
        if status is None or not stat.S_ISDIR(status.st_mode):
            raise KeysError.UNSAFE(f"{folder} must be a directory, not a file or a link")
        _refuse_open_to_others(folder, status)


def read_private(files: FileOperations, path: Path) -> bytes | None:
    """Return the bytes of a file that only its owner can use; None when it is missing. Raises KeysError.UNSAFE,
    KeysError, and KeyDamaged for one larger than any that this program writes."""
    try:
        descriptor = files.open_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from None
    with os.fdopen(descriptor, "rb") as stream:
        _refuse_open_to_others(path, os.fstat(descriptor))
        data = stream.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise KeyDamaged(f"{path} was changed or damaged: the file has more than {_LARGEST >> 20} MiB")
    return data


def _refuse_open_to_others(path: Path, status: os.stat_result) -> None:
    if os.name == "nt":  # no mode bits on Windows; an access list keeps the user's profile private
        return
    if status.st_uid != os.geteuid():
        raise KeysError.UNSAFE(f"{path} belongs to another user", fix=f"sudo chown $(id -u) {path}")
    if status.st_mode & _OTHERS:
        mode = FOLDER_MODE if stat.S_ISDIR(status.st_mode) else FILE_MODE
        found = stat.S_IMODE(status.st_mode)
        raise KeysError.UNSAFE(
            f"{path} has mode {found:04o}, so other users can access it", fix=f"chmod {mode:o} {path}"
        )


def _unreadable(path: Path, error: OSError) -> LifeboatError:
    if isinstance(error, NotRegular) or path.is_symlink():
        return KeysError.UNSAFE(f"{path} is not a regular file")
    return KeysError(f"{path} cannot be read: {error.strerror or error}")


def _document(path: Path, data: bytes) -> JsonObject:
    try:
        document = json_codec.decode_json(data)
    except (msgspec.DecodeError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise KeyDamaged(f"{path} was changed or damaged", fix=_repair(path))
    return document


def _repair(path: Path) -> str:
    """Return how to repair a file. The recovery words restore everything except random and unfinished documents."""
    if IRREPLACEABLE & {path.name, path.parent.name}:
        return f"restore {path.name} from a backup of {path.parent}"
    return f"mv {path} {path}.damaged, then: lifeboat keys recover"
