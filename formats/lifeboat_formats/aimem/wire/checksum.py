"""Computes the checksum of a bundle and the hash of a content (section 2.8): SHA-256 over RFC 8785, piece by piece.

RFC 8785 sorts the members of an object by name. A bundle is processed in that order one record at a time, so neither a
checksum nor a signature needs the whole bundle in memory.
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
    """Yield the RFC 8785 form of a bundle. `head` holds the members besides the arrays; the records of each array are
    already canonical. Raises BundleRefused (`not_canonicalizable`)."""
    return _joined(_small_pieces(head, arrays))


def digest_pieces(pieces: Iterable[bytes]) -> str:
    """Return `sha256:` and 64 lower-case digits."""
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return PREFIX + found.hexdigest()


def hash_content(content: str) -> str:
    """Return the hash of a content (section 2.2) without normalisation. Raises BundleRefused (`not_canonicalizable`)
    for a lone surrogate."""
    try:
        return digest_pieces((content.encode(),))
    except UnicodeEncodeError:
        message = "the text contains half of a character (an unpaired surrogate)"
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
    """Return the sort key of a name: its UTF-16 code units (RFC 8785, section 3.2.3)."""
    return name.encode("utf-16-be", "surrogatepass")


def _array(records: Iterable[bytes]) -> Iterator[bytes]:
    before = b"["
    for record in records:
        yield before
        yield record
        before = b","
    yield b"]" if before == b"," else b"[]"


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in larger pieces."""
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) >= _PIECE:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)
