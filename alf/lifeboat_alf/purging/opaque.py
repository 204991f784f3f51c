"""Content in which a text may stand in a form that no search here reads."""

from __future__ import annotations

import re

NOT_READ = (
    "base64 and hexadecimal, compressed files and archives (gzip, zip and others), encrypted files, pictures, sound"
)
"""What a search does not look into, whatever the history holds."""
HEAD = 64 << 10
"""Bytes from the start of a file that are looked at."""
_STARTS = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf\x27\x1c", "7-zip"),
    (b"%PDF-", "PDF"),
    (b"age-encryption.org/", "encrypted"),
    (b"\x89PNG\r\n", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
)
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{100,}")


def form_of(start: bytes) -> str:
    """Return the form of content, by its first bytes, that is not looked into; "" for content that is searched."""
    known = next((name for magic, name in _STARTS if start.startswith(magic)), "")
    return known or ("base64" if _BASE64.search(start) else "")
