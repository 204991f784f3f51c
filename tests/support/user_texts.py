"""The texts of the product that a user can read: literals of the code, docstrings of commands, and pages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.packages import PACKAGES
from support.paths import ROOT

PAGES = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")
_WORD = re.compile(r"[A-Za-z]{2,}")
_STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|WITH|PRAGMA|ATTACH|COPY)\s", re.IGNORECASE)


@dataclass(frozen=True)
class UserText:
    """One text with its place: `path` relative to the repository, `line` counted from 1."""

    path: str
    line: int
    text: str


def texts_of_code() -> Iterator[UserText]:
    """Yield every literal of the product of three words or more, and every docstring, each with single spaces."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield from _texts_of_module(path)


def _texts_of_module(path: Path) -> Iterator[UserText]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            text = "".join(_shown(part) for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if len(_WORD.findall(text)) >= 3 and " " in text and not _STATEMENT.match(text):
            yield UserText(str(path.relative_to(ROOT)), node.lineno, " ".join(text.split()))


def _shown(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "{}"


def texts_of_pages() -> Iterator[UserText]:
    """Yield every paragraph of the pages, each with single spaces. The glossary may name a term that is not used."""
    pages = [ROOT / name for name in PAGES] + sorted((ROOT / "docs").rglob("*.md"))
    for path in pages:
        if path.name == "glossary.md":
            continue
        line = 1
        for paragraph in path.read_text().split("\n\n"):
            yield UserText(str(path.relative_to(ROOT)), line, " ".join(paragraph.split()))
            line += paragraph.count("\n") + 2
