"""Locate the memories in the captured text of a file: which bytes belong to which record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lifeboat_adapters.contract import Adapter


class MemorySpan(NamedTuple):
    """The bytes `start` until before `end` of a file, with the comment that marks the memory. `text` is the memory
    itself."""

    record_id: str
    start: int
    end: int
    text: str


def locate_memories(
    adapter: Adapter, path: str, body: bytes, record_ids: Sequence[str]
) -> tuple[MemorySpan, ...] | None:
    """Return the memories of a file in order. `record_ids` are those that its meta lists.

    None if the adapter does not divide the file into consecutive pieces, the file is not UTF-8, or the list is of
    another division (an earlier release of the adapter made it).
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    sections = adapter.split(path, text) or []
    if "".join(section.content for section in sections) != text:
        return None
    found: list[tuple[int, int, str]] = []
    at = 0
    for section in sections:
        end = at + len(section.content.encode())
        if section.text:
            found.append((at, end, section.text))
        at = end
    if len(found) != len(record_ids):
        return None
    return tuple(
        MemorySpan(record_id, start, end, said) for record_id, (start, end, said) in zip(record_ids, found, strict=True)
    )
