"""The checksum of a bundle and the hash of a content (section 2.8): SHA-256 over RFC 8785, in pieces.

RFC 8785 orders the members of an object by their names. A bundle is written in that order one record at a time, so that
neither a checksum nor a signature needs it whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem.wire.bundle_model import BundleRefused
from lifeboat_formats.aimem.wire.strict_json import canonical_json

PREFIX = "sha256:"
_PIECE = 1 << 16


def canonical_pieces(head: JsonObject, arrays: Mapping[str, Iterable[bytes]]) -> Iterator[bytes]:
    """The RFC 8785 form of a bundle: `head` is its members but for the arrays, each array its records in canonical
    form. Raises BundleRefused (`not_canonicalizable`)."""
    return _joined(_small_pieces(head, arrays))


def digest_pieces(pieces: Iterable[bytes]) -> str:
    """`sha256:` and 64 digits in lower case."""
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return PREFIX + found.hexdigest()


def hash_content(content: str) -> str:
    """The hash of a content (section 2.2), as it is: no normalisation. Raises BundleRefused (`not_canonicalizable`) for
    half a character."""
    try:
        return digest_pieces((content.encode(),))
    except UnicodeEncodeError:
        message = "it holds half a character"
        raise BundleRefused(message, format_code="not_canonicalizable", where="content") from None


def _small_pieces(head: JsonObject, arrays: Mapping[str, Iterable[bytes]]) -> Iterator[bytes]:
    before = b"{"
    for name in sorted({*head, *arrays}, key=_order):
        yield before + canonical_json(name) + b":"
        if name in arrays:
            yield from _array(arrays[name])
        else:
            yield canonical_json(head[name], where=name)
        before = b","
    yield b"}" if before == b"," else b"{}"


def _order(name: str) -> bytes:
    """UTF-16 code units (RFC 8785, section 3.2.3)."""
    return name.encode("utf-16-be", "surrogatepass")


def _array(records: Iterable[bytes]) -> Iterator[bytes]:
    before = b"["
    for record in records:
        yield before
        yield record
        before = b","
    yield b"]" if before == b"," else b"[]"


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer pieces."""
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) >= _PIECE:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)
