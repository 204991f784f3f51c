"""What the fields, rows and links of a file have to say, against what the specification has them say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lifeboat_formats.aicf import grammar, specified, values
from lifeboat_formats.aicf.parts import Dialect, Document, Item, Kind, Section
from lifeboat_formats.aicf.specified import Field, Holds

_NO_WORD = "It is none of the words of the specification: kept"
_MEMORY_TYPE = re.compile(r"\s*memory_type=(.*)\Z", re.DOTALL)


class Remark(NamedTuple):
    """A finding whose severity is not settled. `line` counts from 1."""

    code: str
    text: str
    line: int | None = None
    where: str = ""


def base_name(section: Section) -> str:
    """The name of a section; `@INSIGHT` is one of `@INSIGHTS`."""
    return grammar.ROW_NAMES.get(section.name, section.name)


def of_section(section: Section, dialect: Dialect) -> Iterator[Remark]:
    """What is wrong with the values in a section."""
    name = base_name(section)
    if name in specified.FIELDS:
        yield from _pairs(section, dialect)
        yield from _missing(section, dialect)
    if name in specified.COLUMNS:
        for item in section.of_kind(Kind.ROW, Kind.CELLS):
            yield from _row(name, item, dialect)
    if name == "STATE":
        yield from _scopes(section)
    if name == "EMBEDDING":
        yield from _embedding(section)


def _pairs(section: Section, dialect: Dialect) -> Iterator[Remark]:
    known = specified.FIELDS[section.name]
    seen: set[str] = set()
    for item in section.of_kind(Kind.PAIR):
        where = f"@{section.name} {item.key}"[:80]
        if item.key in seen:
            yield Remark("field_duplicate", "The field stands more than once: the last counts", item.line, where)
        seen.add(item.key)
        field = known.get(item.key)
        if field is None:
            if (section.name, item.key) in specified.OWN_FIELDS:
                continue
            # A state has keys of its own.
            if section.name != "STATE" and dialect not in (Dialect.BLOCKS, Dialect.COMPILED, Dialect.ESCAPED_BLOCKS):
                yield Remark("field_unknown", "The specification knows no such field: kept", item.line, where)
        elif section.name != "STATE" or _scope(section) == "session":
            yield from _value(field, item, where)


def _value(field: Field, item: Item, where: str) -> Iterator[Remark]:
    problem = _PROBLEMS.get(field.holds)
    if problem is None:
        return
    code, text, is_good = problem
    if not is_good(item.value, field):
        yield Remark(code, text, item.line, where)


_PROBLEMS: dict[Holds, tuple[str, str, Callable[[str, Field], bool]]] = {
    Holds.TIME: (
        "timestamp_invalid",
        "It is no time with seconds and an offset (ISO 8601)",
        lambda value, _: values.is_timestamp(value),
    ),
    Holds.INTEGER: ("int_invalid", "It is no whole number", lambda value, _: values.integer(value) is not None),
    Holds.NUMBER: ("float_invalid", "It is no number", lambda value, _: values.decimal(value) is not None),
    Holds.PERCENTAGE: (
        "percentage_invalid",
        "It is no percentage",
        lambda value, _: values.percentage(value) is not None,
    ),
    Holds.WORD: ("enum_unknown", _NO_WORD, lambda value, field: value in field.words),
}


def _missing(section: Section, dialect: Dialect) -> Iterator[Remark]:
    if dialect in (Dialect.BLOCKS, Dialect.ESCAPED_BLOCKS) or section.name == "AICF_VERSION":
        return
    if dialect is Dialect.COMPILED and (any(section.of_kind(Kind.CELLS)) or not section.ident):
        return
    given = section.pairs()
    for key, field in specified.FIELDS[section.name].items():
        if field.is_required and key not in given:
            where = f"@{section.name} {key}"
            yield Remark("required_field_missing", "A required field is missing", section.line, where)


def _row(name: str, item: Item, dialect: Dialect) -> Iterator[Remark]:
    columns = specified.COLUMNS[name]
    cells = [cell for cell in item.values if not _MEMORY_TYPE.match(cell)]
    if dialect is not Dialect.COMPILED and len(cells) < len(columns):
        text = f"A row has {len(columns)} cells, this one {len(cells)}"
        yield Remark("required_field_missing", text, item.line, f"@{name}")
    elif len(cells) >= len(columns):
        for field, cell in zip(columns, cells, strict=False):
            if field.holds is Holds.WORD and cell not in field.words and values.decimal(cell) is None:
                yield Remark("enum_unknown", _NO_WORD, item.line, f"@{name}")
    for cell in item.values:
        found = _MEMORY_TYPE.match(cell)
        if found and found.group(1).strip() not in specified.MEMORY_TYPES:
            yield Remark("enum_unknown", "The specification knows no such type of memory: kept", item.line, f"@{name}")


def _scope(section: Section) -> str:
    return section.ident.strip().lower() or "session"


def _scopes(section: Section) -> Iterator[Remark]:
    scope = _scope(section)
    if scope not in ("session", *specified.SCOPES):
        yield Remark("enum_unknown", "The specification knows no such scope: kept", section.line, "@STATE")
    is_temporary = False
    for item in section.of_kind(Kind.PAIR):
        prefix = item.key.split(":", 1)[0]
        own = prefix if ":" in item.key and prefix in specified.SCOPES else scope
        is_temporary = is_temporary or own == "temp"
        if own != scope:
            text = "The scope of the key is not that of its section: the key's counts"
            yield Remark("scope_conflict", text, item.line, "@STATE")
    if is_temporary:
        yield Remark("temp_state_persisted", "What is for one turn only stands in a file", section.line, "@STATE:temp")


def _embedding(section: Section) -> Iterator[Remark]:
    given = section.pairs()
    item = given.get("vector")
    if item is None:
        return
    vector = values.vector(item.raw)
    where = "@EMBEDDING vector"
    if vector.is_elided:
        yield Remark("vector_elided", "Dots stand for a part of the vector: no embedding", item.line, where)
        return
    if vector.is_broken:
        yield Remark("vector_non_finite", "Not everything in the vector is a finite number", item.line, where)
    dimension = values.integer(given["dimension"].value) if "dimension" in given else None
    if dimension is not None and dimension != len(vector) and not vector.is_broken:
        text = f"The vector has {len(vector)} numbers, not as many as its dimension"
        yield Remark("vector_dimension_mismatch", text, item.line, where)


def identifiers(document: Document) -> set[str]:
    """What a link of a file may name: the identifiers of its sections, those of its rows (`insight_001`,
    `decision_001` in their order, as many digits as there are), and what a field `id` or a first cell says."""
    found: set[str] = set()
    counts = {"INSIGHTS": 0, "DECISIONS": 0}
    for section in document.sections:
        name = base_name(section)
        found.add(section.ident)
        for item in section.items:
            if name in counts and item.kind in (Kind.ROW, Kind.CELLS):
                counts[name] += 1
                found.add(f"{name[:-1].lower()}_{counts[name]:03}")
            elif item.kind is Kind.CELLS:
                found.add(item.values[0].strip())
            elif item.kind is Kind.PAIR and item.key in ("id", f"{section.name.lower()}_id"):
                found.add(item.value.strip())
    return found - {""}


class Link(NamedTuple):
    """A link as it is written: who with whom, and how."""

    source: str
    target: str
    relation: str
    rest: tuple[str, ...] = ()


def link_of(item: Item) -> Link | None:
    """The link in a row: `a->b|relation`, or `relation|a|b`. None when it is neither."""
    cells = item.values
    source, arrow, target = cells[0].partition("->")
    if arrow:
        return Link(source.strip(), target.strip(), cells[1] if len(cells) > 1 else "", tuple(cells[2:]))
    if len(cells) >= 3:
        return Link(cells[1].strip(), cells[2].strip(), cells[0], tuple(cells[3:]))
    return None


def of_links(document: Document) -> Iterator[Remark]:
    """What is wrong with the links of a file."""
    known: set[str] | None = None
    for section in document.sections:
        if base_name(section) != "LINKS":
            continue
        known = identifiers(document) if known is None else known
        for item in section.of_kind(Kind.ROW, Kind.CELLS):
            link = link_of(item)
            if link is None:
                yield Remark("field_syntax", "A link is `from->to|relation`", item.line, "@LINKS")
                continue
            if link.source not in known or link.target not in known:
                yield Remark("link_unresolved", "A link names what is not in the file: kept", item.line, "@LINKS")
            if link.relation not in specified.RELATIONS:
                yield Remark("enum_unknown", "The specification knows no such relation: kept", item.line, "@LINKS")
