"""The home: the one folder with everything of one user.

config.toml  agents/<id>.toml                 settings of the user
profiles/<runtime>.toml                       folder profiles that the user wrote
vault/<id>/  keys/                            the stored data
state/<id>.db                                 caches: deleting them costs seconds
state/keys/  state/<id>.good.toml             copies, used to repair lost or damaged files
remotes/<name>.toml                           remotes, each with its token
instances/<id>.json                           mapping of memories to instances of other systems
locks/  restore/                              locks; journals and undo folders of restores
logs/  run/                                   the daemon's log; its socket
backups/                                      copies from before a new layout, for 30 days
id  version  release                          the id of this home; the layout's version, and the release that made it
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from lifeboat_alf.common import ids
from lifeboat_alf.common.refusal_texts import describe_refusal, refusal_reason
from lifeboat_alf.seams.file_operations import FileOperations, read_all, write_atomic
from lifeboat_core.errors import HomeError, UnknownAgent
from lifeboat_core.home.path_variables import HOME, refuse_relative_paths
from lifeboat_core.processes.installed_release import read_release
from lifeboat_core.texts.misplaced_words import refuse_in_environment

LAYOUT_VERSION = 2
"""1: without logs/ and run/. See `lifeboat_core.migrations`."""
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "davfs", "fuse.davfs", "fuse.sshfs", "ncpfs"})
_FIRST_FOLDERS = ("agents", "vault", "state", "keys", "locks", "restore")
FOLDERS = (*_FIRST_FOLDERS, "logs", "run")
_BEGUN = "begun.lock"
_NESTED = ("keys", "restore", "state", "vault")
"""Folders of the home that hold folders."""
_EFFECTIVE = os.access in os.supports_effective_ids
_WAIT = 10.0
"""Seconds."""
_RELEASE = re.compile(r"[0-9][0-9A-Za-z.+!-]{0,40}")
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of the home. `folder` is absolute; call `open` before the first use."""

    folder: Path

    @classmethod
    def locate(cls, environment: Mapping[str, str]) -> Home:
        """Return the home that `LIFEBOAT_HOME` names, else the platform's folder for a user's data. Raises
        WordsError.WORDS_MISPLACED, HomeError.RELATIVE_PATH."""
        refuse_in_environment(environment)
        refuse_relative_paths(environment)
        named = environment.get(HOME)
        if named:
            return cls(Path(os.path.abspath(os.path.expanduser(named))))
        return cls(platformdirs.user_data_path("lifeboat", appauthor=False))

    @property
    def config_file(self) -> Path:
        return self.folder / "config.toml"

    @property
    def agents_folder(self) -> Path:
        return self.folder / "agents"

    @property
    def vaults_folder(self) -> Path:
        return self.folder / "vault"

    @property
    def state_folder(self) -> Path:
        return self.folder / "state"

    @property
    def profiles_folder(self) -> Path:
        """Return the folder of the user's own folder profiles, which may not exist."""
        return self.folder / "profiles"

    @property
    def keys_folder(self) -> Path:
        return self.folder / "keys"

    @property
    def spare_keys_folder(self) -> Path:
        """Copies of the documents in `keys/` that hold nothing secret in the open."""
        return self.state_folder / "keys"

    @property
    def locks_folder(self) -> Path:
        return self.folder / "locks"

    @property
    def restore_folder(self) -> Path:
        return self.folder / "restore"

    @property
    def logs_folder(self) -> Path:
        return self.folder / "logs"

    @property
    def run_folder(self) -> Path:
        """What exists while the service runs: its socket."""
        return self.folder / "run"

    @property
    def backups_folder(self) -> Path:
        """Exists only once something was migrated."""
        return self.folder / "backups"

    @property
    def remotes_folder(self) -> Path:
        """Exists only once a remote was added."""
        return self.folder / "remotes"

    @property
    def instances_folder(self) -> Path:
        """Exists only once something was sent to another system."""
        return self.folder / "instances"

    def agent_file(self, agent_id: str) -> Path:
        return self.agents_folder / f"{_checked(agent_id)}.toml"

    def vault_folder(self, agent_id: str) -> Path:
        return self.vaults_folder / _checked(agent_id)

    def state_file(self, agent_id: str) -> Path:
        return self.state_folder / f"{_checked(agent_id)}.db"

    def lock_file(self, agent_id: str) -> Path:
        return self.locks_folder / _checked(agent_id)

    def read_id(self, files: FileOperations) -> str:
        """Return the random id of this home. Raises HomeError if it is not open yet."""
        try:
            return read_all(files, self.folder / "id").decode().strip()
        except OSError as error:
            raise HomeError(f"{self.folder}: {describe_refusal(error)}") from error

    def exists(self) -> bool:
        """Return whether a home was made here."""
        return (self.folder / "id").is_file()

    def is_absent(self) -> bool:
        """Return whether nothing, or an empty folder, is here."""
        try:
            return not any(self.folder.iterdir())
        except FileNotFoundError:
            return True
        except OSError:
            return False  # `open` says what is wrong with it

    def open(self, files: FileOperations) -> Home:
        """Create what is missing and check the rest. Raises HomeError.UNSAFE, HomeError.NEWER or HomeError.

        A home of an older layout stays as it is (`is_older`): `lifeboat_core.migrations` migrates it.
        """
        try:
            self._make_folder(files)
            self._check_folder(files)
            if not self.exists():
                self._give_id(files)
            layout = self._layout(files)
            self._make_contents(files, FOLDERS if layout == LAYOUT_VERSION else _FIRST_FOLDERS)
        except Timeout:
            raise HomeError(
                f"{self.folder}: another process has been creating this home for {_WAIT:.0f} seconds"
            ) from None
        except OSError as error:
            raise HomeError(f"{self.folder}: {describe_refusal(error)}") from error
        return self

    @property
    def is_read_only(self) -> bool:
        """Whether no command can change anything here: a read-only disk, a copy, an immutable home. A single folder
        that refuses is among `unusable_folders`."""
        folders = self.vaults_folder, self.state_folder, self.restore_folder
        return not any(os.access(folder, os.W_OK, effective_ids=_EFFECTIVE) for folder in folders)

    def unusable_folders(self) -> list[Path]:
        """Return the folders of this home in which this user cannot list, read or write, by their rights or because
        the disk is read-only."""
        inner = [folder for parent in ("", *_NESTED) for folder in _folders_below(self.folder / parent)]
        wanted = os.R_OK | os.W_OK | os.X_OK
        return [folder for folder in inner if not os.access(folder, wanted, effective_ids=_EFFECTIVE)]

    def layout(self, files: FileOperations) -> int:
        """Return the version of this home's layout. Raises HomeError."""
        path = self.folder / "version"
        try:
            return int(read_all(files, path))
        except (OSError, ValueError) as error:
            raise HomeError(f"{path}: {refusal_reason(error)}") from error

    def is_older(self, files: FileOperations) -> bool:
        """Return whether an earlier release made the home and it was not migrated yet. Raises HomeError."""
        return self.layout(files) < LAYOUT_VERSION

    def set_layout(self, files: FileOperations, version: int) -> None:
        """Write the layout that this home has now, and this release. Raises OSError."""
        write_atomic(files, self.folder / "release", f"{read_release()}\n".encode())
        write_atomic(files, self.folder / "version", f"{version}\n".encode())

    def _make_folder(self, files: FileOperations) -> None:
        if not os.path.lexists(self.folder):
            files.make_folders(self.folder.parent)
            files.make_folders(self.folder, 0o700)

    def _check_folder(self, files: FileOperations) -> None:
        found = files.lstat(self.folder)
        if stat.S_ISLNK(found.st_mode):
            raise HomeError.UNSAFE(f"{self.folder} is a symbolic link; give the path of the directory itself")
        if not stat.S_ISDIR(found.st_mode):
            raise HomeError.UNSAFE(f"{self.folder} is not a directory")
        if not self.exists() and not self._is_ours(files):
            raise HomeError.UNSAFE(
                f"{self.folder} contains files that do not belong to Lifeboat; use an empty or new folder"
            )
        if os.name == "posix":
            self._check_rights(files, found)
        kind = find_file_system(self.folder)
        if kind in _NETWORK:
            raise HomeError.UNSAFE(
                f"{self.folder} is on a network file system ({kind}), on which file locks do not work"
            )

    def _is_ours(self, files: FileOperations) -> bool:
        """Return whether a folder without an id is empty, was begun by a process that ended, or is a home that lost its
        id."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            int(read_all(files, self.folder / "version"))
            return True
        return all(_is_begun(entry.name) for entry in files.scan(self.folder))

    def _check_rights(self, files: FileOperations, found: os.stat_result) -> None:
        if found.st_uid != os.geteuid():
            raise HomeError.UNSAFE(f"{self.folder} belongs to another user")
        if found.st_mode & _WRITABLE_BY_OTHERS and self.exists():
            raise HomeError.UNSAFE(f"other users can write to {self.folder}", fix=f"chmod 700 {self.folder}")
        if stat.S_IMODE(found.st_mode) != 0o700:
            files.set_mode(self.folder, 0o700)

    def _make_contents(self, files: FileOperations, folders: Iterable[str]) -> None:
        for name in folders:
            files.make_folders(self.folder / name, 0o700)

    def _give_id(self, files: FileOperations) -> None:
        """Give the home its id once: two processes may begin at the same time, and one may have ended half-way."""
        files.make_folders(self.locks_folder, 0o700)
        with FileLock(self.locks_folder / _BEGUN, mode=0o600, timeout=_WAIT):
            for entry in files.scan(self.folder):
                if entry.name.endswith(".tmp"):
                    files.remove(entry.path)
            if not self.exists():
                self.set_layout(files, LAYOUT_VERSION)
                write_atomic(files, self.folder / "id", f"{uuid.uuid4()}\n".encode())

    def _layout(self, files: FileOperations) -> int:
        """Return the layout of a home that this release can use; one that lost its version has the newest."""
        if not (self.folder / "version").exists():
            self.set_layout(files, LAYOUT_VERSION)
        version = self.layout(files)
        if version > LAYOUT_VERSION:
            from lifeboat_keys.installers import upgrade_command  # the daemon loads no keys, and only errors need it

            raise HomeError.NEWER(
                f"the home {self.folder} has layout version {version}{self._made_by(files)}; this "
                f"release, {read_release()}, supports versions up to {LAYOUT_VERSION}",
                fix=upgrade_command(),
            )
        return version

    def _made_by(self, files: FileOperations) -> str:
        """Say for people which release made the layout."""
        try:
            found = read_all(files, self.folder / "release").decode().strip()
        except (OSError, UnicodeDecodeError):
            return ""
        return f", created by release {found}" if _RELEASE.fullmatch(found) else ""


def _folders_below(folder: Path) -> list[Path]:
    """Yield folders. One that cannot be listed yields none: it is itself among those of its parent."""
    try:
        found = [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(found)


def _is_begun(name: str) -> bool:
    """Return whether a name belongs to a home that was being made when its process ended."""
    begun = (".id.", ".version.", ".release.")
    return name in ("locks", "version", "release") or (name.startswith(begun) and name.endswith(".tmp"))


def _checked(agent_id: str) -> str:
    """Return an id if it can name files: it may come from an archive. Raises UnknownAgent."""
    if not ids.is_uuid(agent_id):
        raise UnknownAgent(f"{agent_id!r} is not a valid agent id")
    return agent_id


def find_file_system(folder: Path) -> str | None:
    """Return the type of the file system of a folder, if the system tells it (Linux)."""
    return match_file_system(os.path.realpath(folder), list_mounts())


def list_mounts() -> list[tuple[str, str]]:
    """Return the mount points, with the type of each; nothing if the system does not tell."""
    try:
        lines = Path("/proc/self/mounts").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    parts = (line.split(" ") for line in lines)
    return [(mount.replace("\\040", " "), kind) for _, mount, kind, *_ in parts]


def match_file_system(real: str, mounts: Iterable[tuple[str, str]]) -> str | None:
    """Return the type of the file system of a path without links, by its name alone."""
    best, found = -1, None
    for mount, kind in mounts:
        inside = real == mount or real.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= best:
            best, found = len(mount), kind
    return found
