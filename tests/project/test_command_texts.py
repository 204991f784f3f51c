"""Commands in texts can be pasted: an agent's name may have spaces, so it is quoted for the shell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from support.paths import ROOT

_COMMAND = re.compile(r"lifeboat(?: [a-zA-Z./-]+)* $")
"""A command up to its next argument."""
_PACKAGES = ("core", "daemon", "cli", "endpoint", "tui")


def _unquoted_in(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of f-strings that put the name of an agent into a command as it is."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        said = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                said += str(part.value)
                continue
            value = ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ""
            if _COMMAND.search(said) and value.endswith("agent.name"):
                yield node.lineno
            said += "X"


def test_the_name_of_an_agent_is_quoted_in_every_command() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for package in _PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for line in _unquoted_in(ast.parse(path.read_text()))
    ]
    assert not found, "\n".join(found)


def test_a_name_that_is_not_quoted_is_found() -> None:
    bad = 'fix = f"lifeboat sync {agent.name}, or lifeboat restore {self._agent.name} --at {number}"'
    assert list(_unquoted_in(ast.parse(bad))) == [1, 1]
    good = 'fix = f"{agent.name} is held: lifeboat sync {quote_argument(agent.name)}"'
    assert list(_unquoted_in(ast.parse(good))) == []
