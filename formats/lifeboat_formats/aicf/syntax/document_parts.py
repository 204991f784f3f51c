"""A file as parts: what every dialect is read as, plain data.

The items of all sections, one behind the other, are the text: each begins where the one before it ended. So a part can
be replaced, and everything around it stays as it was.
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
    """Who wrote the file, as far as it tells. The grammar differs in what is escaped and what makes a pair."""

    SPECIFIED = "v3.1"
    """Every line numbered, as the specification has it."""
    MIXED = "v3-mixed-numbers"
    """As SPECIFIED, with gaps in the numbers and lines without one."""
    BLOCKS = "v3-blocks"
    """Only the first line of a block has a number, which counts blocks."""
    COMPILED = "v3-compiled"
    """No numbers."""
    STREAM = "v3-stream"
    """Every line numbered; a count of each kind at the end."""
    ESCAPED_BLOCKS = "v3-escaped-blocks"
    """A whole block in one line, its header escaped."""
    SCHEMA_DATA = "v2-schema-data"
    POSITIONAL = "v2-positional"
    EIGHT_COLUMNS = "v1-columns"
    JSON = "v1-json"
    XML = "v1-xml"
    END_TAGS = "export-end-tags"
    """What a model wrote: `@NAME` ... `@NAME_END`."""
    TAGGED_LINES = "export-tags"
    """What a model wrote: `@CONTENT:` and such with free text behind."""
    KEY_CELLS = "v3-alpha"
    """`key|value`, no headers."""
    WATCHER = "v3-watcher"
    """`1|@CONVERSATION|id|time` and lines `kind|...`."""
    MANUAL = "v1-manual"
    """By hand: `@FLOW`, `@DETAILS:tag`."""
    UNKNOWN = "unknown"
    """Text without anything by which to tell."""


class ItemKind(StrEnum):
    HEADER = "header"
    """`@NAME:ident`. `key` is the name, `raw` what follows it without the `:`."""
    END = "end"
    """`@NAME_END`, which closes the section; `key` is the name with its end."""
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
    """A value in a JSON file: `key` is the list it stands in, `data` the value, `raw` its text."""
    GLUE = "glue"
    """What stands between the values of a JSON file."""


@dataclass(slots=True)
class AicfItem:
    """A piece of the text, with its number, its blanks and the end of its line.

    `start` to `end` is the piece, `value_start` to `value_end` what stands for its value in it; `raw` is that value as
    it is written, without line numbers where it goes over several lines (`is_triple`: between three double quotes).
    `line` counts from 1; `number` is the one at its beginning.
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
        """The value as one text, unescaped; pipes in it are no separators."""
        return self.raw if self.is_triple else cell_values.unescape_cell(self.raw, self.escaping)

    @property
    def cells(self) -> list[str]:
        """The cells as they are written."""
        return [self.raw] if self.is_triple else cell_values.split_cells(self.raw, self.escaping)

    @property
    def values(self) -> list[str]:
        """The cells, unescaped."""
        return [cell_values.unescape_cell(cell, self.escaping) for cell in self.cells]

    @property
    def as_list(self) -> list[str]:
        """The value as a list, between pipes or commas."""
        return [self.raw] if self.is_triple else cell_values.items_of_list(self.raw, self.escaping)


@dataclass(slots=True)
class AicfSection:
    """A header and everything up to the next one.

    `name` is in upper case, "" for what stands before the first header or behind an end tag; `header` as it is
    spelled, "" where rows came without one. `ident` is what follows the `:` ("@STATE:user" -> "user"), the first cell
    of `@NAME|a|b`, or the text of `@AICF_VERSION 3.1.0`. `group` and `columns` are for `@DATA` of version 2: the
    section it belongs to, and the names of its cells.
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
        """The pairs by their keys as written; of a key that stands several times the last counts."""
        return {item.key: item for item in self.items if item.kind is ItemKind.PAIR}

    def of_kind(self, *kinds: ItemKind) -> Iterator[AicfItem]:
        return (item for item in self.items if item.kind in kinds)

    @property
    def line(self) -> int:
        """The line it begins in, from 1."""
        return self.items[0].line if self.items else 1

    def text(self) -> str:
        """Its free text, a line each."""
        return "\n".join(item.value for item in self.of_kind(ItemKind.TEXT))


@dataclass
class AicfDocument:
    """A file. `text` is without the byte order mark (`bom`); `packed` are the bytes of a compressed one. `version` is
    what it declares, or what its dialect is of; `is_numbered` whether its lines begin with numbers. `json` is the
    value of a JSON file."""

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
        """The first section of a name (any case) and identifier, of any identifier when None. A look-up."""
        by_ident = self._index.get(name.upper(), {})
        if ident is not None:
            found = by_ident.get(ident)
            return found[0] if found else None
        return next((same[0] for same in by_ident.values()), None)

    def named(self, name: str) -> list[AicfSection]:
        """All sections of a name, in their order."""
        every = [section for same in self._index.get(name.upper(), {}).values() for section in same]
        return sorted(every, key=lambda section: section.start)

    def items(self) -> Iterator[AicfItem]:
        """All items, in the order of the text."""
        return (item for section in self.sections for item in section.items)
