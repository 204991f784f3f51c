"""Passages of text in files: where they stand, and the file without them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from lifeboat_alf import codec

JsonObject = dict[str, Any]
Span = tuple[int, int]


def is_json(path: str) -> bool:
    """Whether a file spells texts as JSON strings."""
    return path.endswith((".json", ".jsonl", ".json5"))


def forms(texts: Iterable[str], *, is_json: bool) -> list[bytes]:
    """How texts may stand in a file: as they are, without their outer white space, and escaped in JSON."""
    found = {form for text in texts for form in (text, text.strip()) if form}
    spelled = {codec.encode(form)[1:-1] for form in found} if is_json else {form.encode() for form in found}
    return sorted(spelled, key=lambda form: (-len(form), form))


def find(body: bytes, passages: list[bytes]) -> list[Span]:
    """Every place of every passage, in order and joined where they touch; longer passages come first."""
    spans: list[Span] = []
    for passage in passages:
        start = body.find(passage)
        while start >= 0:
            spans.append((start, start + len(passage)))
            start = body.find(passage, start + len(passage))
    return joined(sorted(spans))


def joined(spans: list[Span]) -> list[Span]:
    """Spans in order; those that touch become one."""
    made: list[Span] = []
    for start, end in spans:
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((start, end))
    return made


def without(body: bytes, spans: list[Span]) -> bytes:
    """The bytes outside the spans."""
    pieces, position = [], 0
    for start, end in spans:
        pieces.append(body[position:start])
        position = end
    return b"".join([*pieces, body[position:]])


def moved(cuts: list[JsonObject], spans: list[Span]) -> list[JsonObject]:
    """Positions in a file after the spans are gone; one inside a span stands where that was."""
    return [{**cut, "offset": cut["offset"] - _before(cut["offset"], spans)} for cut in cuts]


def _before(offset: int, spans: list[Span]) -> int:
    return sum(min(end, offset) - start for start, end in spans if start < offset)


def still_reads(path: str, body: bytes) -> bool:
    """Whether a JSON document is one still. Lines and other texts always are."""
    if not path.endswith(".json"):
        return True
    try:
        codec.decode(body)
    except msgspec.DecodeError:
        return False
    return True
