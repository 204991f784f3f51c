"""What is right of a bundle some of whose records are wrong, for a user who asks for it.

A bundle is refused as a whole otherwise. Its envelope and its checksum have to hold here too: what came in pieces, or
was changed on the way, is nothing to pick from. Whatever names a record that was left out is left out as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem.wire import urn
from lifeboat_formats.aimem.wire.bundle_checks import RecordCheck
from lifeboat_formats.aimem.wire.bundle_model import (
    CHUNKS,
    EDGES,
    ENTITIES,
    LINKS,
    AimemBundle,
    BundleLimits,
    BundleRecords,
    BundleRefused,
)
from lifeboat_formats.aimem.wire.spools import SeenNames
from lifeboat_formats.interchange.contract import FormatNotice

SALVAGED = "salvaged"
_KINDS = {CHUNKS: "memory", EDGES: "relation", ENTITIES: "entity", LINKS: "link"}


class SoundRecords:
    """The records of an array but for those that are left out; `whole` are all of them."""

    def __init__(self, whole: BundleRecords) -> None:
        self.whole = whole
        self._left = bytearray(len(whole))

    def leave_out(self, index: int) -> None:
        self._left[index] = 1

    def __iter__(self) -> Iterator[JsonObject]:
        return (record for record, is_left in zip(self.whole, self._left, strict=True) if not is_left)

    def __len__(self) -> int:
        return self._left.count(0)


def salvage_bundle(bundle: AimemBundle, names: Callable[[], SeenNames], limits: BundleLimits) -> AimemBundle:
    """The bundle without its wrong records, with a fate for each of them. Nothing is checked but the records; `names`
    gives an empty set of names."""
    check = RecordCheck(bundle.envelope, names(), names(), limits)
    rejected: list[ItemFate] = []
    chunks = _sound(bundle, CHUNKS, rejected, check.chunk)
    edges = _sound(bundle, EDGES, rejected, check.edge, check.edge_ends)
    entities = _sound(bundle, ENTITIES, rejected, check.entity)
    links = _sound(bundle, LINKS, rejected, check.link, check.link_ends)
    notices = [*bundle.notices, *check.notices()]
    if rejected:
        notices.append(FormatNotice(SALVAGED, f"{len(rejected):,} wrong records, or what names them, were left out"))
    made = replace(bundle, chunks=chunks, edges=edges, entities=entities, chunk_entities=links)
    return replace(made, notices=notices, rejected=rejected)


def _sound(
    bundle: AimemBundle, array: str, rejected: list[ItemFate], *tests: Callable[[JsonObject, int], None]
) -> SoundRecords:
    sound = SoundRecords(bundle.array(array))
    for index, record in enumerate(sound.whole):
        try:
            for test in tests:
                test(record, index)
        except BundleRefused as problem:
            sound.leave_out(index)
            name = _name(array, index, record)
            rejected.append(ItemFate(_KINDS[array], name, ItemOutcome.REJECTED, problem.message, problem.format_code))
    return sound


def _name(array: str, index: int, record: object) -> str:
    """Its id where it has one, else its place: what stands where an id should be may be anything."""
    said = record.get("id") if isinstance(record, dict) else None
    return said if isinstance(said, str) and urn.parse_urn(said) is not None else f"{array}[{index}]"
