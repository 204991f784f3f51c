"""Where memories stand in a file that is to lose them for good: escapes, cells and numbers hide them from whoever looks
for their text."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lifeboat_formats.aicf.output.respelling import remove_piece
from lifeboat_formats.aicf.records import extension, file_memories
from lifeboat_formats.aicf.records.file_memories import FileMemories
from lifeboat_formats.aicf.records.file_pieces import FilePiece
from lifeboat_formats.aicf.syntax.document_parts import Dialect
from lifeboat_formats.interchange.errors import SourceRefused

_ABOUT = (extension.RECORD, "EMBEDDING")
"""Sections that are about one memory alone."""


def find_purged_spans(text: str, file: str, record_ids: Sequence[str], gone: Collection[str]) -> list[tuple[int, int]]:
    """The spans of the memories `gone`, and of what is about them alone; `record_ids` are those of all memories of the
    file in their order. A file that cannot be read has none."""
    try:
        found = file_memories.read_memories(text, file)
    except SourceRefused:
        return []
    chosen = _chosen(found, record_ids, gone)
    names = {(extension.RECORD, piece.record_id) for piece in chosen} | {(extension.RECORD, name) for name in gone}
    names |= {("EMBEDDING", piece.section.ident) for piece in chosen if piece.section.ident}
    about = [
        piece
        for piece in found.pieces
        if piece.section.name in _ABOUT and (piece.section.name, piece.section.ident) in names
    ]
    shift = len(text) - len(found.document.text)
    spans = [*(_span(found, piece) for piece in chosen), *((piece.start, piece.end) for piece in about)]
    return [(start + shift, end + shift) for start, end in sorted(spans)]


def _chosen(found: FileMemories, record_ids: Sequence[str], gone: Collection[str]) -> list[FilePiece]:
    """Memories by their order; where there are more or fewer than are listed, by their own ids."""
    memories = [piece for piece, _ in found.memories()]
    names = record_ids if len(record_ids) == len(memories) else [piece.record_id for piece in memories]
    return [piece for piece, name in zip(memories, names, strict=True) if name in gone]


def _span(found: FileMemories, piece: FilePiece) -> tuple[int, int]:
    """All of it but a header that others of its section need."""
    if found.document.dialect is Dialect.JSON:
        return piece.start, piece.end
    return piece.start + len(remove_piece(found.document, piece)), piece.end
