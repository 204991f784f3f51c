"""Classifies one line: header, row, key-value pair, cells or text."""

from __future__ import annotations

import re
from typing import NamedTuple

from lifeboat_formats.aicf.syntax.cell_values import Escaping
from lifeboat_formats.aicf.syntax.document_parts import Dialect, ItemKind

_NAME = re.compile(r"(\\?)@([A-Za-z][A-Za-z0-9_]*)(?=[:| \t]|\Z)")
_ESCAPED_NAME = re.compile(r"\\?@([A-Za-z][A-Za-z0-9_]*)(?=[:| \t\\]|\Z)")
_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_:.\-]*)[ \t]*=")
_COLON_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_ .\-]{0,60}):(?:[ \t]+|\Z)")
_COUNT = re.compile(r"count=[0-9]+\Z")
_ONE_PAIR = re.compile(r"[A-Za-z_]+=\S*\Z")

ROW_NAMES = {
    "INSIGHTS": "INSIGHTS",
    "INSIGHT": "INSIGHTS",
    "DECISIONS": "DECISIONS",
    "DECISION": "DECISIONS",
    "LINKS": "LINKS",
    "LINK": "LINKS",
}
"""Names that may begin a row, and the section that such a row belongs to."""
FREE_TEXT = frozenset(("NOTES", "CONTEXT", "CONTENT"))
"""Sections of prose, where `key=` is ordinary text."""
TABLES = frozenset(("SCHEMA", "DATA"))
_INSIGHT_KEYS = ("insight", "text", "content", "category", "priority", "confidence", "timestamp", "memory_type")
_DECISION_KEYS = ("decision", "description", "impact", "rationale", "reason", "why", "source", "status", "importance")
_LINK_KEYS = ("id", "from", "to", "from_id", "to_id", "relation", "relationship", "type", "target", "tags")
_PAIR_KEYS = frozenset((*_INSIGHT_KEYS, *_DECISION_KEYS, *_LINK_KEYS))
_COUNTED_KEY = re.compile(r"[A-Za-z][A-Za-z_]*_[0-9]+\Z")
_BLANKS = " \t"
"""White space allowed around a header. Other white space, such as U+2028, is text."""


class ParsedLine(NamedTuple):
    """The kind of a line, its key, and the offsets of its value from the beginning of the data."""

    kind: ItemKind
    key: str = ""
    value: int = 0
    value_end: int = 0


def escaping_of(dialect: Dialect) -> Escaping:
    """Return how writers of a dialect escape values."""
    if dialect in (Dialect.BLOCKS, Dialect.COMPILED, Dialect.ESCAPED_BLOCKS):
        return Escaping.LOOSE
    if dialect in (Dialect.JSON, Dialect.XML, Dialect.TAGGED_LINES, Dialect.END_TAGS, Dialect.UNKNOWN):
        return Escaping.NONE
    return Escaping.SPECIFIED


def parse_header(data: str) -> ParsedLine | None:
    """Return a HEADER, or a ROW for `@INSIGHTS cells`, or None if the line is neither."""
    found = _NAME.match(data, _indent(data))
    if found is None:
        return None
    name, at, end = found.group(2), found.end(), len(data.rstrip(_BLANKS))
    if at >= end:
        return ParsedLine(ItemKind.HEADER, name, end, end)
    if data[at] in ":|":
        return ParsedLine(ItemKind.HEADER, name, at + 1, end)
    # A blank follows the name: a row, a declaration, or a sentence.
    value = at + _indent(data[at:])
    if name.upper() in ROW_NAMES and not _COUNT.match(data, value, end):
        return ParsedLine(ItemKind.ROW, name, value, len(data))
    # Many sentences begin with a word after an at-sign, so only upper case or a single pair makes a header.
    if name == name.upper() and len(name) > 1:
        return ParsedLine(ItemKind.HEADER, name, value, end)
    if name.upper() == "AICF_VERSION" or _ONE_PAIR.match(data, value, end):
        return ParsedLine(ItemKind.HEADER, name, value, end)
    return None


def header_ident(data: str, header: ParsedLine) -> str:
    """Return the identifier in a header: the text after the `:`, or the first cell of `@NAME|a|b`."""
    ident = data[header.value : header.value_end]
    is_cells = header.value > 0 and data[header.value - 1] == "|"
    return ident.split("|", 1)[0] if is_cells else ident


def is_escaped_block(data: str) -> bool:
    r"""Return whether a line holds a whole block, with an escaped header and lines separated by `\n`."""
    stripped = data.lstrip(_BLANKS)
    return stripped.startswith("\\@") and "\\n" in stripped and _ESCAPED_NAME.match(stripped) is not None


def classify_line(data: str, section: str, dialect: Dialect) -> ParsedLine:
    """Classify a line that is not a header. `section` is in upper case."""
    stripped = data.strip()
    if not stripped:
        return ParsedLine(ItemKind.BLANK)
    is_prose = section in FREE_TEXT or dialect in (Dialect.TAGGED_LINES, Dialect.UNKNOWN)
    if stripped.startswith("```"):
        return ParsedLine(ItemKind.FENCE)
    if stripped.startswith("#") and not is_prose:
        return ParsedLine(ItemKind.COMMENT)
    indent = _indent(data)
    pair = None if section in FREE_TEXT or section in TABLES or dialect in _WITHOUT_PAIRS else _PAIR.match(data, indent)
    if pair is not None and _is_pair(pair.group(1), data, section):
        return ParsedLine(ItemKind.PAIR, pair.group(1), pair.end(), len(data))
    colon = _COLON_PAIR.match(data, indent) if dialect is Dialect.END_TAGS else None
    if colon is not None:
        return ParsedLine(ItemKind.PAIR, colon.group(1), colon.end(), len(data))
    if "|" in stripped and not is_prose and dialect is not Dialect.END_TAGS:
        return ParsedLine(ItemKind.CELLS, "", 0, len(data))
    return ParsedLine(ItemKind.TEXT, "", 0, len(data))


_WITHOUT_PAIRS = (Dialect.KEY_CELLS, Dialect.EIGHT_COLUMNS, Dialect.POSITIONAL, Dialect.WATCHER, Dialect.UNKNOWN)


def _is_pair(key: str, data: str, section: str) -> bool:
    """Return whether `key=` begins a pair. In sections of rows only known keys do, because the text of a row may
    contain `=`."""
    if ROW_NAMES.get(section) is None or "|" not in data:
        return True
    return key.lower() in _PAIR_KEYS or _COUNTED_KEY.match(key) is not None


def _indent(data: str) -> int:
    return len(data) - len(data.lstrip(_BLANKS))
