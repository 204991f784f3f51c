"""Which section of a file is which memory, where the file's entry lists the ids of its memories."""

from __future__ import annotations

from collections.abc import Sequence

from lifeboat_adapters.contract import MemorySection


def name_sections(sections: Sequence[MemorySection], record_ids: Sequence[str]) -> list[str | None]:
    """The id of each section's memory, None for one that says nothing. By their order; where there are more or fewer
    than are listed, only those whose own id is."""
    said = [section for section in sections if section.text]
    if len(said) == len(record_ids):
        following = iter(record_ids)
        return [next(following) if section.text else None for section in sections]
    known = set(record_ids)
    return [section.record_id if section.text and section.record_id in known else None for section in sections]
