"""What the system refuses reaches a user in words: no handler formats an OSError as Python does, with its number."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

from support.paths import ROOT

PARSED = "endpoint/lifeboat_endpoint/store/objects/failures.py"
"""It reads the answer of a store out of the text of a library, and shows none of that text."""
PACKAGES = ("adapters", "alf", "daemon", "endpoint", "keys", "tui")


def _is_of_system(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, OSError)


def _catches_system(handler: ast.ExceptHandler) -> bool:
    return handler.type is not None and any(
        isinstance(node, ast.Name) and _is_of_system(node.id) for node in ast.walk(handler.type)
    )


def _formats(node: ast.AST, name: str) -> bool:
    """Return whether a node makes a text of the error itself."""
    if isinstance(node, ast.FormattedValue):
        value = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
        value = node.args[0]
    else:
        return False
    return isinstance(value, ast.Name) and value.id == name


def _raw_texts(path: Path) -> Iterator[str]:
    for handler in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(handler, ast.ExceptHandler) and handler.name and _catches_system(handler):
            for node in ast.walk(handler):
                if _formats(node, handler.name):
                    yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', handler.lineno)}"


def test_no_handler_formats_an_error_of_the_system_itself() -> None:
    sources = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path != ROOT / PARSED]
    found = [place for path in sources for place in _raw_texts(path)]
    assert not found, "use lifeboat_alf.system_texts: " + ", ".join(found)
