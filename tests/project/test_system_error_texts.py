"""What the system refuses reaches a user in words: no text shows an OSError as Python does, with its number."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

from support.packages import PACKAGES
from support.paths import ROOT


def _is_of_system(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, OSError)


def _names_system(types: ast.expr | None) -> bool:
    return types is not None and any(isinstance(node, ast.Name) and _is_of_system(node.id) for node in ast.walk(types))


def _errors(node: ast.AST) -> Iterator[str]:
    """Yield what an error of the system is called in a handler or in a function that takes one."""
    if isinstance(node, ast.ExceptHandler) and node.name and _names_system(node.type):
        yield node.name
    if isinstance(node, ast.FunctionDef):
        yield from (each.arg for each in node.args.args if _names_system(each.annotation))


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
    for scope in ast.walk(ast.parse(path.read_bytes())):
        for name in _errors(scope):
            lines = [getattr(node, "lineno", 0) for node in ast.walk(scope) if _formats(node, name)]
            yield from (f"{path.relative_to(ROOT)}:{line}" for line in lines)


def test_no_text_is_made_of_an_error_of_the_system_itself() -> None:
    sources = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    found = [place for path in sources for place in _raw_texts(path)]
    assert not found, "use lifeboat_alf.common.refusal_texts: " + ", ".join(found)
