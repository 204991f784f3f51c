"""Matches the sections of a file with the ids of its memories that the file's entry lists."""

from __future__ import annotations

from collections.abc import Sequence

from lifeboat_adapters.contract import MemorySection


def name_sections(sections: Sequence[MemorySection], record_ids: Sequence[str]) -> list[str | None]:
    """Return the id of each section's memory, None for a section without text. Sections match by order; if their number
    differs from the listed ids, by their own ids."""
    said = [section for section in sections if section.text]
    if len(said) == len(record_ids):
        following = iter(record_ids)
        return [next(following) if section.text else None for section in sections]
    known = set(record_ids)
    return [section.record_id if section.text and section.record_id in known else None for section in sections]
