"""Purges memories from a bundle: finds their spans, and repairs the bundle after they were removed."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from lifeboat_adapters.contract import MemorySection
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem import bundle_workspace
from lifeboat_formats.aimem.wire import record_spans
from lifeboat_formats.aimem.wire.bundle_model import CHUNKS, EDGES, LINKS
from lifeboat_formats.aimem.wire.record_spans import CHECKSUM

_PART = re.compile(r"\.p[0-9]+\Z")
"""The end of the name of a part of a long memory."""


def find_purged_spans(path: str, text: str, record_ids: Sequence[str], gone: Collection[str]) -> list[tuple[int, int]]:
    """Return the spans of the chunks of memories in `gone`, including all parts of long memories."""
    found, sections = record_spans.scan_bundle(text), bundle_workspace.split_sections(path, text) or []
    if found is None:
        return []
    named = zip(sections, _name_sections(sections, record_ids), strict=True)
    names = {section.heading[0] for section, name in named if name in gone}
    return [(item.start, item.end) for item in found.items[CHUNKS] if _of_one(item.value, names)]


def _of_one(chunk: object, names: Collection[str]) -> bool:
    name = chunk.get("id") if isinstance(chunk, dict) else None
    return isinstance(name, str) and (name in names or _PART.sub("", name) in names)


def _name_sections(sections: Sequence[MemorySection], record_ids: Sequence[str]) -> list[str | None]:
    """Return the id of each section's memory, None for a section without text. Sections match by order; if their number
    differs from the listed ids, by their own ids."""
    said = [section for section in sections if section.text]
    if len(said) == len(record_ids):
        following = iter(record_ids)
        return [next(following) if section.text else None for section in sections]
    known = set(record_ids)
    return [section.record_id if section.text and section.record_id in known else None for section in sections]


def mend_bundle(path: str, text: str, memories: Sequence[tuple[str, str]]) -> str | None:
    """Repair a bundle after chunks were removed: drop empty places and dangling edges and links, and renew the
    checksum. None if the remaining memories differ from those listed."""
    found, sections = record_spans.scan_bundle(text), bundle_workspace.split_sections(path, text)
    if found is None or CHECKSUM not in found.members:
        return None
    if not found.is_stream and None not in found.records(CHUNKS):
        return None
    if sections is None or [section.text for section in sections if section.text] != [text for _, text in memories]:
        return None
    changes: dict[str, dict[int, JsonObject | None]] = {
        CHUNKS: {place: None for place, value in enumerate(found.records(CHUNKS)) if value is None}
    }
    known = {str(value.get("id")) for value in found.records(CHUNKS) if isinstance(value, dict)}
    changes[EDGES] = found.drop_records(EDGES, lambda name: name not in known, "source_id", "target_id")
    changes[LINKS] = found.drop_records(LINKS, lambda name: name not in known, "chunk_id")
    return record_spans.patch_bundle(text, found, changes)
