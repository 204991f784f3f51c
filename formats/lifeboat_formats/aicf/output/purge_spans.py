"""Finds the spans of memories that a purge removes from a file. Escapes, cells and line numbers hide them from a plain
text search."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lifeboat_formats.aicf.output.respelling import remove_piece
from lifeboat_formats.aicf.records import extension, file_memories
from lifeboat_formats.aicf.records.file_memories import FileMemories
from lifeboat_formats.aicf.records.file_pieces import FilePiece
from lifeboat_formats.aicf.syntax.document_parts import Dialect
from lifeboat_formats.interchange.errors import SourceRefused

_ABOUT = (extension.RECORD, "EMBEDDING")
"""Sections that describe a single memory."""


def find_purged_spans(text: str, file: str, record_ids: Sequence[str], gone: Collection[str]) -> list[tuple[int, int]]:
    """Return the spans of the memories in `gone` and of the sections that describe only them. `record_ids` are the ids
    of all memories of the file, in order. A file that cannot be parsed has no spans."""
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
    # The document has no byte order mark, the text may have one.
    shift = len(text) - len(found.document.text)
    spans = [*(_span(found, piece) for piece in chosen), *((piece.start, piece.end) for piece in about)]
    return [(start + shift, end + shift) for start, end in sorted(spans)]


def _chosen(found: FileMemories, record_ids: Sequence[str], gone: Collection[str]) -> list[FilePiece]:
    """Return the purged memories by position. If the number of memories differs from the listed ids, their own ids are
    used."""
    memories = [piece for piece, _ in found.memories()]
    names = record_ids if len(record_ids) == len(memories) else [piece.record_id for piece in memories]
    return [piece for piece, name in zip(memories, names, strict=True) if name in gone]


def _span(found: FileMemories, piece: FilePiece) -> tuple[int, int]:
    """Return the span of a piece without a header that other memories of its section need."""
    if found.document.dialect is Dialect.JSON:
        return piece.start, piece.end
    return piece.start + len(remove_piece(found.document, piece)), piece.end
