"""Convert names on disk to archive paths and back.

What an archive cannot hold (bytes that are not UTF-8, control characters, backslashes, names that already look
percent-encoded) is percent-encoded, and the original bytes travel in `name_hex`. No two names of one tree get the same
archive path. Names that only some file systems cannot hold stay unchanged; a restore reports them.
"""

from __future__ import annotations

import os
import re
import unicodedata

_ODD = re.compile("[\x00-\x1f\x7f\\\\\ud800-\udfff]|%[0-9A-Fa-f]{2}")
_ENCODED_BYTES = frozenset(range(0x20)) | frozenset(b"\x7f\\%") | frozenset(range(0x80, 0x100))


def to_archive_name(native: str) -> tuple[str, str | None]:
    """Return the archive form of a relative path, and the original bytes in hex if it differs."""
    if not _ODD.search(native):
        return native, None
    raw = os.fsencode(native)
    encoded = "".join(f"%{byte:02X}" if byte in _ENCODED_BYTES else chr(byte) for byte in raw)
    return encoded, raw.hex()


def to_native_name(path: str, name_hex: str | None) -> str:
    """Return the relative path as the file system names it."""
    return path if name_hex is None else os.fsdecode(bytes.fromhex(name_hex))


def fold_name(path: str) -> str:
    """Return the form under which a case-insensitive or normalising file system confuses two names."""
    return unicodedata.normalize("NFC", path).casefold()
