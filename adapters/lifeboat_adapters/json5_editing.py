"""Edit single values in the text of a JSON5 document and keep everything around them.

If the text cannot be edited (for example because a key occurs twice), the whole document is written again as plain
JSON. That loses its comments, and the result says so.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyjson5

from lifeboat_adapters.additive_merging import ValueChange
from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.secrets import json5_leaves
from lifeboat_adapters.secrets.json5_leaves import Json5Container, Json5Outline
from lifeboat_adapters.secrets.parsed_leaves import Path
from lifeboat_alf.common.json_types import JsonObject

_BOM = "\ufeff"
_COMMA_BEHIND = re.compile(r"\s*,")
_BLANK = re.compile(r"[ \t]*")
_BETWEEN = r"(?:\s|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*"
_KEY = re.compile(rf"""(?:"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[^\s:'"/]+){_BETWEEN}:{_BETWEEN}""")


class _Json5Edit(NamedTuple):
    start: int
    end: int
    text: str


class EditedJson5(NamedTuple):
    """An edited document. `rewritten` says that it is plain JSON now."""

    data: bytes
    rewritten: bool = False


def parse_json5_object(data: bytes) -> JsonObject:
    """Parse one object, also one whose secrets were cut out. Raises ValueError."""
    try:
        value = pyjson5.decode(data.decode("utf-8-sig"))
    except pyjson5.Json5Exception as error:
        # The error's other arguments hold the text parsed so far, including secrets.
        raise ValueError(str(error.args[0]) if error.args else "not JSON5") from None
    if not isinstance(value, dict):
        raise ValueError("the document is not a JSON object")
    return value


def edit_json5(data: bytes, changes: Sequence[ValueChange]) -> EditedJson5:
    """Return a document (one object) with changes applied. Their containers have to exist. Raises ValueError."""
    if not changes:
        return EditedJson5(data)
    wanted = apply_value_changes(parse_json5_object(data), changes)
    text = data.decode("utf-8-sig")
    try:
        edited = _apply(text, list(_edits(text, json5_leaves.outline_json5(text), changes)))
        if parse_json5_object(edited.encode()) == wanted:
            return EditedJson5(data[: len(data) - len(text.encode())] + edited.encode())
    except (UnparsableSecrets, KeyError, ValueError):
        pass
    return EditedJson5((json.dumps(wanted, indent=2, ensure_ascii=False) + "\n").encode(), rewritten=True)


def apply_value_changes(values: Any, changes: Sequence[ValueChange]) -> Any:
    """Apply changes to parsed values, as `edit_json5` does to text."""
    done = copy.deepcopy(values)
    for path, value, remove in changes:
        inner = done
        for step in path[:-1]:
            inner = inner[step]
        if remove:
            del inner[path[-1]]
        elif isinstance(inner, list) and path[-1] == len(inner):
            inner.append(value)
        else:
            inner[path[-1]] = value
    return done


def _edits(text: str, outline: Json5Outline, changes: Sequence[ValueChange]) -> Iterator[_Json5Edit]:
    added: dict[Path, list[ValueChange]] = {}
    for each in changes:
        if each.path not in outline.members:
            added.setdefault(each.path[:-1], []).append(each)
        elif each.remove:
            yield _removal(text, outline, each.path)
        else:
            yield _replacement(text, outline, each)
    for path, members in added.items():
        yield from _insertion(text, outline.containers[path], members)


def _apply(text: str, edits: list[_Json5Edit]) -> str:
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda each: each.start):
        if edit.start < at:
            raise ValueError("changes overlap")
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, text[at:]])


def _replacement(text: str, outline: Json5Outline, each: ValueChange) -> _Json5Edit:
    """Replace a value only: the key in front of it keeps its spelling."""
    member = outline.members[each.path]
    container = outline.containers.get(each.path)
    is_named = isinstance(each.path[-1], str)
    start = _value_start(text, member.start, is_named=is_named) if container is None else container.open
    return _Json5Edit(start, member.end, _spelled(each.value, _indent_at(text, member.start)))


def _value_start(text: str, start: int, *, is_named: bool) -> int:
    if not is_named:
        return start
    key = _KEY.match(text, start)
    if key is None:
        raise ValueError("no key")
    return key.end()


def _removal(text: str, outline: Json5Outline, path: Path) -> _Json5Edit:
    """Remove a member with the comma behind it, and its line when nothing else is on it. A comma before it may remain;
    JSON5 allows that."""
    start, end = outline.members[path]
    comma = _COMMA_BEHIND.match(text, end)
    end = end if comma is None else comma.end()
    line = text.rfind("\n", 0, start) + 1
    blank = _BLANK.match(text, end)
    behind = end if blank is None else blank.end()
    if not text[line:start].strip() and text[behind : behind + 1] in ("\n", "\r"):
        return _Json5Edit(line, text.find("\n", behind) + 1 or len(text), "")
    return _Json5Edit(start, end, "")


def _insertion(text: str, container: Json5Container, members: list[ValueChange]) -> Iterator[_Json5Edit]:
    """Insert new members behind the last one, with the layout of the container."""
    inner = text[container.open : container.close]
    if "\n" not in inner:
        items = ", ".join(_member(each, None) for each in members)
        at = container.open + 1 if container.last is None else container.last
        yield _Json5Edit(at, at, f" {items} " if container.last is None else f", {items}")
        return
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent_at(text, container.close)
    indent = _member_indent(text, container) or f"{outer}  "
    items = f",{newline}".join(indent + _member(each, indent) for each in members)
    if container.last is not None and not container.has_comma:
        yield _Json5Edit(container.last, container.last, ",")
    line = text.rfind("\n", 0, container.close) + 1
    if text[line : container.close].strip():
        yield _Json5Edit(container.close, container.close, f"{newline}{items}{newline}{outer}")
    else:
        yield _Json5Edit(line, line, items + newline)


def _member(each: ValueChange, indent: str | None) -> str:
    value = _spelled(each.value, indent)
    return value if isinstance(each.path[-1], int) else f"{json.dumps(each.path[-1], ensure_ascii=False)}: {value}"


def _spelled(value: Any, indent: str | None) -> str:
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{indent}")


def _indent_at(text: str, at: int) -> str:
    line = text.rfind("\n", 0, at) + 1
    blank = _BLANK.match(text, line)
    return "" if blank is None else blank[0]


def _member_indent(text: str, container: Json5Container) -> str:
    """Return the indentation of the line on which the last member ends, when that line lies in the container."""
    if container.last is None:
        return ""
    line = text.rfind("\n", 0, container.last) + 1
    return _indent_at(text, container.last) if line > container.open else ""
