"""Files of this format from what memories kept of them: where the files themselves are not there, as after a journey
through another system."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from lifeboat_adapters.aicf import patching, reading
from lifeboat_adapters.aicf.mapping import OWN
from lifeboat_adapters.aicf.parts import Dialect
from lifeboat_adapters.aicf.patching import Patch
from lifeboat_adapters.interchange.contract import JsonObject
from lifeboat_adapters.interchange.errors import SourceRefused

_COUNTED = (Dialect.SPECIFIED, Dialect.STREAM)


def by_file(records: Iterable[JsonObject]) -> dict[str, list[JsonObject]]:
    """Memories that know where they stood, in that order, by the name of the file."""
    found: defaultdict[str, list[JsonObject]] = defaultdict(list)
    for record in records:
        own = record.get(OWN)
        if isinstance(own, dict) and isinstance(own.get("file"), str) and isinstance(own.get("span"), str | None):
            found[own["file"]].append(record)
    return {file: sorted(memories, key=_place) for file, memories in found.items()}


def rebuilt(file: str, memories: Sequence[JsonObject]) -> Patch | None:
    """The file that memories of it stood in, with what they say now; None where what they kept does not make one."""
    text = "".join(_stood(memory[OWN], last=memory is memories[-1]) for memory in memories)
    first = memories[0][OWN]
    if len(memories) < first.get("of", 1) or any(memory[OWN].get("cut") for memory in memories):
        text = patching.counted(text) if first.get("dialect") in _COUNTED else text
    if first.get("bom"):
        text = f"\ufeff{text}"
    try:
        found = reading.read(text, file)
    except SourceRefused:
        return None
    places = list(found.records)
    if len(places) != len(memories):
        return None
    return patching.patched(found, dict(zip(places, memories, strict=True)))


def _stood(own: JsonObject, *, last: bool) -> str:
    parts = (own.get("lead"), own.get("span"), own.get("tail") if last else "")
    return "".join(part for part in parts if isinstance(part, str))


def _place(record: JsonObject) -> int:
    at = record[OWN].get("at", 0)
    return at if isinstance(at, int) else 0
