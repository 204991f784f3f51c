"""docs/json.md: the lists below its markers follow from the shapes in `lifeboat_core.documents`."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import types
import typing
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from support.paths import ROOT

PAGE = ROOT / "docs" / "json.md"
_MARKED = re.compile(r"(<!-- (\w+)\.(\w+)(?:, (as in `[a-z ]+`))? -->\n\n)(?:- .*\n)*")


def json_page() -> str:
    """Return the page with a list for the shape that each marker names."""
    return _MARKED.sub(
        lambda found: found[1] + _list_fields(find_shape(found[2], found[3]), found[4]), PAGE.read_text()
    )


def marked_shapes() -> dict[str, list[type[msgspec.Struct]]]:
    """Return the shapes that the page describes, by heading."""
    parts = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    return {
        part.partition("\n")[0]: [find_shape(found[2], found[3]) for found in _MARKED.finditer(part)] for part in parts
    }


def find_shape(module: str, name: str) -> type[msgspec.Struct]:
    shape: type[msgspec.Struct] = getattr(importlib.import_module(f"lifeboat_core.documents.{module}"), name)
    return shape


def _list_fields(shape: type[msgspec.Struct], reference: str | None) -> str:
    """Return the fields of a shape as a list. If another list describes the same fields, one item refers to it."""
    found = list(rows(shape))
    if reference is not None:
        found = [([field for fields, _ in found for field in fields], reference)]
    return "".join(f"- {', '.join(f'`{each}`' for each in fields)}: {text}\n" for fields, text in found)


def rows(shape: type[msgspec.Struct], prefix: str = "") -> Iterator[tuple[list[str], str]]:
    """Yield the fields of each row and what they hold. A string below fields describes all above it that have none;
    the fields of a shape within a shape are described where it is defined."""
    texts = _texts(shape)
    hints = typing.get_type_hints(shape)
    names: list[str] = []
    for field in msgspec.structs.fields(shape):
        inner, suffix = _kind(hints[field.name])
        text = texts.get(field.name)
        name = f"{prefix}{field.encode_name}{suffix}"
        if inner is not None and text is None and not names:
            yield from rows(inner, f"{name}.")
            continue
        names.append(name)
        if text is not None:
            yield names, text
            names = []
    assert not names, f"{shape.__module__}.{shape.__name__}: nothing says what {names} holds"


def _kind(hint: object) -> tuple[type[msgspec.Struct] | None, str]:
    """Return the shape within a type, and what stands behind the name of its field."""
    arguments = [each for each in typing.get_args(hint) if each not in (type(None), ...)]
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        inner, suffix = _kind(arguments[0]) if len(arguments) == 1 else (None, "")
        return inner, suffix.removesuffix(".*")
    if origin is tuple:
        return _kind(arguments[0])[0], "[]"
    if origin is dict:
        return None, ".*"
    return (hint, "") if isinstance(hint, type) and issubclass(hint, msgspec.Struct) else (None, "")


def _texts(shape: type[msgspec.Struct]) -> dict[str, str]:
    """Return the string below each field that has one, in one line."""
    tree = ast.parse(Path(inspect.getfile(shape)).read_text())
    (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == shape.__name__)
    found = {}
    for field, text in pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as said)):
                found[name] = " ".join(said.split())
    return found
