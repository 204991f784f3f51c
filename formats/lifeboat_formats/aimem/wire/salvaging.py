"""Salvages the valid records of a bundle with wrong ones, on the user's request. Otherwise such a bundle is refused.

Envelope and checksum must be valid: nothing is salvaged from a truncated or changed bundle. Records that refer to a
dropped record are dropped too.
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
    """The records of an array without the dropped ones. `whole` holds all of them."""

    def __init__(self, whole: BundleRecords) -> None:
        self.whole = whole
        self._left = bytearray(len(whole))

    def leave_out(self, index: int) -> None:
        """Drop the record at a position."""
        self._left[index] = 1

    def __iter__(self) -> Iterator[JsonObject]:
        return (record for record, is_left in zip(self.whole, self._left, strict=True) if not is_left)

    def __len__(self) -> int:
        return self._left.count(0)


def salvage_bundle(bundle: AimemBundle, names: Callable[[], SeenNames], limits: BundleLimits) -> AimemBundle:
    """Return the bundle without its wrong records, with a fate for each. Only records are checked; `names` creates an
    empty set of names."""
    check = RecordCheck(bundle.envelope, names(), names(), limits)
    rejected: list[ItemFate] = []
    chunks = _sound(bundle, CHUNKS, rejected, check.chunk)
    edges = _sound(bundle, EDGES, rejected, check.edge, check.edge_ends)
    entities = _sound(bundle, ENTITIES, rejected, check.entity)
    links = _sound(bundle, LINKS, rejected, check.link, check.link_ends)
    notices = [*bundle.notices, *check.notices()]
    if rejected:
        notices.append(
            FormatNotice(
                SALVAGED,
                f"{len(rejected):,} records were left out, because they are invalid or refer to an invalid record",
            )
        )
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
    """Return the id of a record if it is valid, else its position: a wrong record may hold anything there."""
    said = record.get("id") if isinstance(record, dict) else None
    return said if isinstance(said, str) and urn.parse_urn(said) is not None else f"{array}[{index}]"
