"""Decode bytes up to two layers deep, within limits."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.decoding.compressed_streams import compressed_readings, is_text
from lifeboat_alf.decoding.decoded_bytes import DecodedBytes, NestedDecoding, OriginalBytes
from lifeboat_alf.decoding.decoding_budget import DATABASES, LAYERS, TOO_DEEP, DecodingBudget
from lifeboat_alf.decoding.encoded_runs import base85_readings, run_readings, separated_readings
from lifeboat_alf.decoding.sqlite_pages import page_readings
from lifeboat_alf.decoding.undo_escapes import (
    breaks_long_words,
    bytes_of_characters,
    joined_lines,
    text_stretches,
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
    if not is_text(data):
        yield from _deeper(compressed_readings(data, work), work, layers)
    narrow = bytes_of_characters(data)
    if narrow is not None and work.take(len(data)):
        compressed = _deeper(compressed_readings(narrow.data, work), work, layers)
        yield from (NestedDecoding(inner, narrow) for inner in compressed)
    text = text_stretches(data) if b"\0" in data else OriginalBytes(data)
    if text is not None:
        yield from (NestedDecoding(inner, text) for inner in _in_text(text.data, work, layers))


def _in_text(data: bytes, work: DecodingBudget, layers: int) -> Iterator[DecodedBytes]:
    """Yield what is encoded in ASCII characters. Long words that are broken over lines are joined first."""
    yield from _deeper(separated_readings(data, work), work, layers)
    yield from _deeper(undo_rewritings(data, work), work, layers)
    yield from _deeper(base85_readings(data, work), work, layers)  # joining removes its quotation marks
    joined = joined_lines(data) if breaks_long_words(data) and work.take(len(data)) else None
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
        elif not is_text(reading.data) and any(True for _ in compressed_readings(reading.data, work)):
            work.unread.add(TOO_DEEP)
