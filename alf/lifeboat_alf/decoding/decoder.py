"""Decode bytes up to two layers deep, within limits."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.decoding.compressed_streams import decompress_streams, is_plain_utf8
from lifeboat_alf.decoding.decoded_bytes import DecodedBytes, NestedDecoding, OriginalBytes
from lifeboat_alf.decoding.decoding_budget import DATABASES, LAYERS, TOO_DEEP, DecodingBudget
from lifeboat_alf.decoding.encoded_runs import base85_readings, run_readings, separated_readings
from lifeboat_alf.decoding.sqlite_pages import page_readings
from lifeboat_alf.decoding.undo_escapes import (
    breaks_long_words,
    decode_characters_to_bytes,
    extract_ascii_runs,
    join_broken_lines,
    undo_rewritings,
)
from lifeboat_alf.decoding.wide_text import wide_readings


def decode_layers(
    data: bytes, work: DecodingBudget | None = None, *, layers: int = LAYERS, databases: int = DATABASES
) -> Iterator[DecodedBytes]:
    """Yield every part of these bytes that decodes to other content, and every part of that content which decodes
    again.

    Pass the complete input: a value cut in two is not decoded across the cut. Each result's `spans` are places in
    `data`. What exceeds `work` is recorded there. `databases` limits how deep SQLite databases may be nested in rows of
    each other.
    """
    work = work or DecodingBudget.for_size(len(data))
    for reading in page_readings(data, work):  # does not count as a layer: these are the rows as SQLite shows them
        if databases == 0:
            work.unread.add(TOO_DEEP)
            break
        yield reading
        inside = decode_layers(reading.data, work, layers=layers, databases=databases - 1)
        yield from (NestedDecoding(inner, reading) for inner in inside)
    for reading in wide_readings(data, work):  # does not count as a layer: it is the text as people see it
        yield reading
        yield from (NestedDecoding(inner, reading) for inner in decode_layers(reading.data, work, layers=layers))
    if not is_plain_utf8(data):
        yield from _deeper(decompress_streams(data, work), work, layers)
    narrow = decode_characters_to_bytes(data)
    if narrow is not None and work.take(len(data)):
        compressed = _deeper(decompress_streams(narrow.data, work), work, layers)
        yield from (NestedDecoding(inner, narrow) for inner in compressed)
    text = extract_ascii_runs(data) if b"\0" in data else OriginalBytes(data)
    if text is not None:
        yield from (NestedDecoding(inner, text) for inner in _in_text(text.data, work, layers))


def _in_text(data: bytes, work: DecodingBudget, layers: int) -> Iterator[DecodedBytes]:
    """Yield what is encoded in ASCII characters. Long words that are broken over lines are joined first."""
    yield from _deeper(separated_readings(data, work), work, layers)
    yield from _deeper(undo_rewritings(data, work), work, layers)
    yield from _deeper(base85_readings(data, work), work, layers)  # joining removes its quotation marks
    joined = join_broken_lines(data) if breaks_long_words(data) and work.take(len(data)) else None
    if joined is None:
        yield from _deeper(run_readings(data, work), work, layers)
    else:
        yield joined
        yield from (NestedDecoding(inner, joined) for inner in _deeper(run_readings(joined.data, work), work, layers))


def _deeper(readings: Iterator[DecodedBytes], work: DecodingBudget, layers: int) -> Iterator[DecodedBytes]:
    """Yield the results of one layer, each followed by those of the layers inside it."""
    for reading in readings:
        yield reading
        if layers > 1:
            yield from (
                NestedDecoding(inner, reading) for inner in decode_layers(reading.data, work, layers=layers - 1)
            )
        elif not is_plain_utf8(reading.data) and any(True for _ in decompress_streams(reading.data, work)):
            work.unread.add(TOO_DEEP)
