"""Convert archive paths to names on disk, and check whether a file system can hold them.

Names are text with `/`; bytes that are not UTF-8 are lone surrogates (`os.fsdecode`).
"""

from __future__ import annotations

import os
import secrets
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from lifeboat_alf.archive.archive_names import to_archive_name, to_native_name
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_core.agents.name_conflicts import list_parents
from lifeboat_core.errors import RestoreError
from lifeboat_core.texts.readable_json import is_utf8, make_printable

_NAME_BYTES = 255
_PATH_BYTES = 4096
_WINDOWS_RESERVED = frozenset('<>:"\\|?*')


def name_on_disk(path: str, meta: JsonObject, prefix: str) -> str:
    """Return the name under `prefix` as it was on disk. Raises RestoreError.UNSAFE_NAME for one that leaves its folder
    or differs from what the path shows."""
    shown, raw = path.removeprefix(prefix), meta.get("name_hex")
    name = to_native_name(shown, raw)
    if not is_safe_name(name):
        raise RestoreError.UNSAFE_NAME(f"{path} would be written outside of the workspace")
    if raw is not None and to_archive_name(name)[0] != shown:
        raise RestoreError.UNSAFE_NAME(f"{path} would be written under another name, {make_printable(name)}")
    return name


def is_safe_name(name: str) -> bool:
    """Return whether a name stays inside its folder: relative, no empty part, no `.` or `..`, no NUL."""
    parts = name.split("/")
    if "\0" in name or any(part in ("", ".", "..") for part in parts):
        return False
    return os.name != "nt" or not any(":" in part or "\\" in part for part in parts)


def leaves_folder(name: str, target: str, folder: Path) -> bool:
    """Return whether a link `name` in `folder` with this target leads out of the folder, or may: a `..` after a name
    starts wherever that name leads, if it is itself a link."""
    steps = [step for step in target.split("/") if step not in ("", ".")]
    if any(two == ".." != one for one, two in pairwise(steps)):
        return True
    place = os.path.normpath(os.path.join(folder, os.path.dirname(name), target))
    return place != os.fspath(folder) and not place.startswith(os.path.join(folder, ""))


@dataclass(frozen=True, slots=True)
class UnholdableName:
    """A name that the target's file system cannot hold, and why."""

    name: str
    reason: str


def find_unholdable_names(files: FileOperations, folder: Path, names: Iterable[str]) -> list[UnholdableName]:
    """Return which of these names a folder cannot hold. The file system itself is tested in a probe folder, if
    needed."""
    wanted = sorted(set(names), key=os.fsencode)
    found = [UnholdableName(name, reason) for name in wanted if (reason := _too_long(name, folder))]
    twins = _twins(wanted)
    odd = [name for name in wanted if _is_odd(name)]
    if twins or odd:
        found += _probe(files, folder, twins, odd)
    return found


def _too_long(name: str, folder: Path) -> str | None:
    if any(len(os.fsencode(part)) > _NAME_BYTES for part in name.split("/")):
        return f"a part of the name is longer than {_NAME_BYTES} bytes"
    if len(os.fsencode(folder)) + len(os.fsencode(name)) + 1 >= _PATH_BYTES:
        return f"the whole path is longer than {_PATH_BYTES} bytes"
    return None


def _is_odd(name: str) -> bool:
    """Return whether some file systems refuse a name: bytes that are not UTF-8, characters that Windows reserves."""
    if not is_utf8(name):
        return True
    return sys.platform == "win32" and not _WINDOWS_RESERVED.isdisjoint(name)


def _twins(names: list[str]) -> list[tuple[str, str]]:
    """Return pairs of names (also of folders) that differ only in case or in Unicode form."""
    spelled: dict[str, str] = {}
    pairs: dict[tuple[str, str], None] = {}
    for name in names:
        for part in (*list_parents(name), name):
            known = spelled.setdefault(unicodedata.normalize("NFC", part).casefold(), part)
            if known != part:
                pairs[known, part] = None
    return list(pairs)


def _probe(files: FileOperations, folder: Path, twins: list[tuple[str, str]], odd: list[str]) -> list[UnholdableName]:
    existing = next(place for place in (folder, *folder.parents) if place.is_dir())
    probe = existing / f".lifeboat-probe-{secrets.token_hex(6)}"
    files.make_folders(probe, 0o700)
    try:
        clashes = [
            UnholdableName(second, f"this file system cannot distinguish the name from {first}")
            for first, second in twins
            if _is_one_name(files, probe, first, second)
        ]
        return clashes + [
            UnholdableName(name, "the file system does not allow this name")
            for name in odd
            if not _takes(files, probe, name)
        ]
    finally:
        files.remove_folder(probe)


def _is_one_name(files: FileOperations, probe: Path, first: str, second: str) -> bool:
    """Return whether the file system confuses two names, by the first part that differs."""
    pairs = zip(first.split("/"), second.split("/"), strict=True)
    one, other = next((a, b) for a, b in pairs if a != b)
    files.make_folders(probe / one)
    try:
        return os.path.lexists(probe / other)
    finally:
        files.remove_folder(probe / one)


def _takes(files: FileOperations, probe: Path, name: str) -> bool:
    for part in name.split("/"):
        try:
            files.make_folders(probe / part)
        except OSError:
            return False
        files.remove_folder(probe / part)
    return True
