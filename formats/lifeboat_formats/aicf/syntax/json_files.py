"""Version 1 as JSON: values with their positions in the text, so that one can be changed without touching the rest."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from lifeboat_formats.aicf.syntax.cell_values import Escaping
from lifeboat_formats.aicf.syntax.document_parts import AicfItem, AicfSection, ItemKind
from lifeboat_formats.aicf.syntax.numbered_lines import count_terminators
from lifeboat_formats.interchange.text_edits import PositionedValue, collect_values, skip_blanks

LISTS = ("messages", "conversations", "decisions", "insights", "code_changes", "todos")
"""The lists whose values become separate items."""
_DEEPEST = 64
"""Deepest nesting of values."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class NotJson(ValueError):
    """The text is not JSON, or its values could not be written again (lone surrogates, non-finite numbers)."""


def loads(text: str) -> Any:
    """Decode a text. Raises NotJson, also for values that are nested too deeply."""
    try:
        value = _DECODER.decode(text)
        _bound(value)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise NotJson(type(error).__name__) from None
    return value


def build_json_section(text: str, value: Any) -> AicfSection:
    """Return the only section, `JSON`: one item per value in the lists of `LISTS` (or in the top-level list), with glue
    items between. `value` is the result of `loads` for the text."""
    items: list[AicfItem] = []
    at = line = line_at = 0
    places = list[PositionedValue]()
    if isinstance(value, dict | list):
        collect_values(text, skip_blanks(text, 0), LISTS, places)
    for data, start, end, key, _ in filter(lambda place: place.is_element, places):
        line, line_at = line + count_terminators(text[line_at:start], start - line_at), start
        if start > at:
            items.append(
                AicfItem(ItemKind.GLUE, at, start, _line_of(items), raw=text[at:start], escaping=Escaping.NONE)
            )
        items.append(
            AicfItem(
                ItemKind.JSON, start, end, line + 1, key, text[start:end], start, end, None, Escaping.NONE, False, data
            )
        )
        at = end
    if at < len(text) or not items:
        items.append(AicfItem(ItemKind.GLUE, at, len(text), _line_of(items), raw=text[at:], escaping=Escaping.NONE))
    return AicfSection("JSON", "", "", 0, len(text), items)


def _line_of(items: list[AicfItem]) -> int:
    return items[-1].line + count_terminators(items[-1].raw, len(items[-1].raw)) if items else 1


def _bound(value: Any) -> None:
    """Raise ValueError if a value is nested so deeply that walking it could exhaust the stack."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise ValueError("the document is nested too deeply")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse(constant: str) -> NoReturn:
    raise ValueError("the value is not a JSON number")


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError("the value is an infinite number")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
