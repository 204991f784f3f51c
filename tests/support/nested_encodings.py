"""Nested encodings, as data, with the pairs that the decoder does not undo."""

from __future__ import annotations

import base64
import bz2
import codecs
import gzip
import html
import io
import lzma
import quopri
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from urllib.parse import quote

from support.disguises import SECRET

SECRETS = (SECRET, "orch_0aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dE3f", "f7c3bc1d808e04732adf679965ccc34c")
Encoding = Callable[[bytes], bytes]


def _lines(data: bytes, length: int, end: bytes) -> bytes:
    return end.join(data[at : at + length] for at in range(0, len(data), length))


def _characters(spell: Callable[[int], str]) -> Encoding:
    return lambda data: "".join(map(spell, data)).encode("ascii")


def _recoded(encoding: str) -> Encoding:
    return lambda data: data.decode("latin-1").encode(encoding)


def _turned(data: bytes) -> bytes:
    return codecs.encode(data.decode("latin-1"), "rot13").encode("latin-1")


def _zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a.txt", _around(data))
    return out.getvalue()


def _tarred(data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        member = tarfile.TarInfo("a.txt")
        member.size = len(data)
        made.addfile(member, io.BytesIO(data))
    return out.getvalue()


def _around(data: bytes) -> bytes:
    """Return the bytes after a text that is worth compressing."""
    return b"before " * 20 + data + b" after"


_COMPRESSED: dict[str, Encoding] = {
    "gzip": lambda data: gzip.compress(_around(data), mtime=1_700_000_000),
    "zlib": lambda data: zlib.compress(_around(data)),
    "bzip2": lambda data: bz2.compress(_around(data)),
    "xz": lambda data: lzma.compress(_around(data)),
    "zip": _zipped,
}
_SPELLED: dict[str, Encoding] = {
    "base64": base64.b64encode,
    "base64url": base64.urlsafe_b64encode,
    "base64 wrapped": base64.encodebytes,
    "base32": base64.b32encode,
    "hexadecimal": lambda data: data.hex().encode(),
    "hexadecimal with colons": lambda data: data.hex(":").upper().encode(),
    "hexadecimal in lines": lambda data: _lines(data.hex().encode(), 60, b"\n") + b"\n",
    "ascii85": base64.a85encode,
    "base85": base64.b85encode,
    "percent": lambda data: quote(data, safe="").encode(),
    "json escapes": _characters(lambda byte: f"\\u{byte:04x}"),
    "html entities": _characters(lambda byte: f"&#{byte};"),
    "quoted-printable": quopri.encodestring,
}
_WIDE: dict[str, Encoding] = {
    "utf-16": _recoded("utf-16"),
    "utf-16 le": _recoded("utf-16-le"),
    "utf-16 be": _recoded("utf-16-be"),
}
ENCODINGS: dict[str, Encoding] = {
    **_SPELLED,
    **_COMPRESSED,
    **_WIDE,
    "tar": _tarred,
    "continued lines": lambda data: _lines(data, 40, b"\\\n"),
    "html escapes": lambda data: html.escape(data.decode("latin-1")).encode("latin-1"),
    "rot13": _turned,
}
TURNED = frozenset((inner, "rot13") for inner in _SPELLED)
IN_ENTITIES = frozenset((inner, "html entities") for inner in _COMPRESSED)
WITHOUT_MARK = frozenset((inner, outer) for inner in _COMPRESSED for outer in ("utf-16 le", "utf-16 be"))
NOT_FOUND = {
    "rot13 of encoded text": TURNED,
    "HTML entities for every byte of compressed data": IN_ENTITIES,
    "UTF-16 characters for every byte of compressed data, without a byte order mark": WITHOUT_MARK,
}
"""The pairs in which a secret is not found, with a description."""


def is_lossless(inner: str, outer: str) -> bool:
    """Return True if this pair reproduces the bytes. A line break inside of binary data would damage them."""
    is_binary = inner in _COMPRESSED or inner in _WIDE or inner == "tar"
    return not (is_binary and outer in ("rot13", "continued lines", "html escapes"))
