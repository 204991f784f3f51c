"""Splits long values over several fields, as extension sections need it ("String Encoding" of AICF 3.1)."""

from __future__ import annotations

from collections.abc import Iterable

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf.syntax.cell_values import escape_cell

LARGEST = 60_000
"""Longest field of an extension section in UTF-8 bytes. AICF recommends at most 64 KiB for a field."""


def split_long_text(text: str, largest: int = LARGEST) -> list[str]:
    """Split a text into pieces of at most `largest` bytes after escaping, never within a character."""
    if len(escape_cell(text).encode("utf-8", "surrogatepass")) <= largest:
        return [text]
    found: list[str] = []
    piece: list[str] = []
    size = 0
    for character in text:
        length = len(escape_cell(character).encode("utf-8", "surrogatepass"))
        if piece and size + length > largest:
            found.append("".join(piece))
            piece, size = [], 0
        piece.append(character)
        size += length
    return [*found, "".join(piece)]


def spell_long_field(name: str, text: str) -> list[tuple[str, str]]:
    """Return a text as field `name`, or as fields `name.0`, `name.1` ... if it is long."""
    parts = split_long_text(text)
    if len(parts) == 1:
        return [(name, text)]
    return [(f"{name}.{number}", part) for number, part in enumerate(parts)]


def join_long_field(name: str, fields: Iterable[tuple[str, str]]) -> str | None:
    """Return the text that `spell_long_field` split, or None if the field is missing."""
    found = {key: value for key, value in fields if key == name or key.startswith(f"{name}.")}
    if name in found:
        return found[name]
    parts = sorted((int(key[len(name) + 1 :]), value) for key, value in found.items() if key[len(name) + 1 :].isdigit())
    return "".join(value for _, value in parts) if parts else None


def drop_none(values: JsonObject) -> JsonObject:
    """Return the fields that have a value."""
    return {key: value for key, value in values.items() if value not in (None, [], {})}
