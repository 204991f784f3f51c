"""What pieces of a file say of each other: rows of @LINKS, vectors of @EMBEDDING, and what follows from where a piece
stands (AICF 3.1, "@LINKS", "@EMBEDDING"). Everything resolves within one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lifeboat_alf.json_types import JsonObject
from lifeboat_formats.aicf import mapping, values
from lifeboat_formats.aicf.mapping import DERIVED, ELABORATES
from lifeboat_formats.aicf.memories import Made, scalar
from lifeboat_formats.aicf.moments import created, moment
from lifeboat_formats.aicf.parts import Item, Section
from lifeboat_formats.aicf.pieces import ROWS, Piece

MOST_LINKS = 100_000
"""More rows than that are kept in the file, and are no links of records."""
_FOLLOWING = {
    mapping.STATE: ELABORATES,
    mapping.MESSAGE: ELABORATES,
    mapping.INSIGHT: DERIVED,
    mapping.DECISION: DERIVED,
}


class Link(NamedTuple):
    """A row of @LINKS as it is written, and whether both ends stand in the file."""

    item: Item
    source: str
    target: str
    relation: str
    is_resolved: bool


class Vector(NamedTuple):
    """An @EMBEDDING section. `problem` says why it is no vector of a record, "" when it is."""

    section: Section
    problem: str


class Relations(NamedTuple):
    """`passed_over` counts links behind the most that are followed: they are kept in the file only."""

    links: list[Link]
    vectors: list[Vector]
    passed_over: int = 0


def relate(pieces: Sequence[Piece]) -> Relations:
    """Write relations and vectors onto the memories among the pieces; their ids are known."""
    names = _names(pieces)
    for piece in pieces:
        if piece.made is not None:
            _follow(piece, names)
    rows = _rows(pieces)
    links = [_linked(item, names) for item in rows[:MOST_LINKS]]
    vectors = [_embedded(section, names) for section in _sections(pieces, "EMBEDDING")]
    for piece in pieces:
        if piece.section.name == "EMBEDDING":
            piece.about = names.get(piece.section.ident)
    return Relations(links, vectors, len(rows) - len(links))


def _names(pieces: Sequence[Piece]) -> dict[str, Piece]:
    """Every name under which a memory of the file may be spoken of."""
    found: dict[str, Piece] = {}
    numbers = {mapping.INSIGHT: 0, mapping.DECISION: 0}
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


def _follow(piece: Piece, names: dict[str, Piece]) -> None:
    """Relations that no row says."""
    assert piece.made is not None
    relation = _FOLLOWING.get(piece.made.kind)
    if relation and piece.conversation is not None:
        _relate(piece, piece.conversation, relation)
    for source in piece.made.own.get("source_items") or ():
        if source in names:
            _relate(piece, names[source], DERIVED)


def _relate(piece: Piece, other: Piece, relation: str) -> None:
    if other is not piece:
        piece.related[other.record_id, relation] = {"id": other.record_id, "relation": relation}


def _rows(pieces: Sequence[Piece]) -> list[Item]:
    found = (item for piece in pieces if piece.section.name in ("LINKS", "LINK") for item in piece.items)
    return [item for item in found if item.kind in ROWS and item.raw.strip()]


def _sections(pieces: Sequence[Piece], name: str) -> list[Section]:
    return [piece.section for piece in pieces if piece.section.name == name]


def ends(cells: Sequence[str]) -> tuple[str, str, str]:
    """Source, target and relation: `a->b|type`, or `type|a|b` as one writer has it."""
    first = cells[0]
    if "->" in first:
        source, _, target = first.partition("->")
        return source.strip(), target.strip(), cells[1].strip() if len(cells) > 1 else "related_to"
    relation, source, target, *_ = [*cells, "", "", ""]
    return source.strip(), target.strip(), relation.strip()


def _linked(item: Item, names: dict[str, Piece]) -> Link:
    source, target, literal = ends(item.values)
    if source not in names or target not in names:
        return Link(item, source, target, literal, False)
    piece = names[source]
    _relate(piece, names[target], mapping.RELATIONS.get(literal.lower(), literal))
    piece.own.setdefault("links", []).append([target, literal])
    return Link(item, source, target, literal, True)


def _embedded(section: Section, names: dict[str, Piece]) -> Vector:
    pairs = section.pairs()
    piece = names.get(section.ident)
    if piece is None or piece.made is None:
        return Vector(section, "nothing in the file has this identifier")
    numbers = values.vector(pairs["vector"].raw) if "vector" in pairs else values.Vector()
    said = values.integer(scalar(pairs, "dimension") or scalar(pairs, "dimensions"))
    model = scalar(pairs, "model")
    kept = {name: item.value for name, item in pairs.items() if name in ("similarity_threshold", "keywords", "model")}
    piece.own.setdefault("embeddings", []).append(kept)
    if not numbers.is_whole:
        return Vector(section, "the vector is not written out")
    if said is not None and said != len(numbers):
        return Vector(section, "the vector has another dimension than it says")
    if not model:
        return Vector(section, "no model is named")
    piece.embeddings.append(_embedding(model, numbers, moment(scalar(pairs, "indexed_at")) or _time(piece.made)))
    return Vector(section, "")


def _embedding(model: str, numbers: Sequence[float], computed_at: str | None) -> JsonObject:
    return {
        "model": mapping.model_of(model),
        "dimensions": len(numbers),
        "vector": list(numbers),
        "computed_at": created(computed_at),
        "source": "runtime",
    }


def _time(made: Made) -> str | None:
    return made.until or made.event
