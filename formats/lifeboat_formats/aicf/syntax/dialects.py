"""Detects the dialect of a file from its first line, its headers and its line numbers.

Everything here works with regular expressions over the whole text, so that one section can be found without parsing the
others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lifeboat_formats.aicf.syntax import grammar, numbered_lines
from lifeboat_formats.aicf.syntax.document_parts import Dialect

# Searches run over the text with a line end put in front of it. A pattern that begins with a character set is searched
# fast; one that begins with `\\A` or a lookbehind is not.
_BEGIN = r"[\r\n][ \t]*"
_NUMBER = r"(?:[0-9]{1,9}\|[ \t]*)?"
_HEADERS = re.compile(_BEGIN + r"(?:([0-9]{1,9}\|)[ \t]*)?\\?@([A-Za-z][A-Za-z0-9_]*)(?=[:| \t\r\n\\]|\Z)")
_NUMBERED_LINES = re.compile(_BEGIN + r"[0-9]{1,9}\|")
_NUMBERED_HEADERS = re.compile(_BEGIN + r"[0-9]{1,9}\|[ \t]*\\?@[A-Za-z]")
_LINE_WITHOUT_NUMBER = re.compile(r"[\r\n](?![ \t]*[0-9]{1,9}\|)[^\S\r\n]*\S")
_DECLARED = re.compile(
    _BEGIN + _NUMBER + r"@(?i:AICF_VERSION)\b[ \t:|]*(?:(?:\r\n|\n|\r)[ \t]*" + _NUMBER + r")?"
    r"(?i:version[ \t]*[=:|][ \t]*)?[vV]?([0-9]{1,4}(?:\.[0-9]{1,4}){1,2})(?![0-9.])"
)
_KEY_VERSION = re.compile(r"[\r\n]version\|([0-9][0-9A-Za-z.\-]{0,30})")
_POSITIONAL = re.compile(r"[0-9]{1,9}\|(?:CONV|DATA)\|")
_KEY_CELLS = re.compile(r"[\r\n](?:version|conversationId|userIntents)\|")
_WATCHER = re.compile(r"[ \t]*(?:[0-9]{1,9}\|[ \t]*)?@CONVERSATION\|", re.IGNORECASE)
_COUNTS = re.compile(_BEGIN + _NUMBER + r"@[a-z_]+ count=[0-9]")
_BARE_VERSION = re.compile(r"[\r\n]([0-9]\.[0-9]{1,4}(?:\.[0-9]{1,4})?)[ \t]*(?=[\r\n]|\Z)")

_UNDECLARED = {
    Dialect.SCHEMA_DATA: "2.0",
    Dialect.POSITIONAL: "2.0",
    Dialect.EIGHT_COLUMNS: "1.0",
    Dialect.JSON: "1.0",
    Dialect.XML: "1.0",
    Dialect.MANUAL: "1.0",
}
UNDECLARED = "3.x"
"""The version of a file that declares none and whose dialect does not imply one."""
NEWEST = (3, 1)


class HeaderLine(NamedTuple):
    """A line that may be a header or a named row. Offsets in the text: `rest` is where the name ends."""

    start: int
    is_numbered: bool
    name: str
    rest: int


class DialectSurvey(NamedTuple):
    """What is known of a file before its lines are parsed."""

    dialect: Dialect
    is_numbered: bool
    version: str
    is_version_declared: bool
    heads: tuple[HeaderLine, ...] = ()

    @property
    def is_canonical(self) -> bool:
        """Return whether the file follows the specification exactly: every line is numbered, and only the specified
        escapes have a meaning."""
        return self.dialect is Dialect.SPECIFIED and self.version.startswith("3.1") and self.is_version_declared


def survey_text(text: str) -> DialectSurvey:
    """Detect dialect, version and headers of a text that is neither JSON nor XML."""
    numbered = numbered_lines.is_numbered(text)
    padded = "\n" + text
    declared = _DECLARED.search(padded)
    heads = tuple(_heads(padded))
    dialect = _dialect(padded, numbered, {head.name for head in heads})
    if declared is None and dialect is Dialect.KEY_CELLS:
        declared = _KEY_VERSION.search(padded)
    if declared is None and dialect is Dialect.SCHEMA_DATA:
        declared = _BARE_VERSION.search(padded)
    # A declared version wins over the one that the dialect implies.
    version = declared.group(1) if declared else _UNDECLARED.get(dialect, UNDECLARED)
    return DialectSurvey(dialect, numbered, version, declared is not None, heads)


def assume_version(dialect: Dialect) -> str:
    """Return the version that a dialect implies when a file declares none."""
    return _UNDECLARED.get(dialect, UNDECLARED)


def is_newer_version(version: str) -> bool:
    """Return whether a version is newer than the newest supported one."""
    parts = version.split(".")
    numbers = tuple(int(part) for part in parts[:2] if part.isdecimal() and len(part) <= 9)
    return numbers > NEWEST


def _heads(padded: str) -> Iterator[HeaderLine]:
    for found in _HEADERS.finditer(padded):
        yield HeaderLine(found.start(), found.group(1) is not None, found.group(2).upper(), found.end() - 1)


def _dialect(text: str, numbered: bool, names: set[str]) -> Dialect:
    first = numbered_lines.first_line(text)
    if _WATCHER.match(first):
        return Dialect.WATCHER
    if not names:
        return _headerless(text, first, numbered)
    if numbered:
        return _numbered(text)
    if first.lstrip().startswith("\\@") and grammar.is_escaped_block(first):
        return Dialect.ESCAPED_BLOCKS
    if _POSITIONAL.match(first):
        return Dialect.POSITIONAL
    if {"SCHEMA", "DATA"} <= names or {"PROJECT", "COUNTS"} <= names:
        return Dialect.SCHEMA_DATA
    if any(name.endswith("_END") and name[:-4] in names for name in names):
        return Dialect.END_TAGS
    if {"MESSAGE", "CONTENT"} & names:
        return Dialect.TAGGED_LINES
    if {"FLOW", "DETAILS"} & names:
        return Dialect.MANUAL
    return Dialect.COMPILED


def _numbered(text: str) -> Dialect:
    if not _LINE_WITHOUT_NUMBER.search(text):
        return Dialect.STREAM if "count=" in text and _COUNTS.search(text) else Dialect.SPECIFIED
    # Numbers stand in front of headers only, so they count blocks.
    if len(_NUMBERED_HEADERS.findall(text)) == len(_NUMBERED_LINES.findall(text)):
        return Dialect.BLOCKS
    return Dialect.MIXED


def _headerless(text: str, first: str, numbered: bool) -> Dialect:
    if numbered:
        return _numbered(text)
    if _POSITIONAL.match(first):
        return Dialect.POSITIONAL
    if _KEY_CELLS.search(text):
        return Dialect.KEY_CELLS
    if first and all(line.count("|") == 7 for line in re.split(r"[\r\n]", text) if line.strip()):
        return Dialect.EIGHT_COLUMNS
    said = [line.lstrip() for line in re.split(r"[\r\n]", text) if line.strip()]
    # A file that lost all memories consists of comments only. It must not be taken for prose with headings.
    are_comments = bool(said) and all(line.startswith("#") for line in said)
    return Dialect.COMPILED if are_comments else Dialect.UNKNOWN
