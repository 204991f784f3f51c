"""Names and texts of agents in a form that is safe on a terminal.

An agent chooses the names of its files and writes its memories. A line break in a name would begin a line that looks
like one of Lifeboat's, a control character would steer the terminal, and a mark that turns the direction of writing
would show the characters of a line in another order. They are written as escapes. Use `name_text` for a name,
`line_text` for a sentence that may contain names, and `block_text` for a text of several lines.
"""

from __future__ import annotations

import re
import unicodedata

ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"
_TURNING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNSEEN = (0xAD, 0x180E, 0x200B, *range(0x2060, 0x2066), *range(0x206A, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC))
_TAGS = range(0xE0000, 0xE0080)
_BREAKING = (0x2028, 0x2029)
UNSAFE = (*range(0x20), *range(0x7F, 0xA0), *_TURNING, *_UNSEEN, *_BREAKING, *_TAGS, *range(0xD800, 0xE000))
"""Code points that no line may hold: controls (C0, C1), marks of direction, what cannot be seen, line separators, and
the halves of surrogate pairs that stand for bytes that are no UTF-8."""
_UNSAFE = re.compile("[" + "".join(map(re.escape, map(chr, UNSAFE))) + "]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ISOLATED = re.compile(f"{ISOLATE}[^{ISOLATE}{END_OF_ISOLATE}]*{END_OF_ISOLATE}")
_RIGHT_TO_LEFT = ("R", "AL", "AN")


def name_text(name: object) -> str:
    """Return a name on one line, escaped, and isolated where it is written from right to left."""
    return isolate_text(_UNSAFE.sub(_escape, str(name)))


def cell_text(text: object) -> str:
    """Return the text of a column on one line: it does not change the direction of other columns."""
    made = line_text(text)
    return made if ISOLATE in made else isolate_text(made)


def isolate_text(text: str) -> str:
    if text.isascii() or not any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in text):
        return text
    return f"{ISOLATE}{text}{END_OF_ISOLATE}"


def line_text(text: object) -> str:
    """Return a sentence on one line: nothing in it begins another line. Isolated names stay isolated."""
    whole = str(text)
    if ISOLATE not in whole:
        return _UNSAFE.sub(_escape, whole)
    kept = 0
    parts = []
    for found in _ISOLATED.finditer(whole):
        inside = _UNSAFE.sub(_escape, found[0][1:-1])
        parts += [_UNSAFE.sub(_escape, whole[kept : found.start()]), f"{ISOLATE}{inside}{END_OF_ISOLATE}"]
        kept = found.end()
    return "".join([*parts, _UNSAFE.sub(_escape, whole[kept:])])


def without_isolates(text: str) -> str:
    """Return a text without the marks that `name_text` puts around a name, for a place that isolates each cell."""
    return _ISOLATED.sub(lambda found: found[0][1:-1], text)


def block_text(text: object) -> str:
    """Return a text of several lines, with its tabs: a file, a difference, a memory."""
    return "\n".join("\t".join(map(line_text, line.split("\t"))) for line in str(text).split("\n"))


def json_text(document: str) -> str:
    """Return a JSON document with everything unsafe as `\\uXXXX`: the same values, and no effect on a terminal."""
    return _UNSAFE.sub(_json_escape, document)


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or _spelled(found[0])


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\n":  # between the parts of the document: within a text it is an escape already
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))
