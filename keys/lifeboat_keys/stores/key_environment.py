"""The environment of a home's key: home id, environment variables, and settings that say where the key is stored."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_keys.errors import KeysError
from lifeboat_keys.home.key_files import read_private

KEY_FILE = "LIFEBOAT_KEY_FILE"
PASSPHRASE = "LIFEBOAT_PASSPHRASE"
PASSPHRASE_FILE = "LIFEBOAT_PASSPHRASE_FILE"
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")


def _no_command() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class KeyEnvironment:
    """Environment of one home's key. `key_command` is run only where it is needed ("" for none). `temporary` homes
    never put their key into the OS keyring unasked. `passphrase` was typed for this command."""

    home_id: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    key_command: Callable[[], str] = _no_command
    temporary: bool = True
    passphrase: str | None = field(default=None, repr=False)

    @property
    def key_file(self) -> Path | None:
        named = self.environment.get(KEY_FILE)
        return Path(named).expanduser() if named else None

    @property
    def passphrase_is_given(self) -> bool:
        return self.passphrase is not None or any(self.environment.get(name) for name in (PASSPHRASE, PASSPHRASE_FILE))

    def read_passphrase(self, files: FileOperations) -> str | None:
        """Return the passphrase that was typed or that the environment gives. Raises KeysError.UNSAFE when others can
        read its file, KeysError.NO_PASSPHRASE when the file is empty."""
        if self.passphrase is not None:
            return self.passphrase
        if self.environment.get(PASSPHRASE):
            return self.environment[PASSPHRASE]
        named = self.environment.get(PASSPHRASE_FILE)
        return _passphrase_of(Path(named).expanduser(), files) if named else None

    @property
    def runtime_folder(self) -> Path | None:
        """Return the user's folder for sockets, even in a session whose environment does not name it."""
        if self.environment.get("XDG_RUNTIME_DIR"):
            return Path(self.environment["XDG_RUNTIME_DIR"])
        if os.name != "posix":
            return None
        usual = Path(f"/run/user/{os.geteuid()}")
        return usual if usual.is_dir() else None


def is_in_temporary_folder(folder: Path) -> bool:
    """Return whether a folder lies where the system cleans up."""
    real = Path(os.path.realpath(folder))
    return any(real.is_relative_to(os.path.realpath(each)) for each in (tempfile.gettempdir(), *_TEMPORARY))


def _passphrase_of(path: Path, files: FileOperations) -> str:
    data = read_private(files, path)
    if data is None:
        raise KeysError.NO_PASSPHRASE(f"the file {path}, given in {PASSPHRASE_FILE}, does not exist")
    try:
        passphrase = data.decode("utf-8-sig").rstrip("\r\n")  # some editors write a byte order mark
    except UnicodeDecodeError:
        raise KeysError(f"the file {path} is not text in UTF-8") from None
    if not passphrase:
        raise KeysError.NO_PASSPHRASE(f"the file {path}, given in {PASSPHRASE_FILE}, is empty")
    return passphrase
