"""Rebuilds AICF files from the memories that stood in them, when the files themselves are missing, for example after a
conversion through another system."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from lifeboat_alf.common.json_shapes import as_list, as_text
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf.aicf_mapping import OWN
from lifeboat_formats.aicf.output import file_patching
from lifeboat_formats.aicf.output.file_patching import PatchedFile
from lifeboat_formats.aicf.records import file_memories
from lifeboat_formats.aicf.syntax.document_parts import Dialect
from lifeboat_formats.interchange.errors import SourceRefused

About = tuple[int, int, str]
"""Text that describes one memory: the number of memories before it, its offset between two memories, and the text."""
_COUNTED = (Dialect.SPECIFIED, Dialect.STREAM)


def group_by_file(records: Iterable[JsonObject]) -> dict[str, list[JsonObject]]:
    """Return the memories that know their position, grouped by file name and ordered by position."""
    found: defaultdict[str, list[JsonObject]] = defaultdict(list)
    for record in records:
        own = record.get(OWN)
        if isinstance(own, dict) and isinstance(own.get("file"), str) and isinstance(own.get("span"), str | None):
            found[own["file"]].append(record)
    return {file: sorted(memories, key=_place) for file, memories in found.items()}


def rebuild_file(file: str, memories: Sequence[JsonObject]) -> PatchedFile | None:
    """Rebuild a file from its memories, with their current contents. None if the stored positions do not form such a
    file."""
    text = _stood([memory[OWN] for memory in memories])
    first = memories[0][OWN]
    # Some memories or lines are missing, so stored line numbers would have gaps.
    if len(memories) < _number(first, "of", 1) or any(memory[OWN].get("cut") for memory in memories):
        text = file_patching.renumber_lines(text) if first.get("dialect") in _COUNTED else text
    if first.get("bom"):
        text = f"\ufeff{text}"
    try:
        found = file_memories.read_memories(text, file)
    except SourceRefused:
        return None
    places = list(found.records)
    if len(places) != len(memories):
        return None
    return file_patching.patch_file(found, dict(zip(places, memories, strict=True)))


def _stood(own: Sequence[JsonObject]) -> str:
    """Return the original text: each memory after the text that led to it, with the sections that describe single
    memories in place."""
    about = sorted(_about(own), key=lambda piece: piece[:2])
    parts: list[str] = []
    for each in own:
        at = _number(each, "at", 0)
        here = [piece for piece in about if piece[0] <= at]
        about = about[len(here) :]
        parts += [_with(as_text(each.get("lead")), here, at), as_text(each.get("span"))]
    return "".join([*parts, _with(as_text(own[-1].get("tail")), about, _number(own[-1], "of", len(own)))])


def _with(between: str, about: Sequence[About], number: int) -> str:
    """Insert descriptions into the text between two memories. Descriptions whose place no longer exists come first."""
    parts, before = [], 0
    for belongs, offset, text in about:
        cut = min(max(offset, before), len(between)) if belongs == number else before
        parts += [between[before:cut], text]
        before = cut
    return "".join([*parts, between[before:]])


def _about(own: Sequence[JsonObject]) -> Iterator[About]:
    for each in own:
        for piece in as_list(each.get("about")):
            match piece:
                case [int(number), int(offset), str(text)]:
                    yield number, offset, text


def _place(record: JsonObject) -> int:
    return _number(record[OWN], "at", 0)


def _number(own: JsonObject, name: str, default: int) -> int:
    """Return an integer field. Records of other tools may hold any value."""
    value = own.get(name)
    return value if isinstance(value, int) else default
