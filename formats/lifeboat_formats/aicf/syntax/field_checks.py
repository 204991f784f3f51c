"""Checks of fields, rows and links against the specification."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lifeboat_formats.aicf.syntax import cell_values, grammar, specification
from lifeboat_formats.aicf.syntax.document_parts import AicfDocument, AicfItem, AicfSection, Dialect, ItemKind
from lifeboat_formats.aicf.syntax.specification import FieldSpec, FieldType

_NO_WORD = "The AICF specification does not define this value; the value is kept"
_MEMORY_TYPE = re.compile(r"\s*memory_type=(.*)\Z", re.DOTALL)


class UngradedFinding(NamedTuple):
    """A finding whose severity is not decided yet. `line` counts from 1."""

    code: str
    text: str
    line: int | None = None
    where: str = ""


def section_base_name(section: AicfSection) -> str:
    """Return the section that rows of this one belong to: `@INSIGHT` belongs to `@INSIGHTS`."""
    return grammar.ROW_NAMES.get(section.name, section.name)


def check_section_fields(section: AicfSection, dialect: Dialect) -> Iterator[UngradedFinding]:
    """Yield findings about the values in a section."""
    name = section_base_name(section)
    if name in specification.FIELDS:
        yield from _pairs(section, dialect)
        yield from _missing(section, dialect)
    if name in specification.COLUMNS:
        for item in section.of_kind(ItemKind.ROW, ItemKind.CELLS):
            yield from _row(name, item, dialect)
    if name == "STATE":
        yield from _scopes(section)
    if name == "EMBEDDING":
        yield from _embedding(section)


def _pairs(section: AicfSection, dialect: Dialect) -> Iterator[UngradedFinding]:
    known = specification.FIELDS[section.name]
    seen: set[str] = set()
    for item in section.of_kind(ItemKind.PAIR):
        where = f"@{section.name} {item.key}"[:80]
        if item.key in seen:
            yield UngradedFinding(
                "field_duplicate", "The field appears twice; the last value is used", item.line, where
            )
        seen.add(item.key)
        field = known.get(item.key)
        if field is None:
            if (section.name, item.key) in specification.OWN_FIELDS:
                continue
            # The keys of a state are free, and older dialects have fields of their own.
            if section.name != "STATE" and dialect not in (Dialect.BLOCKS, Dialect.COMPILED, Dialect.ESCAPED_BLOCKS):
                yield UngradedFinding(
                    "field_unknown",
                    "The AICF specification does not define this field; the field is kept",
                    item.line,
                    where,
                )
        elif section.name != "STATE" or _scope(section) == "session":
            yield from _value(field, item, where)


def _value(field: FieldSpec, item: AicfItem, where: str) -> Iterator[UngradedFinding]:
    problem = _PROBLEMS.get(field.holds)
    if problem is None:
        return
    code, text, is_good = problem
    if not is_good(item.value, field):
        yield UngradedFinding(code, text, item.line, where)


_PROBLEMS: dict[FieldType, tuple[str, str, Callable[[str, FieldSpec], bool]]] = {
    FieldType.TIME: (
        "timestamp_invalid",
        "The value is not an ISO 8601 time with seconds and a time-zone offset",
        lambda value, _: cell_values.is_timestamp(value),
    ),
    FieldType.INTEGER: (
        "int_invalid",
        "The value is not an integer",
        lambda value, _: cell_values.parse_integer(value) is not None,
    ),
    FieldType.NUMBER: (
        "float_invalid",
        "The value is not a number",
        lambda value, _: cell_values.parse_decimal(value) is not None,
    ),
    FieldType.PERCENTAGE: (
        "percentage_invalid",
        "The value is not a percentage",
        lambda value, _: cell_values.parse_percentage(value) is not None,
    ),
    FieldType.WORD: ("enum_unknown", _NO_WORD, lambda value, field: value in field.words),
}


def _missing(section: AicfSection, dialect: Dialect) -> Iterator[UngradedFinding]:
    if dialect in (Dialect.BLOCKS, Dialect.ESCAPED_BLOCKS) or section.name == "AICF_VERSION":
        return
    if dialect is Dialect.COMPILED and (any(section.of_kind(ItemKind.CELLS)) or not section.ident):
        return
    given = section.pairs()
    for key, field in specification.FIELDS[section.name].items():
        if field.is_required and key not in given:
            where = f"@{section.name} {key}"
            yield UngradedFinding("required_field_missing", "A required field is missing", section.line, where)


def _row(name: str, item: AicfItem, dialect: Dialect) -> Iterator[UngradedFinding]:
    columns = specification.COLUMNS[name]
    cells = [cell for cell in item.values if not _MEMORY_TYPE.match(cell)]
    if dialect is not Dialect.COMPILED and len(cells) < len(columns):
        text = f"The row has {len(cells)} cells, but {len(columns)} were expected"
        yield UngradedFinding("required_field_missing", text, item.line, f"@{name}")
    elif len(cells) >= len(columns):
        for field, cell in zip(columns, cells, strict=False):
            if field.holds is FieldType.WORD and cell not in field.words and cell_values.parse_decimal(cell) is None:
                yield UngradedFinding("enum_unknown", _NO_WORD, item.line, f"@{name}")
    for cell in item.values:
        found = _MEMORY_TYPE.match(cell)
        if found and found.group(1).strip() not in specification.MEMORY_TYPES:
            yield UngradedFinding(
                "enum_unknown",
                "The AICF specification does not define this memory type; the type is kept",
                item.line,
                f"@{name}",
            )


def _scope(section: AicfSection) -> str:
    return section.ident.strip().lower() or "session"


def _scopes(section: AicfSection) -> Iterator[UngradedFinding]:
    scope = _scope(section)
    if scope not in ("session", *specification.SCOPES):
        yield UngradedFinding(
            "enum_unknown",
            "The AICF specification does not define this scope; the scope is kept",
            section.line,
            "@STATE",
        )
    is_temporary = False
    for item in section.of_kind(ItemKind.PAIR):
        prefix = item.key.split(":", 1)[0]
        own = prefix if ":" in item.key and prefix in specification.SCOPES else scope
        is_temporary = is_temporary or own == "temp"
        if own != scope:
            text = "The key and its section have different scopes; the scope of the key is used"
            yield UngradedFinding("scope_conflict", text, item.line, "@STATE")
    if is_temporary:
        yield UngradedFinding(
            "temp_state_persisted",
            "A file should not contain a state that is valid for one turn only (@STATE:temp)",
            section.line,
            "@STATE:temp",
        )


def _embedding(section: AicfSection) -> Iterator[UngradedFinding]:
    given = section.pairs()
    item = given.get("vector")
    if item is None:
        return
    vector = cell_values.parse_vector(item.raw)
    where = "@EMBEDDING vector"
    if vector.is_elided:
        yield UngradedFinding(
            "vector_elided", "The vector is abbreviated with dots, so it is not used as an embedding", item.line, where
        )
        return
    if vector.is_broken:
        yield UngradedFinding(
            "vector_non_finite", "The vector contains a value that is not a finite number", item.line, where
        )
    dimension = cell_values.parse_integer(given["dimension"].value) if "dimension" in given else None
    if dimension is not None and dimension != len(vector) and not vector.is_broken:
        text = f"The vector has {len(vector)} numbers, but its dimension field has another value"
        yield UngradedFinding("vector_dimension_mismatch", text, item.line, where)


def list_link_targets(document: AicfDocument) -> set[str]:
    """Return every name that a link in the file may refer to: identifiers of sections, numbered rows (`insight_001`,
    `decision_001`, with more digits where needed), and the value of a field `id` or of a first cell."""
    found: set[str] = set()
    counts = {"INSIGHTS": 0, "DECISIONS": 0}
    for section in document.sections:
        name = section_base_name(section)
        found.add(section.ident)
        for item in section.items:
            if name in counts and item.kind in (ItemKind.ROW, ItemKind.CELLS):
                counts[name] += 1
                found.add(f"{name[:-1].lower()}_{counts[name]:03}")
            elif item.kind is ItemKind.CELLS:
                found.add(item.values[0].strip())
            elif item.kind is ItemKind.PAIR and item.key in ("id", f"{section.name.lower()}_id"):
                found.add(item.value.strip())
    return found - {""}


class StatedLink(NamedTuple):
    """A link as it is written: source, target and relation."""

    source: str
    target: str
    relation: str


def parse_link(item: AicfItem) -> StatedLink | None:
    """Return the link in a row, written as `a->b|relation` or `relation|a|b`, or None."""
    cells = item.values
    source, arrow, target = cells[0].partition("->")
    if arrow:
        return StatedLink(source.strip(), target.strip(), cells[1] if len(cells) > 1 else "")
    if len(cells) >= 3:
        return StatedLink(cells[1].strip(), cells[2].strip(), cells[0])
    return None


def check_links(document: AicfDocument) -> Iterator[UngradedFinding]:
    """Yield findings about the links of a file."""
    known: set[str] | None = None
    for section in document.sections:
        if section_base_name(section) != "LINKS":
            continue
        known = list_link_targets(document) if known is None else known
        for item in section.of_kind(ItemKind.ROW, ItemKind.CELLS):
            link = parse_link(item)
            if link is None:
                yield UngradedFinding(
                    "field_syntax", "A link must have the form `from->to|relation`", item.line, "@LINKS"
                )
                continue
            if link.source not in known or link.target not in known:
                yield UngradedFinding(
                    "link_unresolved",
                    "A link names an identifier that is not in the file; the link is kept",
                    item.line,
                    "@LINKS",
                )
            if link.relation not in specification.RELATIONS:
                yield UngradedFinding(
                    "enum_unknown",
                    "The AICF specification does not define this relation; the relation is kept",
                    item.line,
                    "@LINKS",
                )
