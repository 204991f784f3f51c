"""`SealedFiles` in a folder: a share, a stick, a folder that another program synchronises.

    lifeboat.json                     which remote this is: {kind, version, id, created_at, sealed}
    readme.txt                        for people who find it
    agents/<agent id>/head.json       the head; head.next.json while it is being replaced
    agents/<agent id>/<name>          the files
    agents/<agent id>/head.lock       there only while a head is replaced

The folder needs no database, no locks of the system, no links and no capitals in names: FAT and SMB are enough. A file
gets its name once all of it is on the disk. A folder that is not mounted looks like an empty one, or like another
remote. Both mean that this remote cannot be reached now, never that it is empty.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.seams.file_operations import FileOperations, read_all
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_core.remotes.sealed import folder_problems
from lifeboat_core.remotes.sealed.folder_lock import FolderLock
from lifeboat_core.remotes.sealed.log_files import HeadMoved, StoredFile
from lifeboat_vault import errors

KIND = "lifeboat folder"
VERSION = 1
ROOT_FILE = "lifeboat.json"
README = "readme.txt"
AGENTS = "agents"
HEAD, NEXT, LOCK = "head.json", "head.next.json", "head.lock"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,99}")
_HALF = re.compile(r"\.(.+)\.[0-9a-f]{12}\.tmp")
_OWN = frozenset((HEAD, NEXT, LOCK))
_LARGEST_DOCUMENT = 16 << 20
"""Bytes. Heads stay far below (see `log_contents`)."""
_ABANDONED = 86400.0
"""Seconds after which a half-written file is abandoned."""
_README_TEXT = """This folder is a remote of Agent Lifeboat: a copy of AI agents.
Do not change its files. To restore an agent: lifeboat remote add NAME file:///THIS/FOLDER, then
lifeboat restore AGENT --from NAME. Files that end with .age can be opened with the owner's key only.
"""


class _RootDocument(msgspec.Struct, frozen=True):
    """`lifeboat.json`."""

    kind: str
    version: int
    id: str
    created_at: str
    sealed: bool


class FolderFiles:
    """The folder `root`.

    `remote_id` is the id that is expected there; "" for a folder that is being added: one that is no remote yet becomes
    one when its id is asked for. `sealed` says how its files are kept.
    """

    def __init__(self, root: Path, remote_id: str, files: FileOperations, clock: Clock, *, sealed: bool) -> None:
        self._root = root
        self._id = remote_id
        self._files = files
        self._clock = clock
        self._sealed = sealed
        # Encrypted files may be readable for other users of the share; files in plain text are for their owner alone.
        self._mode, self._folder_mode = (0o666, 0o777) if sealed else (0o600, 0o700)

    def identity(self) -> str:
        """Also raises RemoteRefused: it is kept the other way (sealed, plain), or by a newer release."""
        with self._translated():
            found = self._read_root()
            if found is None:
                if self._id:
                    raise folder_problems.explain_absent_remote(self._root)
                found = self._make()
        if self._id and found.id != self._id:
            raise folder_problems.explain_other_remote(self._root, found.id)
        self._id = found.id
        return self._id

    def agents(self) -> list[str]:
        with self._there():
            try:
                found = self._files.scan(self._root / AGENTS)
            except FileNotFoundError:
                return []
            return sorted(item.name for item in found if ids.is_uuid(item.name) and item.is_dir())

    def add_agent(self, agent_id: str) -> None:
        folder = self._folder(agent_id)
        with self._there():
            if not folder.is_dir():
                self._files.make_folders(folder, self._folder_mode)
                self._files.sync_folder(folder.parent)
                self._files.sync_folder(self._root)

    def names(self, agent_id: str) -> list[StoredFile]:
        with self._there():
            try:
                found = {item.name: self._files.lstat(item.path) for item in self._files.scan(self._folder(agent_id))}
            except FileNotFoundError:
                return []
        self._drop_abandoned(agent_id, found)
        now = found[HEAD].st_mtime if HEAD in found else None
        return sorted(
            (_stored(name, status, now) for name, status in found.items() if _is_file(name, status)),
            key=lambda file: file.name,
        )

    def put(self, agent_id: str, name: str, source: BinaryIO) -> None:
        path = self._path(agent_id, name)
        half = path.with_name(_half(name))
        with self._there():
            if path.exists():
                raise errors.RemoteRefused(f"the file {name} exists already")
            try:
                self._files.write_from(half, source, mode=self._mode)
                self._files.replace(half, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    self._files.remove(half)
                raise
            self._files.sync_folder(path.parent)

    def read(self, agent_id: str, name: str) -> BinaryIO:
        path = self._path(agent_id, name)
        with self._there():
            try:
                return os.fdopen(self._files.open_regular(path), "rb")
            except FileNotFoundError:
                raise errors.UnknownAtRemote(f"the remote has no file {name}") from None

    def remove(self, agent_id: str, name: str) -> None:
        with self._there(), contextlib.suppress(FileNotFoundError):
            self._files.remove(self._path(agent_id, name))

    def remove_unfinished(self, agent_id: str, is_wanted: Callable[[str], bool]) -> None:
        folder = self._folder(agent_id)
        with self._there():
            found = [item.name for item in self._files.scan(folder)] if folder.is_dir() else []
            for name in found:
                half = _HALF.fullmatch(name)
                if half is not None and is_wanted(half[1]):
                    with contextlib.suppress(FileNotFoundError):
                        self._files.remove(folder / name)

    def head(self, agent_id: str) -> tuple[bytes, str] | None:
        with self._there():
            data = self._head(self._folder(agent_id))
        return None if data is None else (data, _tag(data))

    def set_head(self, agent_id: str, data: bytes, expected: str | None) -> str:
        folder = self._folder(agent_id)
        with self._there():
            lock = FolderLock(folder / LOCK, self._files, self._clock)
            with lock.held():
                known = self._head(folder)
                if (None if known is None else _tag(known)) != expected:
                    raise HeadMoved("another machine wrote to the remote at the same time")
                self._replace_head(folder, data, lock)
        return _tag(data)

    def remove_agent(self, agent_id: str) -> None:
        """Remove an agent, its head first: from then on the agent does not exist there."""
        folder = self._folder(agent_id)
        with self._there(), contextlib.suppress(FileNotFoundError):
            with FolderLock(folder / LOCK, self._files, self._clock).held():
                for name in (NEXT, HEAD):
                    with contextlib.suppress(FileNotFoundError):
                        self._files.remove(folder / name)
                for item in self._files.scan(folder):
                    if item.name != LOCK:
                        self._files.remove(item.path)
            self._files.remove_folder(folder)
            self._files.sync_folder(folder.parent)

    def close(self) -> None:
        """Nothing is held open."""

    # The root -------------------------------------------------------------------------------------------------------

    def _read_root(self) -> _RootDocument | None:
        try:
            data = self._read_small(self._root / ROOT_FILE)
        except FileNotFoundError:
            return None
        try:
            found = msgspec.json.decode(data, type=_RootDocument)
        except (msgspec.DecodeError, RecursionError):
            found = None
        if found is None or found.kind != KIND or not ids.is_uuid(found.id):
            raise errors.RemoteDamaged(
                f"{self._root / ROOT_FILE} is damaged, so Lifeboat cannot tell which remote this folder contains"
            )
        if found.version > VERSION:
            raise errors.RemoteRefused("a newer release of Agent Lifeboat created this remote")
        if found.sealed != self._sealed:
            problem = (
                "is encrypted; add the remote without --plain"
                if found.sealed
                else "is not encrypted; add the remote with --plain"
            )
            raise errors.RemoteRefused(f"{self._root} {problem}")
        return found

    def _read_small(self, path: Path) -> bytes:
        """Read a document into memory. Raises RemoteDamaged for one that is too large to be a document."""
        size = self._files.lstat(path).st_size
        if size > _LARGEST_DOCUMENT:
            raise errors.RemoteDamaged(f"{path} has {size} bytes, which is more than Lifeboat writes into such a file")
        return read_all(self._files, path)

    def _make(self) -> _RootDocument:
        if not self._root.parent.exists():
            raise folder_problems.explain_missing_parent(self._root)
        self._files.make_folders(self._root)
        now = times.to_text(self._clock.now())
        made = _RootDocument(KIND, VERSION, ids.make_id(now), now, self._sealed)
        self._files.make_folders(self._root / AGENTS)
        with contextlib.suppress(FileExistsError):
            self._files.write_new(self._root / README, _README_TEXT.encode())
        half = self._root / _half(ROOT_FILE)
        self._files.write_new(half, json_codec.encode_pretty(msgspec.to_builtins(made)))
        self._files.replace(half, self._root / ROOT_FILE)
        self._files.sync_folder(self._root)
        return made

    @contextmanager
    def _there(self) -> Iterator[None]:
        """Check before each access that the folder is this remote, and translate errors."""
        self.identity()
        with self._translated():
            yield

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise folder_problems.explain_system_error(self._root, error) from error

    # Files ----------------------------------------------------------------------------------------------------------

    def _folder(self, agent_id: str) -> Path:
        if not ids.is_uuid(agent_id):
            raise errors.RemoteRefused("the agent id is invalid")
        return self._root / AGENTS / agent_id.lower()

    def _path(self, agent_id: str, name: str) -> Path:
        if not _NAME.fullmatch(name) or name in _OWN or name.endswith("."):
            raise errors.RemoteRefused(f"{name!r} is not a valid file name")
        return self._folder(agent_id) / name

    def _drop_abandoned(self, agent_id: str, found: dict[str, os.stat_result]) -> None:
        """Remove half-written files of writers that ended, by the clock of the file system."""
        now = max((status.st_mtime for status in found.values()), default=0.0)
        for name, status in found.items():
            if name.startswith(".") and name.endswith(".tmp") and now - status.st_mtime > _ABANDONED:
                with contextlib.suppress(OSError):
                    self._files.remove(self._folder(agent_id) / name)

    # The head -------------------------------------------------------------------------------------------------------

    def _head(self, folder: Path) -> bytes | None:
        """Return the head. On FAT a power cut can leave the next head without the old one."""
        with contextlib.suppress(FileNotFoundError):
            return self._read_small(folder / HEAD)
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError, RecursionError):
            data = self._read_small(folder / NEXT)
            json_codec.decode_json(data)
            return data
        return None

    def _replace_head(self, folder: Path, data: bytes, lock: FolderLock) -> None:
        following, head = folder / NEXT, folder / HEAD
        if not head.exists() and self._head(folder) is not None:
            self._files.replace(following, head)
        with contextlib.suppress(FileNotFoundError):
            self._files.remove(following)
        try:
            self._files.write_new(following, data, mode=self._mode)
        except OSError:
            with contextlib.suppress(OSError):
                self._files.remove(following)
            raise
        self._files.sync_folder(folder)
        lock.confirm()
        self._files.replace(following, head)
        self._files.sync_folder(folder)


def _tag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _half(name: str) -> str:
    return f".{name}.{secrets.token_hex(6)}.tmp"


def _is_file(name: str, status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and name not in _OWN and _NAME.fullmatch(name) is not None


def _stored(name: str, status: os.stat_result, now: float | None) -> StoredFile:
    return StoredFile(name, status.st_size, None if now is None else now - status.st_mtime)
