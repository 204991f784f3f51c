"""Read the scalars of YAML: where each ends, and its value."""

from __future__ import annotations

import re
from typing import NamedTuple

from lifeboat_adapters.secrets import parsed_leaves


class YamlScalar(NamedTuple):
    """The text of a scalar, its value if it is plain, and the position behind it."""

    text: str
    value: parsed_leaves.Scalar
    end: int


def _saying(text: str, end: int) -> YamlScalar:
    """Return a scalar whose value is its text."""
    return YamlScalar(text, text, end)


_BREAK = r"(?:\r\n|\r|\n)"
_SINGLE = re.compile(r"'((?:[^']|'')*+)'")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\[\s\S])*+)"')
_FOLD = re.compile(rf"[ \t]*+{_BREAK}((?:[ \t]*+{_BREAK})*+)[ \t]*+")
_ESCAPE = re.compile(
    rf"\\(x[0-9A-Fa-f]{{2}}|u[0-9A-Fa-f]{{4}}|U[0-9A-Fa-f]{{8}}|{_BREAK}[ \t]*+|[\s\S])|{_FOLD.pattern}"
)
_LINE = re.compile(_BREAK)
_ESCAPES = {
    **{"0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"},
    **{"e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"},
}
_PLAIN_START = r"[^\s\-?:,\[\]{}#&*!|>'\"%@`]"
_PLAIN = re.compile(rf"(?:{_PLAIN_START}|[-?:](?=\S))(?:[^\s:#]|:(?=\S)|(?<=\S)#|[ \t]++(?![\s#])(?!:(?:\s|\Z)))*+")
_PLAIN_REST = re.compile(r"(?!#)(?:[^\s:#]|:(?=\S)|(?<=\S)#|[ \t]++(?![\s#])(?!:(?:\s|\Z)))++")
_FLOW_PART = r"(?:[^\s:#,\[\]{}]|:(?=[^\s,\[\]{}])|(?<=\S)#)"
_PLAIN_IN_FLOW = re.compile(
    rf"(?:{_PLAIN_START}|[-?:](?=[^\s,\[\]{{}}]))(?:{_FLOW_PART}|\s++(?=[^\s:#,\[\]{{}}]|:[^\s,\[\]{{}}]))*+"
)
_NEXT_LINE = re.compile(rf"[ \t]*+((?:{_BREAK}[ \t]*+)++)")
_HEAD = re.compile(rf"([|>])(?:([1-9])([+-])?|([+-])([1-9])?)?(?:[ \t]++(?:#[^\r\n]*+)?)?(?:{_BREAK}|\Z)")
_MARKER = re.compile(r"(?:---|\.\.\.)(?:\s|\Z)")
_INTEGER = re.compile(r"[+-]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[+-]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?")
_LITERALS: dict[str, parsed_leaves.Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MOST_DIGITS = 4000
"""Python refuses to read a number of more than 4,300 digits."""


def quoted_scalar(text: str, at: int) -> YamlScalar | None:
    """Read a single- or double-quoted scalar; None when there is none, or when it has no end or no valid value."""
    if text.startswith("'", at):
        single = _SINGLE.match(text, at)
        return None if single is None else _saying(_FOLD.sub(_folded, single[1]).replace("''", "'"), single.end())
    double = _DOUBLE.match(text, at)
    if double is None:
        return None
    try:
        return _saying(_ESCAPE.sub(_meant, double[1]), double.end())
    except (KeyError, ValueError):
        return None


def _meant(found: re.Match[str]) -> str:
    escape = found[1]
    if escape is None:
        return _folded(found, 2)
    if escape[0] in "xuU" and len(escape) > 1:
        char = chr(int(escape[1:], 16))
        char.encode()  # half a surrogate pair raises UnicodeEncodeError, which is a ValueError
        return char
    return "" if escape[0] in "\r\n" else _ESCAPES[escape]


def _folded(found: re.Match[str], group: int = 1) -> str:
    """Fold a quoted text: a line end becomes a space, each empty line after it a line end."""
    return "\n" * len(_LINE.findall(found[group])) or " "


def plain_scalar(text: str, at: int, parent: int) -> YamlScalar | None:
    """Read a plain scalar of a block that is indented deeper than the column `parent`, including its further lines."""
    first = _PLAIN.match(text, at)
    if first is None:
        return None
    value, end = first[0], first.end()
    while (rest := _continued(text, end, parent)) is not None:
        gap, line = rest
        value += ("\n" * (len(_LINE.findall(gap[1])) - 1) or " ") + line[0]
        end = line.end()
    return YamlScalar(value, _meaning(value), end)


def _continued(text: str, end: int, parent: int) -> tuple[re.Match[str], re.Match[str]] | None:
    """Return the gap and the next line of a plain scalar, None when the scalar ends. A key ends it."""
    gap = _NEXT_LINE.match(text, end)
    if gap is None:
        return None
    column = gap.end() - max(text.rfind("\n", end, gap.end()), text.rfind("\r", end, gap.end())) - 1
    if column <= parent or (column == 0 and _MARKER.match(text, gap.end())):
        return None
    line = _PLAIN_REST.match(text, gap.end())
    return None if line is None else (gap, line)


def plain_flow_scalar(text: str, at: int) -> YamlScalar | None:
    """Read a plain scalar in a flow collection."""
    found = _PLAIN_IN_FLOW.match(text, at)
    if found is None:
        return None
    value = _FOLD.sub(_folded, found[0])
    return YamlScalar(value, _meaning(value), found.end())


def block_scalar(text: str, at: int, parent: int) -> YamlScalar | None:
    """Read a literal or folded block scalar; None when its header is invalid. It ends with its last line that is not
    empty, without the line end."""
    head = _HEAD.match(text, at)
    if head is None:
        return None
    digit, chomp = head[2] or head[5], head[3] or head[4] or ""
    indent = None if digit is None else max(parent, 0) + int(digit)
    lines, end = _lines(text, head.end(), parent, indent)
    stop = end if any(lines) else head.end() - len(_line_end(head[0]))
    return _saying(_joined(lines, folded=head[1] == ">", chomp=chomp), stop)


def _lines(text: str, at: int, parent: int, indent: int | None) -> tuple[list[str], int]:
    """Return the lines of a block scalar without their indentation, including empty lines at the end, and the end of
    the last line that is not empty."""
    lines: list[str] = []
    end = at
    while at < len(text):
        found = _LINE.search(text, at)
        stop = len(text) if found is None else found.start()
        line = text[at:stop]
        depth = len(line) - len(line.lstrip(" "))
        if line.strip(" "):
            if indent is None and depth > parent:
                indent = depth
            if indent is None or depth < indent or (depth == 0 and _MARKER.match(text, at)):
                break
        lines.append(line[indent:] if indent is not None else "")
        end = stop if lines[-1] else end
        at = len(text) if found is None else found.end()
    return lines, end


def _joined(lines: list[str], *, folded: bool, chomp: str) -> str:
    said = len(lines)
    while said and not lines[said - 1]:
        said -= 1
    value = _fold(lines[:said]) if folded else "\n".join(lines[:said])
    if chomp == "-":
        return value
    if chomp == "+":
        return value + "\n" * (len(lines) - said + (1 if said else 0))
    return value + ("\n" if said else "")


def _fold(lines: list[str]) -> str:
    """Join lines, except empty and indented ones."""
    value, empty = "", 0
    before: str | None = None
    for line in lines:
        if not line:
            empty += 1
            continue
        if before is None:
            value += "\n" * empty
        elif before[0] in " \t" or line[0] in " \t":
            value += "\n" * (empty + 1)
        else:
            value += "\n" * empty or " "
        value, before, empty = value + line, line, 0
    return value


def _line_end(text: str) -> str:
    return text[len(text.rstrip("\r\n")) :]


def _meaning(spelled: str) -> parsed_leaves.Scalar:
    if spelled in _LITERALS:
        return _LITERALS[spelled]
    if len(spelled) > _MOST_DIGITS:
        return spelled
    if _INTEGER.fullmatch(spelled):
        return int(spelled, 0 if spelled[:2] in ("0x", "0o") else 10)
    return float(spelled) if _FLOAT.fullmatch(spelled) else spelled
