"""The data folder of Aionforge, whose files are copied while the program is stopped and never parsed.

The log is a database that differs with each release. A running program holds a lock on it. A file that is read
meanwhile may contain half of a change, so the last copy is kept.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from lifeboat_adapters.contract import Placement
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.exclusion_rules import VERSION_CONTROL, is_version_control
from lifeboat_adapters.secrets import dotenv_leaves, secret_finder, toml_leaves
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_formats.aionforge.aionforge_mapping import RUNTIME

RAW = f"raw/{RUNTIME}/"
LOG, CONFIG = "wal.log", "config.toml"
AUDIT, SEED, KEYRING = "audit/", "audit/audit_seed", "audit/audit_keyring.json"
HOME = ".aionforge"
DATA_DIR = "AIONFORGE_DATA_DIR"
MAGIC = b"SLDB"

AUDIT_SERVICE = "aionforge-audit"
_LARGEST_SETTINGS = 1 << 20
_OF_A_RUN = (".lock", ".pid", ".sock", ".tmp")


def is_log(path: Path) -> bool:
    """Return whether a file is the log of an instance, by its first bytes."""
    try:
        with _opened(path) as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def is_locked(path: Path) -> bool:
    """Return whether a running program holds a log. Nothing is written, and the probing lock is released at once. A log
    that cannot be opened counts as held."""
    try:
        with _opened(path) as stream:
            return _is_held(stream.fileno())
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _opened(path: Path) -> BinaryIO:
    """Open a regular file without following links or waiting for a FIFO. Raises OSError."""
    return os.fdopen(SystemFiles().open_regular(path), "rb")


def _is_held(descriptor: int) -> bool:
    if os.name != "posix":
        return False  # elsewhere a locked file cannot be opened at all
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.lockf(descriptor, fcntl.LOCK_UN)
    except OSError:
        return True
    return False


def is_part_of_store(path: str) -> bool:
    """Return whether a file changes together with the log, so that it is only copied while no program runs."""
    name = path.removeprefix(RAW)
    return path.startswith(RAW) and (name == LOG or name.startswith(AUDIT))


def place_path(path: str, *, is_folder: bool) -> Placement:
    return Placement.EXCLUDED if explain_exclusion(path, is_folder=is_folder) else Placement.MANAGED


def explain_exclusion(path: str, *, is_folder: bool) -> str | None:
    """Return why a path is not captured, in words for the user, or None if it is captured."""
    if any(map(is_version_control, path.split("/"))):
        return VERSION_CONTROL
    name = path.rpartition("/")[2]
    return (
        None if is_folder or not name.endswith(_OF_A_RUN) else "the file belongs to a running program on this machine"
    )


def find_file_secrets(path: str, data: bytes) -> list[FileSecret] | None:
    """Return the seed of the audit key and the secrets in the configuration. Raises UnparsableSecrets."""
    if not path.startswith(RAW):
        return None
    name = path.removeprefix(RAW)
    if name == SEED:
        if not data.strip():
            return []
        return [FileSecret(0, len(data), data.decode("utf-8", "surrogateescape"), AUDIT_SERVICE, "custom", SEED)]
    if name == CONFIG or name.endswith((f"/{CONFIG}", ".env")) or name == ".env":
        if len(data) > _LARGEST_SETTINGS:
            raise UnparsableSecrets(f"{name} is too large for a settings file")
        leaves = toml_leaves.scan_toml(data) if name.endswith(".toml") else dotenv_leaves.scan_dotenv(data)
        return secret_finder.add_secret_matches(name, data, _labelled(name, data, leaves))
    return None


def _labelled(name: str, data: bytes, leaves: list[ParsedLeaf]) -> list[FileSecret]:
    found = secret_finder.secrets_of(data, leaves)
    return [
        FileSecret(each.start, each.end, each.value, each.service, each.credential_type, f"{name}: {each.label}")
        for each in found
    ]
