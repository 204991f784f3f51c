"""Make a document with every field of a schema and, for each constraint, a document that violates only that one."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

Schema = dict[str, Any]
Path = tuple[str | int, ...]

UUID = "01933b5e-7c00-7000-8000-000000000001"
"""Value of every id in a document."""
_TEXTS = {
    "uuid": UUID,
    "date-time": "2026-11-02T10:00:00Z",
    "date": "2026-11-02",
    "uri": "https://example.com/model",
}
_BY_PATTERN = (
    UUID,
    "1.0.0",
    "1.0.0-rc.1",
    "sha256:" + "0" * 64,
    "memory/partitions/2026-Q4.jsonl",
)
_ALMOST_A_FORMAT = {
    "uuid": ("no uuid", "01933b5e7c0070008000000000000001", "{01933b5e-7c00-7000-8000-000000000001}", "1"),
    "date-time": ("today", "2026-11-02", "2026-11-02T10:00:00", "2026-13-02T10:00:00Z", "2026-11-02T25:00:00Z"),
    "date": ("today", "2026-11", "2026-02-30", "2026-11-02T10:00:00Z", "20261102"),
    "uri": ("no uri", "example.com", "//example.com/model", "https://example.com/a model", ""),
}
_ALMOST_A_PATTERN = (
    "",
    "!",
    "1.0",
    "v1.0.0",
    "1.0.x",
    "sha256",
    "sha256:",
    "sha256:xyz",
    "SHA256:00",
    "01933B5E-7C00-7000-8000-000000000001",
    "01933b5e-7c00-4000-8000-000000000001",
    "01933b5e-7c00-7000-0000-000000000001",
    "01933b5e7c0070008000000000000001",
)
_OF_TYPE: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 0.5,
    "boolean": True,
    "object": {},
    "array": [],
    "null": None,
}
_WRONG = ("text", 7, 0.25, True, {"odd": 1}, ["odd"], None)


class Violation(NamedTuple):
    """A document that violates one constraint. `name` says where and which: `/source/runtime type`."""

    name: str
    document: Any


def full_document(schema: Schema) -> Any:
    """Return a document that obeys the schema and has every field."""
    return _Schemas(schema).example(schema)


def violations(schema: Schema) -> Iterator[Violation]:
    """Yield one document for each constraint, anywhere in the schema."""
    whole = full_document(schema)
    for path, breaks, value in _Schemas(schema).broken(schema, ()):
        yield Violation(f"/{'/'.join(map(str, path))} {breaks}", _with(whole, path, value))


def _with(document: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    made = copy.deepcopy(document)
    at = made
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return made


class _Schemas:
    def __init__(self, whole: Schema) -> None:
        self._definitions = whole.get("$defs", {})

    def _resolved(self, schema: Schema) -> Schema:
        """Return a schema without references, with `allOf` merged."""
        made: Schema = {}
        for part in (schema, *schema.get("allOf", ())):
            if "$ref" in part:
                part = self._resolved(self._definitions[part["$ref"].removeprefix("#/$defs/")])
            made |= {name: value for name, value in part.items() if name not in ("$ref", "allOf")}
        return made

    def example(self, schema: Schema) -> Any:
        known = self._resolved(schema)
        kind = _types(known)[0]
        if "enum" in known:
            return known["enum"][0]
        if kind == "object":
            fields = {name: self.example(part) for name, part in known.get("properties", {}).items()}
            more = known.get("additionalProperties")
            return fields | ({"more": self.example(more)} if isinstance(more, dict) and more else {})
        if kind == "array":
            return [self.example(known["items"])] if known.get("items") else []
        if "pattern" in known:
            return _fitting(known["pattern"])
        return _TEXTS.get(known.get("format", ""), known.get("minimum", _OF_TYPE[kind]))

    def broken(self, schema: Schema, path: Path) -> Iterator[tuple[Path, str, Any]]:
        known = self._resolved(schema)
        yield from self._broken_here(known, path)
        for name, part in known.get("properties", {}).items():
            yield from self.broken(part, (*path, name))
        more = known.get("additionalProperties")
        if isinstance(more, dict) and more:
            yield from self.broken(more, (*path, "more"))
        if known.get("items"):
            yield from self.broken(known["items"], (*path, 0))

    def _broken_here(self, known: Schema, path: Path) -> Iterator[tuple[Path, str, Any]]:
        types = _types(known) if "type" in known else ()
        for value in _WRONG if types else ():
            if not any(_is(value, kind) for kind in types):
                yield path, f"type {type(value).__name__}", value
        if "enum" in known:
            yield path, "enum", "no such value"
        if "minimum" in known:
            yield path, "minimum", known["minimum"] - 1
        if "maximum" in known:
            yield path, "maximum", known["maximum"] + 1
        if "pattern" in known:
            wrong = (text for text in _ALMOST_A_PATTERN if not re.search(known["pattern"], text))
            yield from ((path, f"pattern {text!r}", text) for text in wrong)
        if "minLength" in known:
            yield path, "minLength", ""
        if known.get("minItems"):
            yield path, "minItems", []
        for text in _ALMOST_A_FORMAT.get(known.get("format", ""), ()):
            yield path, f"format {text!r}", text
        for name in known.get("required", ()):
            whole = self.example(known)
            del whole[name]
            yield path, f"required {name}", whole
        if known.get("additionalProperties") is False:
            yield path, "additionalProperties", self.example(known) | {"odd": 1}


def _types(known: Schema) -> tuple[str, ...]:
    kind = known.get("type", "object" if "properties" in known else "string")
    return (kind,) if isinstance(kind, str) else tuple(kind)


def _is(value: Any, kind: str) -> bool:
    """Return whether JSON Schema counts a value as one of a type."""
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float):
        return kind == "number" or (kind == "integer" and value.is_integer())
    if isinstance(value, int):
        return kind in ("integer", "number")
    return type(value) is type(_OF_TYPE[kind])


def _fitting(pattern: str) -> str:
    return next(text for text in _BY_PATTERN if re.search(pattern, text))
