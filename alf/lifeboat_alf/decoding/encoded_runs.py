"""Decode runs of base64, base32, hexadecimal (with and without separators) and Ascii85."""

from __future__ import annotations

import base64
import re
import string
from array import array
from collections.abc import Callable, Iterator
from functools import cache

from lifeboat_alf.decoding.compressed_streams import begins_with_zlib
from lifeboat_alf.decoding.decoded_bytes import DecodedBytes, EvenRun, OpaqueBlock, Pieces, RewrittenText
from lifeboat_alf.decoding.decoding_budget import LEAST, DecodingBudget

_HEXADECIMAL = b"0123456789abcdefABCDEF"
_BASE64 = _HEXADECIMAL + b"ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ+/-_"
_BASE32 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PRINTABLE = bytes(range(0x20, 0x7F))
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_WORD = 6
"""Consecutive letters that suggest written text rather than random data."""
_STREAMS = (b"\x1f\x8b\x08", b"PK\x03\x04", b"BZh", b"\xfd7zXZ\0")
"""First bytes of compressed data, which contains no words."""
_RUN = re.compile(b"x+")
_SEPARATORS = b" :,-\t\r\nx\\"
"""Separators between digits, with an optional prefix."""
_DIGITS_AND_SEPARATORS = _HEXADECIMAL + _SEPARATORS
_SEPARATED = re.compile(rb"(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ :,\t\r\n-]{1,16}){15,}(?:0x|\\x)?[0-9A-Fa-f]{2}")
_GROUPED = re.compile(rb"(?:[0-9A-Fa-f]{4}[ :,\t\r\n-]{1,16}){7,}[0-9A-Fa-f]{2,4}")
_DUMP = re.compile(
    rb"(?<![0-9A-Fa-f])[0-9A-Fa-f]{6,16}:?[ \t]{1,4}[^\r\n]{1,120}(?:\r?\n[0-9A-Fa-f]{6,16}:?[ \t][^\r\n]*)*"
)
_DUMP_BEGIN = re.compile(rb"(?<![0-9A-Fa-f])[0-9A-Fa-f]{6,16}:?[ \t]{1,4}[0-9A-Fa-f]{2}")
_DUMP_LINE = re.compile(
    rb"^[0-9A-Fa-f]{6,16}:?[ \t]{1,4}((?:[0-9A-Fa-f]{2}[ \t]{0,2}){1,32})(?:[ \t]{2}[^\r\n]*|[ \t]*\|[^\r\n]*)?\r?$",
    re.MULTILINE,
)
_PAIR = re.compile(rb"(?:0x|\\x)?([0-9A-Fa-f]{2})")
_VISIBLE = bytes(range(0x21, 0x7F))
_LEAST_BASE85 = 40
_PIECES85 = re.compile(rb"(?s)(?:.{5}){1,13107}|.{1,4}\Z")
_PIECES_OF_ASCII85 = re.compile(rb"(?:z|[^z]{5}){1,13107}|[^z]{1,4}\Z")
"""Characters decoded at once, because the standard library's decoders allocate memory for each group. `z` is an Ascii85
group between two others."""
_ALPHABETS85 = (
    (bytes((*range(ord("!"), ord("u") + 1), ord("z"))), base64.a85decode),
    (string.digits.encode() + string.ascii_letters.encode() + b"!#$%&()*+-;<=>?@^_`{|}~", base64.b85decode),
)
_LEAST_MARKS85 = 2
"""Minimum kinds of punctuation. Hexadecimal digits in base85 usually have three or more."""
_BASE85_MARKS = frozenset(b"!#$%&()*;<=>?@^`{|}~'\"")


