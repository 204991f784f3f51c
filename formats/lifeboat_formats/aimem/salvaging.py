"""What is right of a bundle some of whose records are wrong, for a user who asks for it.

A bundle is refused as a whole otherwise. Its envelope and its checksum have to hold here too: what came in pieces, or
was changed on the way, is nothing to pick from. Whatever names a record that was left out is left out as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from lifeboat_adapters.receipts import Fate, Outcome
from lifeboat_alf.json_types import JsonObject
from lifeboat_formats.aimem import urn
from lifeboat_formats.aimem.bundle import CHUNKS, EDGES, ENTITIES, LINKS, Bundle, BundleRefused, Limits, Records
from lifeboat_formats.aimem.checking import RecordCheck
from lifeboat_formats.aimem.spools import Names
from lifeboat_formats.interchange.contract import Notice

SALVAGED = "salvaged"
_KINDS = {CHUNKS: "memory", EDGES: "relation", ENTITIES: "entity", LINKS: "link"}


class Sound:
    """The records of an array but for those that are left out; `whole` are all of them."""

    def __init__(self, whole: Records) -> None:
        self.whole = whole
        self._left = bytearray(len(whole))

    def leave_out(self, index: int) -> None:
        self._left[index] = 1

    def __iter__(self) -> Iterator[JsonObject]:
        return (record for record, is_left in zip(self.whole, self._left, strict=True) if not is_left)

    def __len__(self) -> int:
        return self._left.count(0)


def salvaged(bundle: Bundle, names: Callable[[], Names], limits: Limits) -> Bundle:
    """The bundle without its wrong records, with a fate for each of them. Nothing is checked but the records; `names`
    gives an empty set of names."""
    check = RecordCheck(bundle.envelope, names(), names(), limits)
    rejected: list[Fate] = []
    chunks = _sound(bundle, CHUNKS, rejected, check.chunk)
    edges = _sound(bundle, EDGES, rejected, check.edge, check.edge_ends)
    entities = _sound(bundle, ENTITIES, rejected, check.entity)
    links = _sound(bundle, LINKS, rejected, check.link, check.link_ends)
    notices = [*bundle.notices, *check.notices()]
    if rejected:
        notices.append(Notice(SALVAGED, f"{len(rejected):,} wrong records, or what names them, were left out"))
    made = replace(bundle, chunks=chunks, edges=edges, entities=entities, chunk_entities=links)
    return replace(made, notices=notices, rejected=rejected)


def _sound(bundle: Bundle, array: str, rejected: list[Fate], *tests: Callable[[JsonObject, int], None]) -> Sound:
    sound = Sound(bundle.array(array))
    for index, record in enumerate(sound.whole):
        try:
            for test in tests:
                test(record, index)
        except BundleRefused as problem:
            sound.leave_out(index)
            name = _name(array, index, record)
            rejected.append(Fate(_KINDS[array], name, Outcome.REJECTED, problem.message, problem.format_code))
    return sound


def _name(array: str, index: int, record: object) -> str:
    """Its id where it has one, else its place: what stands where an id should be may be anything."""
    said = record.get("id") if isinstance(record, dict) else None
    return said if isinstance(said, str) and urn.parsed(said) is not None else f"{array}[{index}]"
