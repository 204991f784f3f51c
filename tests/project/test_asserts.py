"""No assert of a test is written so that it cannot fail, as far as its text tells. Ruff finds more of them: what is
compared with itself, constants, and comparisons whose result nothing uses."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from support.paths import TESTS

RAISES = re.compile(
    r"^( *)(?:async )?with (?:\((?:\n\1    [^\n]*)*?\n)?[^\n]*?\b(?:raises|warns)\((?!AssertionError)", re.MULTILINE
)
NEVER_NEGATIVE = re.compile(r"^ *assert (?:len|sum)\([^\n]*\) >= 0$", re.MULTILINE)


def _asserts_after_what_raises(text: str) -> Iterator[str]:
    """Find `with pytest.raises` blocks that end with an assert: what raises stands before it, so it never runs."""
    for found in RAISES.finditer(text):
        inner = " " * (len(found[1]) + 4)
        rest = text[found.end() :].split("\n")[1:]
        block = []
        for line in rest:
            if line and not line.startswith(inner) and not (line.startswith(found[1]) and line[len(found[1])] == ")"):
                break
            block.append(line)
        statements = [line for line in block if line.startswith(inner) and line[len(inner)] not in " )]}#"]
        if statements and statements[-1].lstrip().startswith("assert "):
            yield statements[-1].strip()


def test_no_assert_ends_a_block_that_has_to_raise_or_counts_at_least_nothing() -> None:
    found = []
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text()
        lines = [*_asserts_after_what_raises(text), *NEVER_NEGATIVE.findall(text)]
        found += [(path.relative_to(TESTS).as_posix(), line) for line in lines]
    assert found == []


@pytest.mark.parametrize(
    "header", ["with pytest.raises(KeyError):", "with (\n    closed(),\n    pytest.raises(KeyError),\n):"]
)
def test_an_assert_after_what_raises_is_found(header: str) -> None:
    body = "    {}[1]\n    assert seen == [1]\nassert 2\n"
    assert list(_asserts_after_what_raises(f"{header}\n{body}")) == ["assert seen == [1]"]
    after = body.replace("    assert", "assert")
    assert list(_asserts_after_what_raises(f"{header}\n{after}")) == []
