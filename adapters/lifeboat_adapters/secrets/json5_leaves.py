"""Tokenize JSON5 (and so JSON) into leaves with exact byte spans.

A parser that returns values is not enough for cutting: it does not say where a value stands or how it is spelled. Of
duplicate keys it returns one while the other stays in the file. This tokenizer is strict, because text that does not
parse has no known place to cut. It is iterative, so that no input exhausts the stack.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

from lifeboat_adapters.secrets.parsed_leaves import LeafScanner, ParsedLeaf, Path, PositionedText, Scalar

MAX_DEPTH = 512
_MAX_EXACT_DIGITS = 4000
_MAX_EXACT_HEX_DIGITS = 3000
"""Larger numbers have no decimal spelling: Python refuses to print more than 4,300 digits."""

_SPACES = "\t\n\v\f\r \u00a0\u2028\u2029\ufeff\u1680\u2000-\u200a\u202f\u205f\u3000"
_SKIP = re.compile(rf"(?:[{_SPACES}]++|//[^\n\r\u2028\u2029]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_NUMBER = re.compile(
    r"[+-]?(?:Infinity|NaN|0[xX][0-9a-fA-F]+|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
)
_NAME_START = rf"[^\W\d]|\$|\\u[0-9a-fA-F]{{4}}|[^\x00-\x7f{_SPACES}]"
_NAME_PART = rf"[\w$]|\\u[0-9a-fA-F]{{4}}|[^\x00-\x7f{_SPACES}]"
_NAME = re.compile(rf"(?:{_NAME_START})(?:{_NAME_PART})*+")
_STRING_BODY = {
    '"': re.compile(r'(?:[^"\\\n\r]|\\(?:\r\n|[\s\S]))*+'),
    "'": re.compile(r"(?:[^'\\\n\r]|\\(?:\r\n|[\s\S]))*+"),
}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|[\s\S])")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_CONTINUED = frozenset(("\n", "\r", "\r\n", "\u2028", "\u2029"))
_LITERALS: dict[str, Scalar] = {"true": True, "false": False, "null": None}


def scan_json5(data: bytes) -> list[ParsedLeaf]:
    """Return all scalar values of a document in order.

    Raises UnparsableSecrets (with line and column) when the bytes are not exactly one JSON5 document in UTF-8.
    """
    scanner = _Json5Scanner(PositionedText.read(data))
    scanner.document()
    return scanner.leaves


class Json5Member(NamedTuple):
    """A member of an object (from its key on) or an item of a list. Positions are characters of the text."""

    start: int
    end: int


class Json5Container(NamedTuple):
    """An object or a list. `open` and `close` are the positions of its brackets, in characters. `last` is the end of
    its last member, None for an empty container. `has_comma` says that a comma follows the last member."""

    open: int
    close: int
    last: int | None
    has_comma: bool


class Json5Outline(NamedTuple):
    """The positions of everything in a document, by path. Of duplicate keys the last one counts. The path of the root
    is ()."""

    containers: dict[Path, Json5Container]
    members: dict[Path, Json5Member]


def outline_json5(text: str) -> Json5Outline:
    """Return the outline of a text. Raises UnparsableSecrets when it is not exactly one JSON5 document."""
    scanner = _Json5Scanner(PositionedText(text.encode("utf-8", "surrogatepass"), text))
    scanner.document()
    return Json5Outline(scanner.containers, scanner.members)


@dataclass(slots=True)
class _Json5Level:
    """An open container: its closing bracket, the current place in it, and whether a comma (or the end) must come next;
    its start, the start of its current member and the end of its last one."""

    close: str
    place: str | int
    complete: bool = False
    open: int = 0
    begun: int = 0
    last: int | None = None


class _Json5Scanner(LeafScanner):
    """A scanner of one JSON5 text."""

    def __init__(self, document: PositionedText) -> None:
        super().__init__(document)
        self.containers: dict[Path, Json5Container] = {}
        self.members: dict[Path, Json5Member] = {}
        self._levels: list[_Json5Level] = []

    def document(self) -> None:
        self._value()
        while self._levels:
            self._step(self._levels[-1])
        self._skip()
        if self._at < len(self._text):
            self._fail("unexpected text after the end of the document")

    def _step(self, level: _Json5Level) -> None:
        """Read one thing in the innermost container: its end, a comma, or a member."""
        char = self._next()
        if char == level.close:
            self._close()
        elif level.complete:
            self._take_comma(char, level.close)
            level.complete = False
        else:
            level.begun = self._at
            level.place = self._key() if level.close == "}" else self._index(level.place)
            level.complete = True
            self._value()

    def _value(self) -> None:
        char = self._next()
        if char in "{[":
            self._open(char)
            return
        start = self._at
        value = self._string(char) if char in "\"'" else self._bare()
        self.leaves.append(self._document.leaf(self._path(), value, start, self._at))
        self._ended()

    def _path(self) -> Path:
        return tuple(level.place for level in self._levels)

    def _open(self, char: str) -> None:
        if len(self._levels) == MAX_DEPTH:
            self._fail(f"the document is nested deeper than {MAX_DEPTH} levels")
        self._levels.append(_Json5Level("}", "", open=self._at) if char == "{" else _Json5Level("]", -1, open=self._at))
        self._at += 1

    def _close(self) -> None:
        level = self._levels.pop()
        has_comma = level.last is not None and not level.complete
        self.containers[self._path()] = Json5Container(level.open, self._at, level.last, has_comma)
        self._at += 1
        self._ended()

    def _ended(self) -> None:
        """Note that the value of the innermost container's current member ended here."""
        if self._levels:
            level = self._levels[-1]
            level.last = self._at
            self.members[self._path()] = Json5Member(level.begun, self._at)

    def _index(self, place: str | int) -> int:
        return int(place) + 1

    def _key(self) -> str:
        char = self._next()
        if char in "\"'":
            key = self._string(char)
        else:
            found = _NAME.match(self._text, self._at)
            if found is None:
                self._fail("a key was expected")
            key = self._unescaped(found[0], self._at)
            self._at = found.end()
        if self._next() != ":":
            self._fail("a colon was expected")
        self._at += 1
        return key

    def _string(self, quote: str) -> str:
        body = self._at + 1
        found = _STRING_BODY[quote].match(self._text, body)
        end = body if found is None else found.end()
        if self._text[end : end + 1] != quote:
            self._fail("the closing quotation mark of a string is missing")
        self._at = end + 1
        return self._unescaped(self._text[body:end], body)

    def _unescaped(self, spelled: str, start: int) -> str:
        if "\\" not in spelled:
            return spelled

        def meant(escape: re.Match[str]) -> str:
            return self._escape(escape[1], start + escape.start())

        # Two \u escapes may spell one character.
        return _PAIR.sub(_joined, _ESCAPE.sub(meant, spelled))

    def _escape(self, escape: str, start: int) -> str:
        if len(escape) > 2:
            return chr(int(escape[1:], 16))
        if escape in _CONTINUED:
            return ""
        if escape in "ux123456789":
            self._at = start
            self._fail("a string contains an unknown escape sequence")
        return _SIMPLE.get(escape, escape)

    def _bare(self) -> Scalar:
        """Read a number, true, false or null."""
        found = _NUMBER.match(self._text, self._at) or _NAME.match(self._text, self._at)
        if found is None:
            self._fail("a value was expected")
        spelled = found[0]
        if spelled not in _LITERALS and _NUMBER.fullmatch(spelled) is None:
            self._fail("a value was expected")
        if _NAME.match(self._text, found.end()) or self._text[found.end() : found.end() + 1].isdigit():
            self._fail("a number was expected")
        self._at = found.end()
        return _LITERALS[spelled] if spelled in _LITERALS else _number(spelled)

    def _next(self) -> str:
        """Skip white space and comments, and return the first character of the next token."""
        self._skip()
        if self._at >= len(self._text):
            self._fail("the document is incomplete")
        return self._text[self._at]

    def _skip(self) -> None:
        self._skip_pattern(_SKIP)


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _number(spelled: str) -> int | float:
    sign = -1 if spelled.startswith("-") else 1
    digits = spelled.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        return sign * (int(digits, 16) if len(digits) <= _MAX_EXACT_HEX_DIGITS else math.inf)
    if digits.isdigit() and len(digits) <= _MAX_EXACT_DIGITS:
        return sign * int(digits)
    return sign * float(digits)
