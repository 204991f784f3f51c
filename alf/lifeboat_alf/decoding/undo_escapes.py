"""Undo textual rewriting, so that a purge finds a text that was rewritten: escapes, entities, quoted-printable, broken
lines."""

from __future__ import annotations

import base64
import binascii
import html
import re
from array import array
from collections.abc import Callable, Iterator

from lifeboat_alf.decoding.decoded_bytes import DecodedBytes, NestedDecoding, Pieces, RewrittenText, Span
from lifeboat_alf.decoding.decoding_budget import LEAST, DecodingBudget

_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
_ESCAPE = re.compile(
    rb"\\u(?P<high>[dD][89abAB][0-9A-Fa-f]{2})\\u(?P<low>[dD][c-fC-F][0-9A-Fa-f]{2})"
    rb"|\\u(?P<four>[0-9A-Fa-f]{4})|\\x(?P<two>[0-9A-Fa-f]{2})|\\(?P<octal>[0-3][0-7]{2})"
    rb"|\\(?P<one>[bfnrt!-/:-@\[-`{-~])"
)
"""Escapes of JSON, of programming languages, and of Markdown and TeX (a backslash before punctuation)."""
_SIMPLE = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_ENTITY = re.compile(rb"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});")
_QUOTED = re.compile(rb"=(?:\r?\n|([0-9A-F]{2}))")
_QUOTED_COLUMNS = 75
"""Minimum characters before a soft line break of a writer that fills its lines."""
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_CONTINUED = re.compile(rb"\\\r?\n")
"""A line that a shell or a compiler joins with the next one."""
_BYTES = re.compile(rb"[\xc2\xc3][\x80-\xbf]")
_STREAMS_IN_CHARACTERS = (
    b"\x1f\xc2\x8b\x08",
    b"x\xc2\x9c",
    b"x\xc3\x9a",
    b"\xc3\xbd7zXZ\0",
    b"BZh91AY&SY",
    b"PK\x03\x04",
)
r"""First bytes of compressed data whose bytes are written as characters, as in `\x1f\x8b`."""
_MIME_WORD = re.compile(rb"=\?[A-Za-z0-9_-]{1,40}\?([bBqQ])\?([^?\s]{0,1000})\?=(?:\s{1,8}(?==\?))?")
_JOINT = re.compile(
    rb"\\?\r?\n[ \t]*(?:(?:>|#|//|\*)[ \t]*)?"
    rb"|[\"'][ \t]*[+,.]?[ \t]*\\?(?:\r?\n)?[ \t]*[\"']"
    rb"|\xe2\x80[\x8b-\x8f]|\xe2\x81\xa0|\xef\xbb\xbf|\xc2\xad|\x1b\[[0-9;]{0,16}m"
)
"""What may interrupt a word: a line end with the indentation or comment mark of the next line, adjacent string
literals, a zero-width character, a colour change."""
_ASCII = bytes(ord("x") if 0x20 <= byte < 0x7F or byte in b"\t\r\n\x1b" else ord(" ") for byte in range(256))
_STRETCH = re.compile(b"x{%d,}" % LEAST)
_WORDS = bytes(
    ord("x") if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "+/-_") else byte for byte in range(256)
)
_BROKEN = b"x" * 24 + b"\n"
"""Minimum line length. No writer of base64 breaks lines earlier."""


def undo_rewritings(data: bytes, work: DecodingBudget) -> Iterator[DecodedBytes]:
    """Yield the text once for each kind of rewriting that it contains, with that kind undone."""
    for sign, pattern, character in (
        (b"%", _PERCENT, _of_percent),
        (b"\\", _ESCAPE, _of_escape),
        (b"\\", _CONTINUED, _nothing),
        (b"&", _ENTITY, _of_entity),
        (b"=", _QUOTED, _of_quoted),
        (b"=?", _MIME_WORD, _of_mime_word),
    ):
        if sign not in data:
            continue
        lines = _lines_with(data, pattern)
        if lines is not None and work.take(len(lines.data)):
            yield NestedDecoding(replace_matches(lines.data, pattern, character), lines)


def join_broken_lines(data: bytes) -> DecodedBytes | None:
    """Return the text without what breaks words; None when nothing does."""
    return replace_matches(data, _JOINT, _nothing) if _JOINT.search(data) else None


def decode_characters_to_bytes(data: bytes) -> DecodedBytes | None:
    """Return compressed bytes that are written as characters; None when there are none."""
    if data.isascii() or not any(stream in data for stream in _STREAMS_IN_CHARACTERS) or not _BYTES.search(data):
        return None
    return replace_matches(data, _BYTES, _of_character)


