"""Tokenize dotenv files (`NAME=value`) into leaves with exact byte spans, as the runtimes' dotenv libraries read them.

Names may follow `export`. Values are bare, or in double, single or back quotes, where they may span lines. Where
libraries differ the longer span is taken, because it will be cut: a bare value ends at white space before a `#` or at
the end of the line. Bytes that are not UTF-8 are preserved.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lifeboat_adapters.secrets.parsed_leaves import BOM, ParsedLeaf, raise_unparsable

_NOTHING = re.compile(rb"[ \t\v\f]*+(?:#[^\r\n]*+)?(?=[\r\n]|\Z)")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_NAME = re.compile(rb"[ \t]*+(?:export[ \t]++)?([A-Za-z0-9_.-]++)")
_ASSIGNED = re.compile(rb"[ \t]*+=[ \t]*+|:[ \t]++")
_QUOTED = {
    quote: (
        re.compile(rb"%b((?:[^%b\\]|\\[\s\S])*+)%b" % (quote, quote, quote)),
        re.compile(rb"%b([^%b\r\n]*+)%b" % (quote, quote, quote)),  # a Windows path: its last backslash is no escape
    )
    for quote in (b'"', b"'", b"`")
}
_BARE = re.compile(rb"(?:[^\s]++|[ \t\v\f]++(?![#\s]|\Z))*+")
_ESCAPE = re.compile(r'\\([nrt"\\$])')
_PLAIN = re.compile(r"[A-Za-z0-9_./+=:@%,-]+")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def scan_dotenv(data: bytes) -> list[ParsedLeaf]:
    """Return every value, also empty ones, in order; the path is the name.

    Raises UnparsableSecrets when a line is neither an assignment, a comment nor blank, or a quote has no end.
    """
    at = len(BOM) if data.startswith(BOM) else 0
    leaves: list[ParsedLeaf] = []
    while at < len(data):
        nothing = _NOTHING.match(data, at)
        if nothing is None:
            at = _assignment(data, at, leaves)
        else:
            at = _after_line(data, nothing.end())
    return leaves


def keep_dotenv_lines(data: bytes, is_kept: Callable[[str], bool], *, rest: bool) -> bytes:
    """Return the lines of the variables that are kept, by name; with `rest`, also the text between variables. Raises
    UnparsableSecrets."""
    kept, at = [], 0
    for leaf in scan_dotenv(data):
        start = max(data.rfind(b"\n", 0, leaf.start) + 1, at)
        end = data.find(b"\n", leaf.end) + 1 or len(data)
        kept += [data[at:start]] * rest
        kept += [data[start:end]] * is_kept(str(leaf.path[0]))
        at = end
    return b"".join([*kept, *([data[at:]] * rest)])


def _assignment(data: bytes, at: int, leaves: list[ParsedLeaf]) -> int:
    name = _NAME.match(data, at)
    if name is None:
        raise_unparsable(data, at, "a line of the form NAME=value was expected")
    assigned = _ASSIGNED.match(data, name.end())
    if assigned is None:
        return _declaration(data, at, name.end())
    start = assigned.end()
    end, value = _quoted(data, start) or _bare(data, start)
    leaves.append(ParsedLeaf((name[1].decode("ascii"),), value, start, end))
    rest = _NOTHING.match(data, end)
    if rest is None:
        raise_unparsable(data, end, "unexpected text after a value")
    return _after_line(data, rest.end())


def _declaration(data: bytes, at: int, end: int) -> int:
    """Skip `export NAME` without a value. Other words are not understood."""
    rest = _NOTHING.match(data, end)
    if rest is None:
        raise_unparsable(data, at, "a line of the form NAME=value was expected")
    return _after_line(data, rest.end())


def _quoted(data: bytes, start: int) -> tuple[int, str] | None:
    """Return the end and the value of a quoted literal, None when there is none, or when text follows it directly."""
    quote = data[start : start + 1]
    for pattern in _QUOTED.get(quote, ()):
        found = pattern.match(data, start)
        if found is not None and _NOTHING.match(data, found.end()):
            text = _text(found[1])
            return found.end(), _ESCAPE.sub(_meant, text) if quote == b'"' else text
    if quote in _QUOTED and quote not in data[start + 1 : _line_end(data, start)]:
        raise_unparsable(data, start, "a closing quotation mark is missing")
    return None


def _bare(data: bytes, start: int) -> tuple[int, str]:
    if data[start : start + 1] == b"#" and data[start - 1 : start].isspace():
        return start, ""
    found = _BARE.match(data, start)
    end = start if found is None else found.end()
    return end, _text(data[start:end])


def _line_end(data: bytes, start: int) -> int:
    found = _LINE_END.search(data, start)
    return len(data) if found is None else found.start()


def _after_line(data: bytes, at: int) -> int:
    found = _LINE_END.match(data, at)
    return at if found is None else found.end()


def _meant(escape: re.Match[str]) -> str:
    return _ESCAPES.get(escape[1], escape[1])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def dotenv_line(name: str, value: Any) -> bytes | None:
    """Return a line that all dotenv readers parse alike, None when there is no such spelling."""
    if not isinstance(value, str) or not value or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return None
    if _PLAIN.fullmatch(value):
        return f"{name}={value}\n".encode()
    if "\n" in value or "\r" in value:
        return None
    quote = next((quote for quote in ("'", "`") if quote not in value), None)
    return None if quote is None else f"{name}={quote}{value}{quote}\n".encode()
