"""Files of this format from what memories kept of them: where the files themselves are not there, as after a journey
through another system."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf.aicf_mapping import OWN
from lifeboat_formats.aicf.output import file_patching
from lifeboat_formats.aicf.output.file_patching import PatchedFile
from lifeboat_formats.aicf.records import file_memories
from lifeboat_formats.aicf.syntax.document_parts import Dialect
from lifeboat_formats.interchange.errors import SourceRefused

About = tuple[int, int, str]
"""What was about one memory: the number of memories before it, where it stood between two of them, its text."""
_COUNTED = (Dialect.SPECIFIED, Dialect.STREAM)


def group_by_file(records: Iterable[JsonObject]) -> dict[str, list[JsonObject]]:
    """Memories that know where they stood, in that order, by the name of the file."""
    found: defaultdict[str, list[JsonObject]] = defaultdict(list)
    for record in records:
        own = record.get(OWN)
        if isinstance(own, dict) and isinstance(own.get("file"), str) and isinstance(own.get("span"), str | None):
            found[own["file"]].append(record)
    return {file: sorted(memories, key=_place) for file, memories in found.items()}


def rebuild_file(file: str, memories: Sequence[JsonObject]) -> PatchedFile | None:
    """The file that memories of it stood in, with what they say now; None where what they kept does not make one."""
    text = _stood([memory[OWN] for memory in memories])
    first = memories[0][OWN]
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
    """The text that memories stood in: before each what led to it, and among that what was about single ones."""
    about = sorted(_about(own), key=lambda piece: piece[:2])
    parts: list[str] = []
    for each in own:
        at = _number(each, "at", 0)
        here = [piece for piece in about if piece[0] <= at]
        about = about[len(here) :]
        parts += [_with(_text(each, "lead"), here, at), _text(each, "span")]
    return "".join([*parts, _with(_text(own[-1], "tail"), about, _number(own[-1], "of", len(own)))])


def _with(between: str, about: Sequence[About], number: int) -> str:
    """What stood between two memories. Of a place that is not there any more, all stands first."""
    parts, before = [], 0
    for belongs, offset, text in about:
        cut = min(max(offset, before), len(between)) if belongs == number else before
        parts += [between[before:cut], text]
        before = cut
    return "".join([*parts, between[before:]])


def _about(own: Sequence[JsonObject]) -> Iterator[About]:
    for each in own:
        said = each.get("about")
        for piece in said if isinstance(said, list) else ():
            match piece:
                case [int(number), int(offset), str(text)]:
                    yield number, offset, text


def _text(own: JsonObject, name: str) -> str:
    value = own.get(name)
    return value if isinstance(value, str) else ""


def _place(record: JsonObject) -> int:
    return _number(record[OWN], "at", 0)


def _number(own: JsonObject, name: str, default: int) -> int:
    """What somebody else's record says may be anything."""
    value = own.get(name)
    return value if isinstance(value, int) else default