def extract_ascii_runs(data: bytes) -> DecodedBytes | None:
    """Return the stretches of ASCII in other bytes, one per line; None when there are none."""
    marked = data.translate(_ASCII)
    found = [hit.span() for hit in _STRETCH.finditer(marked)] if b"x" * LEAST in marked else []
    return _parts(data, found) if found else None


def _lines_with(data: bytes, pattern: re.Pattern[bytes]) -> DecodedBytes | None:
    """Return the lines with a match, each with the following line: data that is encoded twice may continue in a line
    without a match."""
    found = list[Span]()
    hit = pattern.search(data)
    while hit:
        start = data.rfind(b"\n", 0, hit.start()) + 1
        end = _line_end(data, hit.end())
        if found and start <= found[-1][1] + 1:
            start = found.pop()[0]
        found.append((start, _line_end(data, end + 1)))
        hit = pattern.search(data, max(hit.end(), end - 2))  # a match may include the end of this line
    return _parts(data, found) if found else None


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end


def _parts(data: bytes, found: list[Span]) -> DecodedBytes:
    """Return parts of these bytes, each preceded by a line break."""

    def pieces() -> Pieces:
        here, there = array("Q", [0]), array("Q", [found[0][0]])
        for start, end in found:
            here.extend((here[-1] + 1, here[-1] + 1 + end - start))
            there.extend((start, end))
        return here, there

    return RewrittenText(b"".join(b"\n" + data[start:end] for start, end in found), pieces)


def breaks_long_words(data: bytes) -> bool:
    """Return whether a line ends in a word long enough to be part of encoded data."""
    return _BROKEN in data.translate(_WORDS, b"\r\\=\"'")


def replace_matches(
    data: bytes, pattern: re.Pattern[bytes], character: Callable[[re.Match[bytes]], bytes]
) -> DecodedBytes:
    """Return the text with every match replaced by `character(match)`."""

    def pieces() -> Pieces:
        here, there = array("Q", [0]), array("Q", [0])
        for hit in pattern.finditer(data):
            plain = hit.start() - there[-1]
            if plain:
                here.append(here[-1] + plain)
                there.append(hit.start())
            here.append(here[-1] + len(character(hit)))
            there.append(hit.end())
        here.append(here[-1] + len(data) - there[-1])
        there.append(len(data))
        return here, there

    return RewrittenText(pattern.sub(character, data), pieces)


def _nothing(_: re.Match[bytes]) -> bytes:
    return b""


def _of_percent(hit: re.Match[bytes]) -> bytes:
    return bytes.fromhex(hit[1].decode("ascii"))


def _of_escape(hit: re.Match[bytes]) -> bytes:
    if hit["one"]:
        return _SIMPLE.get(hit["one"], hit["one"])
    if hit["octal"]:
        return bytes((int(hit["octal"], 8),))
    if hit["high"]:
        pair = bytes.fromhex((hit["high"] + hit["low"]).decode("ascii"))
        return pair.decode("utf-16-be").encode()
    return chr(int(hit["four"] or hit["two"], 16)).encode("utf-8", "replace")


def _of_entity(hit: re.Match[bytes]) -> bytes:
    return html.unescape(hit[0].decode("ascii")).encode("utf-8", "replace")


def _of_quoted(hit: re.Match[bytes]) -> bytes:
    if hit[1]:
        return bytes.fromhex(hit[1].decode("ascii"))
    line = hit.string[hit.string.rfind(b"\n", 0, hit.start()) + 1 : hit.start()]
    return hit[0] if _is_padded_base64(line, hit.string[hit.end() : hit.end() + LEAST]) else b""


def _is_padded_base64(line: bytes, rest: bytes) -> bool:
    """Return whether `=` at a line end pads base64: the line is shorter than quoted-printable would break it, and no
    base64 follows."""
    if len(line) % 4 != 3 or len(line) == _QUOTED_COLUMNS or line.strip(_LETTERS):
        return False
    return len(rest) < LEAST or bool(rest.strip(_LETTERS))


def _of_character(hit: re.Match[bytes]) -> bytes:
    return hit[0].decode().encode("latin-1")


def _of_mime_word(hit: re.Match[bytes]) -> bytes:
    if hit[1] in b"qQ":
        return binascii.a2b_qp(hit[2], header=True)
    letters = re.sub(rb"[^A-Za-z0-9+/]", b"", hit[2])
    letters = letters[: len(letters) - (len(letters) % 4 == 1)]
    return base64.b64decode(letters + b"=" * (-len(letters) % 4))
