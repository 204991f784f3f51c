"""Split notes into memories (ALF §2.1, §3.1.2, §3.1.7): which files hold memories, where each ends, and its fields.

Entities are not extracted. Finding names without a model is guesswork, and a wrong guess would stay in the record
permanently (ALF §6.1 asks for them only "where feasible").
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator

from lifeboat_adapters.contract import MemorySection
from lifeboat_adapters.notes import markdown_sections, memory_annotations, memory_comments, note_names
from lifeboat_adapters.notes.markdown_sections import MarkdownPiece
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject

Split = Callable[[str, str], list[MemorySection] | None]
"""A function from the name of a file in the workspace and its text to the memories in it; None for a file without
memories."""

VERSION = 2
"""Increased when the same text would be split in other places. A file is then split again when it changes, not earlier.
"""

PRIMARY_PRINCIPAL_NAMESPACE = "principal_context:{primary}"
"""A placeholder for the namespace of the primary human. Only capture knows the id of the principal. It replaces
`{primary}` when it makes a record (ALF §3.3.2)."""

LARGEST_SECTION = 4096
"""Bytes of UTF-8. Larger sections are divided between their blocks."""

LARGEST_BLOCK = 1 << 18
"""Characters of a block."""

_SMALLEST_PIECE = 1024
_ONE_IN = 4
_DEPTH = 3
_MEMORY_DEPTH = 2
_RULES = re.compile(r"(gating-)?polic(y|ies)|procedures?|procedural|rules|playbooks?|runbooks?|workflows?")


def split_note(name: str, text: str, entries: re.Pattern[str] | None = None) -> list[MemorySection] | None:
    """Return the memories in a file, by its name in the workspace, None for a file without memories. `entries` matches
    lines that begin a memory, in addition to headings."""
    if not holds_memories(name):
        return None
    base = _fields_of_file(name)
    user = name == note_names.USER
    return split_stretches(
        text, lambda plain: _pieces(name, plain, entries), lambda content: _fields(base, content, user=user)
    )


def split_stretches(
    text: str,
    divide: Callable[[str], Iterable[MarkdownPiece]],
    fields_of: Callable[[str], JsonObject],
) -> list[MemorySection]:
    """Return the memories in a text: those between comments as they are, and the pieces into which `divide` cuts the
    rest. `fields_of` gives the fields of a memory from its text."""
    found: list[MemorySection] = []
    for stretch in memory_comments.split_into_stretches(text):
        if stretch.memory is not None:
            heading = (stretch.label,) if stretch.label else ()
            found.append(MemorySection(stretch.text, heading, fields_of(stretch.memory), stretch.memory))
        else:
            pieces = divide(stretch.text)
            found.extend(MemorySection(piece.text, piece.heading, fields_of(piece.text)) for piece in pieces)
    return found


def holds_memories(name: str) -> bool:
    """Return whether a file holds memories: MEMORY.md, USER.md and every note under `memory/`. Hidden folders there
    belong to the runtime's own bookkeeping."""
    if name in (note_names.MEMORY, note_names.LEGACY_MEMORY, note_names.USER):
        return True
    if not name.startswith(note_names.MEMORY_FOLDER) or not name.endswith(".md"):
        return False
    return not any(part.startswith(".") for part in name.split("/"))


def _pieces(name: str, text: str, entries: re.Pattern[str] | None) -> Iterator[MarkdownPiece]:
    depth = _MEMORY_DEPTH if name in (note_names.MEMORY, note_names.LEGACY_MEMORY) else _DEPTH
    starts = memory_annotations.ENTRY if name == note_names.USER else entries
    return divide_at_headings(text, depth, starts)


def divide_at_headings(
    text: str, depth: int = _DEPTH, starts: re.Pattern[str] | None = None
) -> Iterator[MarkdownPiece]:
    """Yield the sections of a text, large ones in pieces. Only the first piece has the heading. Lines that `starts`
    matches begin a section, too."""
    for piece in markdown_sections.split_sections(text, depth, starts):
        first, *others = divide_section(piece.text)
        yield MarkdownPiece(first, piece.heading)
        yield from (MarkdownPiece(other) for other in others)


