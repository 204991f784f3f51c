"""Names on disk as archive paths.

What an archive cannot hold (bytes that are no UTF-8, control characters, backslashes, names that look percent-encoded
already) is percent-encoded; the original bytes travel in `name_hex`. No two names of one tree get the same archive
path. Names that only some file systems cannot hold stay as they are: whoever restores there is told.
"""

from __future__ import annotations

import os
import re
import unicodedata

_ODD = re.compile("[\x00-\x1f\x7f\\\\\ud800-\udfff]|%[0-9A-Fa-f]{2}")
_ENCODED_BYTES = frozenset(range(0x20)) | frozenset(b"\x7f\\%") | frozenset(range(0x80, 0x100))

OURS = ".lifeboat-"
"""How the names of staging and undo folders begin that a restore keeps inside a workspace. Capture never takes one."""


def to_archive_name(native: str) -> tuple[str, str | None]:
    """The archive form of a relative path and, when that differs, the original bytes in hex."""
    if not _ODD.search(native):
        return native, None
    raw = os.fsencode(native)
    encoded = "".join(f"%{byte:02X}" if byte in _ENCODED_BYTES else chr(byte) for byte in raw)
    return encoded, raw.hex()


def to_native_name(path: str, name_hex: str | None) -> str:
    """The way back: a relative path as the file system names it."""
    return path if name_hex is None else os.fsdecode(bytes.fromhex(name_hex))


def fold_name(path: str) -> str:
    """What two names share that a case-insensitive or normalising file system cannot hold both."""
    return unicodedata.normalize("NFC", path).casefold()
