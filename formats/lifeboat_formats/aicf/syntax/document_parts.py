"""The parsed form of a file, the same for every dialect.

The items of all sections, concatenated, are the text: each begins where the one before it ends. So one item can be
replaced without changing anything around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from lifeboat_formats.aicf.syntax import cell_values
from lifeboat_formats.aicf.syntax.cell_values import Escaping
from lifeboat_formats.interchange.contract import FormatNotice


class Dialect(StrEnum):
    """The dialect of a file, named after its writer where known. Dialects differ in escapes and in what forms a
    pair."""

    SPECIFIED = "v3.1"
    """Every line is numbered, as in the specification."""
    MIXED = "v3-mixed-numbers"
    """Like SPECIFIED, with gaps in the numbers and lines without a number."""
    BLOCKS = "v3-blocks"
    """Only the first line of a block is numbered; the number counts blocks."""
    COMPILED = "v3-compiled"
    """No line numbers."""
    STREAM = "v3-stream"
    """Every line is numbered; the file ends with a count of each kind."""
    ESCAPED_BLOCKS = "v3-escaped-blocks"
    """Each block is one line with an escaped header."""
    SCHEMA_DATA = "v2-schema-data"
    POSITIONAL = "v2-positional"
    EIGHT_COLUMNS = "v1-columns"
    JSON = "v1-json"
    XML = "v1-xml"
    END_TAGS = "export-end-tags"
    """Written by a language model: `@NAME` ... `@NAME_END`."""
    TAGGED_LINES = "export-tags"
    """Written by a language model: tags such as `@CONTENT:`, followed by free text."""
    KEY_CELLS = "v3-alpha"
    """Lines `key|value` without headers."""
    WATCHER = "v3-watcher"
    """A line `1|@CONVERSATION|id|time`, followed by lines `kind|...`."""
    MANUAL = "v1-manual"
    """Written by hand: `@FLOW`, `@DETAILS:tag`."""
    UNKNOWN = "unknown"
    """Text without recognisable structure."""


class ItemKind(StrEnum):
    """The kind of an item."""

    HEADER = "header"
    """`@NAME:ident`. `key` is the name, `raw` the text after it without the `:`."""
    END = "end"
    """`@NAME_END`, which closes the section. `key` is the name including `_END`."""
    PAIR = "kv"
    """`key=value`."""
    ROW = "row"
    """`@INSIGHTS cell|cell`. `key` is the name."""
    CELLS = "cells"
    """`cell|cell` under a header."""
    TEXT = "text"
    COMMENT = "comment"
    FENCE = "fence"
    BLANK = "blank"
    JSON = "json"
    """A value in a JSON file: `key` is its list, `data` the value, `raw` its text."""
    GLUE = "glue"
    """The text between the values of a JSON file."""


@dataclass(slots=True)
class AicfItem:
    """A span of the text, including its line number, surrounding blanks and line terminator.

    `start` to `end` is the span, `value_start` to `value_end` the value in it. `raw` is the value as written, without
    the line numbers inside a value of several lines (`is_triple`: between three double quotes). `line` counts from 1;
    `number` is the leading line number.
    """

    kind: ItemKind
    start: int
    end: int
    line: int
    key: str = ""
    raw: str = ""
    value_start: int = 0
    value_end: int = 0
    number: int | None = None
    escaping: Escaping = Escaping.SPECIFIED
    is_triple: bool = False
    data: Any = None

    @property
    def value(self) -> str:
        """Return the value as one unescaped text, in which pipes do not separate cells."""
        return self.raw if self.is_triple else cell_values.unescape_cell(self.raw, self.escaping)

    @property
    def cells(self) -> list[str]:
        """Return the cells as written."""
        return [self.raw] if self.is_triple else cell_values.split_cells(self.raw, self.escaping)

    @property
    def values(self) -> list[str]:
        """Return the cells, unescaped."""
        return [cell_values.unescape_cell(cell, self.escaping) for cell in self.cells]

    @property
    def as_list(self) -> list[str]:
        """Return the value as a list, separated by pipes or commas."""
        return [self.raw] if self.is_triple else cell_values.items_of_list(self.raw, self.escaping)


@dataclass(slots=True)
class AicfSection:
    """A header and everything up to the next one.

    `name` is in upper case, "" before the first header and after an end tag. `header` is the name as spelled, "" for
    rows without a header. `ident` is the text after the `:` ("@STATE:user" -> "user"), the first cell of `@NAME|a|b`,
    or the text of `@AICF_VERSION 3.1.0`. `group` and `columns` are for `@DATA` of version 2: the section it belongs to
    and the names of its cells.
    """

    name: str
    header: str
    ident: str
    start: int
    end: int
    items: list[AicfItem] = field(default_factory=list)
    group: str = ""
    columns: tuple[str, ...] = ()

    def pairs(self) -> dict[str, AicfItem]:
        """Return the pairs by key as written. The last of repeated keys is used."""
        return {item.key: item for item in self.items if item.kind is ItemKind.PAIR}

    def of_kind(self, *kinds: ItemKind) -> Iterator[AicfItem]:
        """Yield the items of these kinds."""
        return (item for item in self.items if item.kind in kinds)

    @property
    def line(self) -> int:
        """Return the line in which the section begins, counted from 1."""
        return self.items[0].line if self.items else 1

    def text(self) -> str:
        """Return the free text of the section, one line per item."""
        return "\n".join(item.value for item in self.of_kind(ItemKind.TEXT))


@dataclass
class AicfDocument:
    """A parsed file. `text` excludes the byte order mark (`bom`); `packed` are the original bytes of a compressed file.
    `version` is declared or implied by the dialect. `json` is the value of a JSON file."""

    text: str
    bom: bool = False
    dialect: Dialect = Dialect.UNKNOWN
    version: str = ""
    is_version_declared: bool = False
    is_numbered: bool = False
    sections: list[AicfSection] = field(default_factory=list)
    notices: list[FormatNotice] = field(default_factory=list)
    escaping: Escaping = Escaping.SPECIFIED
    packed: bytes | None = None
    json: Any = None

    @cached_property
    def _index(self) -> dict[str, dict[str, list[AicfSection]]]:
        index: dict[str, dict[str, list[AicfSection]]] = {}
        for section in self.sections:
            index.setdefault(section.name, {}).setdefault(section.ident, []).append(section)
        return index

    def section(self, name: str, ident: str | None = None) -> AicfSection | None:
        """Return the first section with a name (in any case) and identifier; None matches any identifier."""
        by_ident = self._index.get(name.upper(), {})
        if ident is not None:
            found = by_ident.get(ident)
            return found[0] if found else None
        return next((same[0] for same in by_ident.values()), None)

    def named(self, name: str) -> list[AicfSection]:
        """Return all sections with a name, in order."""
        every = [section for same in self._index.get(name.upper(), {}).values() for section in same]
        return sorted(every, key=lambda section: section.start)

    def items(self) -> Iterator[AicfItem]:
        """Yield all items in the order of the text."""
        return (item for section in self.sections for item in section.items)