def divide_section(text: str) -> list[str]:
    """Divide a section into pieces of at most LARGEST_SECTION bytes, unless a single block is larger (LARGEST_BLOCK
    characters at most).

    Cuts depend on the content: a block whose checksum matches opens a new piece once the previous one is large enough.
    So an insertion moves only the cuts near it. Filling up pieces instead would move all of them.
    """
    if _size(text) <= LARGEST_SECTION:
        return [text]
    pieces: list[list[str]] = [[]]
    filled = 0
    for block in _bearable(markdown_sections.split_blocks(text)):
        size = _size(block)
        full = filled + size > LARGEST_SECTION
        if filled and (full or (filled >= _SMALLEST_PIECE and _marks_a_cut(block))):
            pieces.append([])
            filled = 0
        pieces[-1].append(block)
        filled += size
    return ["".join(piece) for piece in pieces]


def _bearable(blocks: Iterable[str]) -> Iterator[str]:
    """Divide a very long paragraph, because the size of a line in an archive is limited."""
    for block in blocks:
        for start in range(0, len(block), LARGEST_BLOCK):
            yield block[start : start + LARGEST_BLOCK]


def _marks_a_cut(block: str) -> bool:
    return zlib.crc32(_bytes(block)) % _ONE_IN == 0


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _size(text: str) -> int:
    return len(_bytes(text))


def _fields_of_file(name: str) -> JsonObject:
    """Return the fields that all memories of a file have in common."""
    if name in (note_names.MEMORY, note_names.LEGACY_MEMORY):
        return _base("summary", "memory_md")
    if name == note_names.USER:
        return _base("preference", "user_md", namespace=PRIMARY_PRINCIPAL_NAMESPACE)
    if name == note_names.PREFERENCES:
        return _base("preference", "memory_file", namespace=PRIMARY_PRINCIPAL_NAMESPACE)
    context = note_names.principal_of_note_name(name)
    if context is not None:
        return _base("preference", "memory_file", namespace=context)
    folder = name.split("/")[1] if name.count("/") > 1 else None
    day = note_names.day_in_note_name(name)
    if folder == "dreaming":
        fields = _base("semantic", "dreaming", "llm_extracted", category="dreaming")
    elif folder == "imports":
        fields = _base("semantic", "memory_file", "migrated", category="imports")
    elif day is not None:
        fields = _base("episodic", "daily_log", category="daily_log")
    elif _holds_rules(name):
        fields = _base("procedural", "memory_file", category=folder or "rules")
    else:
        fields = _base("semantic", "memory_file", category=folder)
    if day is not None:
        fields["temporal"] = {"observed_at": times.day_text(day)}
    return fields


def _base(
    memory_type: str,
    origin: str,
    method: str = "agent_written",
    *,
    namespace: str = "default",
    category: str | None = None,
) -> JsonObject:
    fields: JsonObject = {"memory_type": memory_type, "namespace": namespace}
    if category is not None:
        fields["category"] = category
    return fields | {"source": {"origin": origin, "extraction_method": method}}


def _holds_rules(name: str) -> bool:
    parts = name.removeprefix(note_names.MEMORY_FOLDER).removesuffix(".md").lower().replace("_", "-").split("/")
    return any(_RULES.fullmatch(part) for part in parts)


def _fields(base: JsonObject, content: str, *, user: bool) -> JsonObject:
    """Return the fields of one memory. Annotations stay in the text and are copied into raw_source_format."""
    fields = dict(base)
    confidence, tags = memory_annotations.find_confidence_and_tags(content)
    if confidence is not None:
        fields["confidence"] = confidence
    if tags:
        fields["tags"] = tags
    comments = memory_annotations.parse_comments(content)
    if comments:
        fields["raw_source_format"] = {"annotations": comments}
    if user:
        _apply_comments(fields, comments)
    return fields


def _apply_comments(fields: JsonObject, comments: dict[str, str]) -> None:
    observed = memory_annotations.parse_day(comments.get("observed"))
    if observed is not None:
        fields["temporal"] = {"observed_at": times.day_text(observed)}
    if comments.get("status", "").lower() == "superseded":
        fields["status"] = "superseded"
