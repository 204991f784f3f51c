"""Read the header of a file in the age format (age-encryption.org/v1). Needs no key."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import BinaryIO

from lifeboat_alf.errors import LifeboatError
from lifeboat_keys.errors import AgeError

_MAGIC = b"age-encryption.org/"
_VERSION = b"age-encryption.org/v1\n"
_ARMOR = b"-----BEGIN AGE ENCRYPTED FILE-----"
_LIMIT = 1 << 16
_STANZA = re.compile(rb"^-> (\S+)", re.MULTILINE)
_END = re.compile(rb"\n--- ?")
_MAC_LINE = 44
"""Bytes: 43 characters of base64 and the newline."""
_NONCE, _PIECE, _TAG = 16, 1 << 16, 16
"""Bytes: nonce at the beginning of the payload, content of a piece, and tag after each piece."""
_SHORTEST_PAYLOAD = _NONCE + _TAG
_GREASE = b"-grease"
_KEY = "X25519"
_PASSPHRASE = "scrypt"


@dataclass(frozen=True, slots=True)
class AgeHeader:
    """Header of an age file. `stanzas` are the kinds of recipients in order, without meaningless ones; `size` is the
    header's bytes."""

    armored: bool
    stanzas: tuple[str, ...]
    size: int

    @property
    def wants_passphrase(self) -> bool:
        return _PASSPHRASE in self.stanzas

    @property
    def wants_key(self) -> bool:
        """Return whether an X25519 identity may open the file."""
        return _KEY in self.stanzas


def is_age(source: BinaryIO) -> bool:
    """Return whether a file claims to be in the age format, in any version, armored or not. The position is kept."""
    return _peek(source, len(_ARMOR)).startswith((_MAGIC, _ARMOR))


def read_age_header(source: BinaryIO) -> AgeHeader:
    """Return the header of a seekable file, keeping its position. Raises AgeError.NOT_AGE, AgeError.CUT_SHORT,
    AgeError.CHANGED."""
    start = _peek(source, _LIMIT)
    armored = start.startswith(_ARMOR)
    text = remove_armor(start)
    if _is_cut_magic(text):
        raise AgeError.CUT_SHORT("the file ends within its first line")
    if not text.startswith(_MAGIC):
        raise AgeError.NOT_AGE("the file is not in the age format")
    if not text.startswith(_VERSION):
        raise AgeError.NOT_AGE("the file has an unknown version of the age format")
    end = _END.search(text)
    if end is None:
        raise _without_end(text)
    size = end.end() + _MAC_LINE
    if len(text) < size + _SHORTEST_PAYLOAD:
        raise AgeError.CUT_SHORT("the file ends before its content begins")
    kinds = [kind for kind in _STANZA.findall(text[: end.start()]) if not kind.endswith(_GREASE)]
    return AgeHeader(armored, tuple(kind.decode("ascii", "replace") for kind in kinds), size)


def may_have_size(size: int, content: int) -> bool:
    """Return whether an unarmored file of `size` bytes may hold `content` bytes. Needs no key."""
    pieces = max(1, -(-content // _PIECE))
    payload = _NONCE + content + pieces * _TAG
    return payload < size <= payload + _LIMIT


def remove_armor(start: bytes) -> bytes:
    """Return a file, or the start of one, without its armor. An unarmored one is returned unchanged. Raises
    AgeError.CHANGED."""
    if not start.startswith(_ARMOR):
        return start
    body, end, _ = start.removeprefix(_ARMOR).partition(b"-----END")
    text = b"".join(body.split())
    try:
        return base64.b64decode(text if end else text[: len(text) // 4 * 4], validate=True)
    except binascii.Error:
        raise AgeError.CHANGED("the armor (text encoding) of the file is damaged") from None


def _peek(source: BinaryIO, size: int) -> bytes:
    place = source.tell()
    start = source.read(size)
    source.seek(place)
    return start


def _is_cut_magic(text: bytes) -> bool:
    return len(text) < len(_VERSION) and _VERSION.startswith(text)


def _without_end(text: bytes) -> LifeboatError:
    """Return the error for a header without its last line. A header is ASCII, so other bytes in it mean that it was
    changed, not truncated."""
    if len(text) < _LIMIT and text.isascii():
        return AgeError.CUT_SHORT("the file ends within its encryption header")
    return AgeError.CHANGED("the encryption header of the file is incomplete")
