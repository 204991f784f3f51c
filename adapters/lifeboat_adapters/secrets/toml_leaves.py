"""Tokenize TOML into leaves with exact byte spans.

The standard parser returns values without their positions. This tokenizer accepts every TOML 1.0 document (and the few
spellings that 1.1 adds). It does not check rules that cannot move a span: repeated keys, months and hours. It is
iterative, so that no input exhausts the stack. The value of a date is its spelling.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lifeboat_adapters.secrets.parsed_leaves import LeafScanner, ParsedLeaf, Path, PositionedText, Scalar

MAX_DEPTH = 100
_MOST_DIGITS = 4000
"""Python refuses to read a number of more than 4,300 digits."""

_NO_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
_COMMENT = rf"#[^\r\n{_NO_CONTROL}]*+"
_SPACE = re.compile(r"[ \t]*+")
_LINES = re.compile(rf"(?:[ \t]++|\r?\n|{_COMMENT}(?=\r?\n|\Z))*+")
_LINE_END = re.compile(rf"[ \t]*+(?:{_COMMENT})?(?:\r?\n|\Z)")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]++")
_ESCAPED = r"\\[^\r\n]"
_ON_LINE = {
    '"': re.compile(rf'"((?:[^"\\\r\n{_NO_CONTROL}]|{_ESCAPED})*+)"'),
    "'": re.compile(rf"'([^'\r\n{_NO_CONTROL}]*+)'"),
}
_OVER_LINES = {
    '"': re.compile(rf'"""(?:\r?\n)?+((?:[^"\\\r{_NO_CONTROL}]|\r\n|\\(?:[^\r]|\r\n)|"{{1,2}}+(?!"))*+)("{{3,5}})'),
    "'": re.compile(rf"'''(?:\r?\n)?+((?:[^'\r{_NO_CONTROL}]|\r\n|'{{1,2}}+(?!'))*+)('{{3,5}})"),
}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[btnfre\"\\]|[ \t]*+\r?\n[ \t\r\n]*+|[\s\S])")
_ESCAPES = {
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    '"': '"',
    "\\": "\\",
}
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
_WHEN = re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[Tt ]{_TIME}(?:[Zz]|[+-][0-9]{{2}}:[0-9]{{2}})?)?|{_TIME}")
_DIGITS = "[0-9](?:_?[0-9])*+"
_WHOLE = "(?:0|[1-9](?:_?[0-9])*+)"
_FLOAT = re.compile(rf"[+-]?{_WHOLE}(?:\.{_DIGITS}(?:[eE][+-]?{_DIGITS})?|[eE][+-]?{_DIGITS})|[+-]?(?:inf|nan)")
_BASED = re.compile(r"0(?:x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*+|o[0-7](?:_?[0-7])*+|b[01](?:_?[01])*+)")
_INTEGER = re.compile(rf"[+-]?{_WHOLE}")
_BOOLEAN = re.compile("true|false")
_GLUED = re.compile(r"[A-Za-z0-9_.+:-]")


def scan_toml(data: bytes) -> list[ParsedLeaf]:
    """Return every value of a document in order. The path holds tables, keys and indexes of arrays.

    Raises UnparsableSecrets (with line and column) when the bytes are not TOML in UTF-8.
    """
    scanner = _TomlScanner(PositionedText.read(data))
    scanner.document()
    return scanner.leaves


@dataclass(slots=True)
class _TomlLevel:
    """An open array or inline table: its path, its closing bracket, the current item, and whether a comma (or
    the end) must come next."""

    path: Path
    close: str
    index: int = -1
    complete: bool = False


class _TomlScanner(LeafScanner):
    """A scanner of one TOML text."""

    def __init__(self, document: PositionedText) -> None:
        super().__init__(document)
        self._table: Path = ()
        self._lengths: dict[Path, int] = {}
        self._levels: list[_TomlLevel] = []

    def document(self) -> None:
        while not self._is_at_end():
            if self._text[self._at] == "[":
                self._header()
            else:
                self._member(self._table)
                while self._levels:
                    self._step(self._levels[-1])
            self._line_end()

    def _is_at_end(self) -> bool:
        self._skip()
        return self._at == len(self._text)

    def _header(self) -> None:
        """Read `[table]`, or `[[array]]`, which opens its next table."""
        brackets = 2 if self._text.startswith("[[", self._at) else 1
        self._at += brackets
        *above, last = self._keys()
        if not self._text.startswith("]" * brackets, self._at):
            self._fail("a closing bracket after the name of a table was expected")
        self._at += brackets
        path = self._within(tuple(above))
        if brackets == 2:
            self._lengths[(*path, last)] = self._lengths.get((*path, last), 0) + 1
        self._table = self._newest((*path, last))

    def _within(self, names: tuple[str, ...]) -> Path:
        """Return the path that names mean. The path of an array of tables is that of its newest table."""
        path: Path = ()
        for name in names:
            path = self._newest((*path, name))
        return path

    def _newest(self, path: Path) -> Path:
        return (*path, self._lengths[path] - 1) if path in self._lengths else path

    def _member(self, table: Path) -> None:
        """Read `key = value`."""
        keys = self._keys()
        if not self._text.startswith("=", self._at):
            self._fail("= was expected")
        self._at += 1
        self._space()
        self._value((*table, *keys))

    def _keys(self) -> list[str]:
        """Read a dotted name and the white space around it."""
        keys = []
        while True:
            self._space()
            keys.append(self._key())
            self._space()
            if not self._text.startswith(".", self._at):
                return keys
            if len(keys) == MAX_DEPTH:
                self._fail(f"the document is nested deeper than {MAX_DEPTH} levels")
            self._at += 1

    def _key(self) -> str:
        quote = self._text[self._at : self._at + 1]
        if quote in _ON_LINE:
            return self._quoted(_ON_LINE, quote)
        found = _BARE_KEY.match(self._text, self._at)
        if found is None:
            self._fail("a name was expected")
        self._at = found.end()
        return found[0]

    def _value(self, path: Path) -> None:
        char = self._text[self._at : self._at + 1]
        if char and char in "[{":
            if len(self._levels) == MAX_DEPTH:
                self._fail(f"the document is nested deeper than {MAX_DEPTH} levels")
            self._levels.append(_TomlLevel(path, "]" if char == "[" else "}"))
            self._at += 1
            return
        start = self._at
        value = self._string(char) if char in _ON_LINE else self._bare()
        self.leaves.append(self._document.leaf(path, value, start, self._at))

    def _step(self, level: _TomlLevel) -> None:
        """Read one thing in the innermost container: its end, a comma, or a member."""
        self._skip()
        char = self._text[self._at : self._at + 1]
        if char == level.close:
            self._at += 1
            self._levels.pop()
        elif level.complete:
            self._take_comma(char, level.close)
            level.complete = False
        else:
            level.complete = True
            level.index += 1
            if level.close == "]":
                self._value((*level.path, level.index))
            else:
                self._member(level.path)

    def _string(self, quote: str) -> str:
        return self._quoted(_OVER_LINES if self._text.startswith(quote * 3, self._at) else _ON_LINE, quote)

    def _quoted(self, patterns: dict[str, re.Pattern[str]], quote: str) -> str:
        found = patterns[quote].match(self._text, self._at)
        if found is None:
            self._fail("a closing quotation mark is missing, or a string contains a character that must be escaped")
        spelled = found[1]
        if patterns is _OVER_LINES:
            spelled = (spelled + found[2][3:]).replace("\r\n", "\n")
        value = _ESCAPE.sub(self._meant, spelled) if quote == '"' else spelled
        self._at = found.end()
        return value

    def _meant(self, escape: re.Match[str]) -> str:
        spelled = escape[1]
        if spelled in _ESCAPES:
            return _ESCAPES[spelled]
        if spelled[0] in "uUx" and len(spelled) > 1:
            code = int(spelled[1:], 16)
            if code < 0xD800 or 0xDFFF < code < 0x110000:
                return chr(code)
        elif spelled.isspace() and "\n" in spelled:
            return ""
        self._fail("a string contains an unknown escape sequence")

    def _bare(self) -> Scalar:
        """Read a date, a number, true or false."""
        for pattern in (_WHEN, _FLOAT, _BASED, _INTEGER, _BOOLEAN):
            found = pattern.match(self._text, self._at)
            if found is not None and _GLUED.match(self._text, found.end()) is None:
                self._at = found.end()
                return _meaning(pattern, found[0])
        self._fail("a value was expected")

    def _space(self) -> None:
        self._skip_pattern(_SPACE)

    def _skip(self) -> None:
        """Skip white space, line ends and comments."""
        self._skip_pattern(_LINES)

    def _line_end(self) -> None:
        found = _LINE_END.match(self._text, self._at)
        if found is None:
            self._fail("unexpected text after a value or a name")
        self._at = found.end()


def _meaning(pattern: re.Pattern[str], spelled: str) -> Scalar:
    if pattern is _WHEN:
        return spelled
    if pattern is _BOOLEAN:
        return spelled == "true"
    digits = spelled.replace("_", "")
    if pattern is _BASED:
        return int(digits, 0) if len(digits) <= _MOST_DIGITS else float("inf")
    return int(digits) if pattern is _INTEGER and len(digits) <= _MOST_DIGITS else float(digits)
