"""Relations between the pieces of one file: rows of @LINKS, vectors of @EMBEDDING, and relations implied by positions
(AICF 3.1, "@LINKS", "@EMBEDDING")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lifeboat_formats.aicf import aicf_mapping
from lifeboat_formats.aicf.aicf_mapping import DERIVED, ELABORATES
from lifeboat_formats.aicf.records.file_pieces import ROWS, FilePiece
from lifeboat_formats.aicf.records.memory_drafts import read_scalar
from lifeboat_formats.aicf.syntax import cell_values
from lifeboat_formats.aicf.syntax.aicf_times import START, normalize_time
from lifeboat_formats.aicf.syntax.document_parts import AicfItem, AicfSection
from lifeboat_formats.aicf.syntax.field_checks import parse_link

MOST_LINKS = 100_000
"""Number of rows of @LINKS that become relations. Further rows stay in the file only."""
_FOLLOWING = {
    aicf_mapping.STATE: ELABORATES,
    aicf_mapping.MESSAGE: ELABORATES,
    aicf_mapping.INSIGHT: DERIVED,
    aicf_mapping.DECISION: DERIVED,
}


class LinkRow(NamedTuple):
    """A row of @LINKS, and whether both ends are in the file."""

    item: AicfItem
    is_resolved: bool


class EmbeddingSection(NamedTuple):
    """An @EMBEDDING section. `problem` says why it is not used as a vector, "" if it is."""

    section: AicfSection
    problem: str


class FileRelations(NamedTuple):
    """Links and vectors of a file. `passed_over` counts links beyond MOST_LINKS."""

    links: list[LinkRow]
    vectors: list[EmbeddingSection]
    passed_over: int = 0


def relate_pieces(pieces: Sequence[FilePiece]) -> FileRelations:
    """Add relations and vectors to the memories among the pieces, whose ids are set already."""
    names = _names(pieces)
    for piece in pieces:
        if piece.made is not None:
            _follow(piece, names)
    rows = _rows(pieces)
    links = [_linked(item, names) for item in rows[:MOST_LINKS]]
    embeddings = [piece for piece in pieces if piece.section.name == "EMBEDDING"]
    vectors = [_embedded(piece.section, names) for piece in embeddings]
    for piece in embeddings:
        piece.about = names.get(piece.section.ident)
    return FileRelations(links, vectors, len(rows) - len(links))


def _names(pieces: Sequence[FilePiece]) -> dict[str, FilePiece]:
    """Return the memories by every name that a link may use."""
    found: dict[str, FilePiece] = {}
    numbers = {aicf_mapping.INSIGHT: 0, aicf_mapping.DECISION: 0}
    for piece in pieces:
        if piece.made is None:
            continue
        kind = piece.made.kind
        if kind in numbers:
            numbers[kind] += 1
            found.setdefault(f"{kind}_{numbers[kind]:03d}", piece)
        ident = str(piece.made.own.get("ident") or piece.section.ident)
        if ident and piece.section.name != "STATE":
            found.setdefault(ident, piece)
        columns = piece.made.own.get("columns")
        if columns and piece.section.group:
            found.setdefault(f"{piece.section.group[0]}:{columns[0][1]}", piece)
    return found


def _follow(piece: FilePiece, names: dict[str, FilePiece]) -> None:
    """Add the relations that the position of a piece implies."""
    assert piece.made is not None
    relation = _FOLLOWING.get(piece.made.kind)
    if relation and piece.conversation is not None:
        _relate(piece, piece.conversation, relation)
    for source in piece.made.own.get("source_items") or ():
        if source in names:
            _relate(piece, names[source], DERIVED)


def _relate(piece: FilePiece, other: FilePiece, relation: str) -> None:
    if other is not piece:
        piece.related[other.record_id, relation] = {"id": other.record_id, "relation": relation}


def _rows(pieces: Sequence[FilePiece]) -> list[AicfItem]:
    found = (item for piece in pieces if piece.section.name in ("LINKS", "LINK") for item in piece.items)
    return [item for item in found if item.kind in ROWS and item.raw.strip()]


def _linked(item: AicfItem, names: dict[str, FilePiece]) -> LinkRow:
    link = parse_link(item)
    if link is None or link.source not in names or link.target not in names:
        return LinkRow(item, False)
    piece = names[link.source]
    literal = link.relation.strip() if len(item.cells) > 1 else "related_to"
    _relate(piece, names[link.target], aicf_mapping.RELATIONS.get(literal.lower(), literal))
    piece.own.setdefault("links", []).append([link.target, literal])
    return LinkRow(item, True)


def _embedded(section: AicfSection, names: dict[str, FilePiece]) -> EmbeddingSection:
    pairs = section.pairs()
    piece = names.get(section.ident)
    if piece is None or piece.made is None:
        return EmbeddingSection(section, "the file contains no item with this identifier")
    numbers = cell_values.parse_vector(pairs["vector"].raw) if "vector" in pairs else cell_values.ParsedVector()
    said = cell_values.parse_integer(read_scalar(pairs, "dimension") or read_scalar(pairs, "dimensions"))
    model = read_scalar(pairs, "model")
    kept = {name: item.value for name, item in pairs.items() if name in ("similarity_threshold", "keywords", "model")}
    piece.own.setdefault("embeddings", []).append(kept)
    if not numbers.is_whole:
        return EmbeddingSection(section, "the vector is abbreviated, so some of its numbers are missing")
    if said is not None and said != len(numbers):
        return EmbeddingSection(section, "the vector does not have the number of dimensions that the file states")
    if not model:
        return EmbeddingSection(section, "the file does not name the model of the vector")
    computed_at = normalize_time(read_scalar(pairs, "indexed_at")) or piece.made.until or piece.made.event
    piece.embeddings.append(
        {
            "model": aicf_mapping.name_embedding_model(model),
            "dimensions": len(numbers),
            "vector": list(numbers),
            "computed_at": computed_at or START,
            "source": "runtime",
        }
    )
    return EmbeddingSection(section, "")