def run_readings(data: bytes, work: DecodingBudget) -> Iterator[DecodedBytes]:
    """Yield every run that decodes to something meaningful."""
    words = list(_runs(data, _BASE64, -(-LEAST * 4 // 3)))
    if not words:
        return  # the other alphabets are subsets of this one and need longer runs
    for start, end in words:
        if _may_be_base64(data[start:end]):
            yield from _base64(data, start, end, work)
    for start, end in _runs(data, _HEXADECIMAL, LEAST * 2):
        yield from _hexadecimal(data, start, end, work)
    for start, end in _runs(data, _BASE32, -(-LEAST * 8 // 5)):
        yield from _base32(data, start, end, work)


def separated_readings(data: bytes, work: DecodingBudget) -> Iterator[DecodedBytes]:
    """Yield separated hexadecimal digits, including hex dumps."""
    stretches = [
        (start, end)
        for start, end in _runs(data, _DIGITS_AND_SEPARATORS, LEAST * 2)
        if len(data[start:end].translate(None, _SEPARATORS)) >= LEAST * 2
    ]
    for stretch in stretches:
        for hit in (*_SEPARATED.finditer(data, *stretch), *_GROUPED.finditer(data, *stretch)):
            if work.take(len(hit[0])):
                yield from _of_pairs(hit.start(), _PAIR.finditer(data, *hit.span()))
    if not any(_DUMP_BEGIN.search(data, *stretch) for stretch in stretches):
        return
    for hit in _DUMP.finditer(data):
        if work.take(len(hit[0])):
            lines = (line.span(1) for line in _DUMP_LINE.finditer(hit[0]))
            places = ((hit.start() + start, hit.start() + end) for start, end in lines)
            yield from _of_pairs(hit.start(), (pair for place in places for pair in _PAIR.finditer(data, *place)))


def says_something(decoded: bytes) -> bool:
    """Return whether decoded bytes contain a word or compressed data. Ids, digests and pictures decode to noise, and
    there are many of them."""
    if b"x" * _WORD in decoded.translate(_marking(_PRINTABLE)):
        return True
    if begins_with_zlib(decoded) or any(stream in decoded for stream in _STREAMS):
        return True
    return b"x0x0x0x0" in decoded.translate(_wide())


def _runs(data: bytes, letters: bytes, least: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of at least `least` of these letters. One translation of the data rules out most files."""
    marked = data.translate(_marking(letters))
    at = marked.find(b"x" * least)
    while at >= 0:
        run = _RUN.match(marked, at)
        assert run is not None
        yield at, run.end()
        at = marked.find(b"x" * least, run.end())


@cache
def _marking(letters: bytes) -> bytes:
    return bytes(ord("x") if byte in letters else ord(" ") for byte in range(256))


@cache
def _wide() -> bytes:
    return bytes(ord("0") if byte == 0 else ord("x") if byte in _PRINTABLE else ord(" ") for byte in range(256))


def _may_be_base64(run: bytes) -> bool:
    """Return whether a run mixes upper and lower case and is more than hexadecimal digits. Paths and names usually have
    no upper case."""
    return not (run.islower() or run.isupper()) and bool(run.strip(_HEXADECIMAL))


def _base64(data: bytes, start: int, end: int, work: DecodingBudget) -> Iterator[DecodedBytes]:
    """Decode a run of base64 at each of its four possible alignments, because it may begin inside an encoded group."""
    for at in range(start, start + 4):
        letters = data[at:end].translate(_TO_STANDARD)
        letters = letters[: len(letters) - (len(letters) % 4 == 1)]
        if not work.take(len(letters)):
            return
        decoded = base64.b64decode(letters + b"=" * (-len(letters) % 4))
        if says_something(decoded):
            yield EvenRun(decoded, at, 4, 3, end)


def _hexadecimal(data: bytes, start: int, end: int, work: DecodingBudget) -> Iterator[DecodedBytes]:
    for at in (start, start + 1):
        even = data[at : at + (end - at) // 2 * 2]
        if not work.take(len(even)):
            return
        decoded = bytes.fromhex(even.decode("ascii"))
        if says_something(decoded):
            yield EvenRun(decoded, at, 2, 1, end)


def _base32(data: bytes, start: int, end: int, work: DecodingBudget) -> Iterator[DecodedBytes]:
    """Decode a run of base32: eight letters are five bytes. A remainder is decoded as far as it gives whole bytes."""
    for at in range(start, start + 8):
        letters = data[at:end]
        letters = letters[: len(letters) - (0, 1, 0, 1, 0, 0, 1, 0)[len(letters) % 8]]
        if not letters or not work.take(len(letters)):
            return
        decoded = base64.b32decode(letters + b"=" * (-len(letters) % 8))
        if says_something(decoded):
            yield EvenRun(decoded, at, 8, 5, end)


def base85_readings(data: bytes, work: DecodingBudget) -> Iterator[DecodedBytes]:
    """Yield base85 runs: five characters are four bytes. Only runs with enough of its punctuation are tried, because
    addresses and paths contain little of it."""
    for start, end in _runs(data, _VISIBLE, _LEAST_BASE85):
        for alphabet, decode in _ALPHABETS85:
            # Up to four other characters may precede it, and any may follow.
            foreign = data[start:end].translate(_marking(alphabet)).find(b" ", 4)
            run = data[start : end if foreign < 0 else start + foreign]
            if len(run) < _LEAST_BASE85 or len(_BASE85_MARKS.intersection(run)) < _LEAST_MARKS85:
                continue
            if work.take(5 * (len(run) + 3 * run.count(b"z"))):  # in Ascii85 `z` encodes four zero bytes
                yield from _of_base85(run, start, decode)


def _of_base85(run: bytes, start: int, decode: Callable[[bytes], bytes]) -> Iterator[DecodedBytes]:
    for first in range(5):
        for end in (len(run), len(run) - 2):  # without the mark at the end
            letters, at = run[first:end], start + first
            try:
                decoded = _decoded85(letters, decode)
            except ValueError:
                continue
            if says_something(decoded):
                is_even = decode is base64.b85decode or b"z" not in letters
                yield EvenRun(decoded, at, 5, 4, start + end) if is_even else OpaqueBlock(decoded, at, start + end)
            break


def _decoded85(letters: bytes, decode: Callable[[bytes], bytes]) -> bytes:
    """Return the bytes that groups of characters spell. Raises ValueError."""
    pieces = _PIECES85 if decode is base64.b85decode else _PIECES_OF_ASCII85
    found, at = bytearray(), 0
    while at < len(letters):
        piece = pieces.match(letters, at)
        if piece is None:
            raise ValueError("an encoded group contains a character that is valid only outside of groups")
        found += decode(piece[0])
        at = piece.end()
    return bytes(found)


def _of_pairs(start: int, pairs: Iterator[re.Match[bytes]]) -> Iterator[DecodedBytes]:
    found, places, end = bytearray(), array("Q"), start
    for pair in pairs:
        found.append(int(pair[1], 16))
        places.append(pair.start(1))
        end = pair.end()
    decoded = bytes(found)
    if len(decoded) >= LEAST and says_something(decoded):

        def pieces() -> Pieces:
            return array("Q", range(len(places) + 1)), array("Q", [*places, end])

        yield RewrittenText(decoded, pieces)
