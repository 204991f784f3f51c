"""Key in a file outside the folder of the data: `file:/path`. Readable by its owner only, 32 bytes as hexadecimal."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import platformdirs

from lifeboat_alf.seams.file_operations import NotRegular, SystemFiles
from lifeboat_vault.at_rest.key_sources.local_key import KEY_BYTES, LocalKey, parse_local_key
from lifeboat_vault.errors import KeyRevoked, KeySourceRefused

SCHEME = "file"
_OTHERS = 0o077
_LONGEST = 1024
_FILES = SystemFiles()


def default_file(endpoint_id: str) -> Path:
    """Return the default path of an endpoint's own key: `endpoint/<id>.key` in the user's configuration folder of
    Lifeboat (`$XDG_CONFIG_HOME/lifeboat` or `~/.config/lifeboat`)."""
    return platformdirs.user_config_path("lifeboat", appauthor=False) / "endpoint" / f"{endpoint_id}.key"


class FileKind:
    """`KeySourceKind` of key files."""

    def open(self, where: str, *, outside: Path) -> LocalKey:
        path = place_outside(where, outside)
        return LocalKey(f"{SCHEME}:{where}", lambda: _read(path))

    def make(self, where: str, *, outside: Path) -> None:
        path = place_outside(where, outside)
        try:
            _FILES.make_folders(path.parent, 0o700)
            _FILES.write_new(path, os.urandom(KEY_BYTES).hex().encode() + b"\n", mode=0o600)
            _FILES.sync_folder(path.parent)
        except FileExistsError:
            _read(path)
        except OSError as error:
            raise KeySourceRefused(f"the key file {path} cannot be created: {error.strerror or error}") from None


def place_outside(where: str, outside: Path) -> Path:
    """Return the path with links resolved. Raises KeySourceRefused for one in the folder of the data, where a thief of
    the disk would get the key too."""
    path = Path(where).expanduser()
    if not path.is_absolute():
        raise KeySourceRefused(f"the path of a key file must be absolute, but is {where}")
    found, data = path.resolve(), outside.resolve()
    if found.is_relative_to(data):
        raise KeySourceRefused(
            f"the key file {path} is in {outside}, the folder of the data: anyone who steals the data would also "
            "have the key",
            fix=f"use a key file outside of {outside}",
        )
    return found


def _read(path: Path) -> bytes | None:
    """Return the key; None for a missing file. Raises KeySourceRefused when others can read it or it holds no key,
    KeyRevoked when it is not readable."""
    try:
        descriptor = _FILES.open_regular(path)
    except FileNotFoundError:
        return None
    except NotRegular:
        raise KeySourceRefused(f"the key file {path} is not a regular file") from None
    except OSError as error:
        raise KeyRevoked(f"the key file {path} cannot be read: {error.strerror or error}") from None
    with os.fdopen(descriptor, "rb") as stream:
        _refuse_open_to_others(path, os.fstat(descriptor))
        key = parse_local_key(stream.read(_LONGEST).decode("ascii", "replace"))
    if key is None:
        raise KeySourceRefused(f"the key file {path} must contain {KEY_BYTES} bytes in hexadecimal or base64")
    return key


def _refuse_open_to_others(path: Path, status: os.stat_result) -> None:
    if os.name != "nt" and status.st_mode & _OTHERS:
        mode = stat.S_IMODE(status.st_mode)
        raise KeySourceRefused(f"other users can read the key file {path} (mode {mode:04o})", fix=f"chmod 600 {path}")


KEY_SOURCE_KIND = FileKind()
