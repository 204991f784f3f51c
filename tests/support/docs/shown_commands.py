"""Commands that a page shows in blocks of ```console, with the output that it shows for each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from support.paths import ROOT

_BLOCK = re.compile(r"^```console\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s+#\s.*$")
_VARYING = (
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "ID"),
    (r"\b(?:[0-9a-f]{64}\b|[0-9a-f]{4}\.\.\.)", "DIGEST"),
    (r"\b[0-9a-f]{32}\b", "KEY"),
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4})?\b(?!-)", "SHORT"),
    (r"\blb_(?:[\w-]+|\.\.\.)", "TOKEN"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?", "TIME"),
    (r"(https://|@)[\w.]+:\d+", r"\1ADDRESS"),
)
"""Text that differs between two runs of the same command."""


@dataclass(frozen=True)
class ShownCommand:
    """One command of a page: the text that a reader types, and the lines of output below it."""

    page: str
    line: int
    text: str
    output: tuple[str, ...]

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def list_pages() -> list[str]:
    """Return every page with a block of commands, as a path relative to the repository."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in pages if _BLOCK.search(path.read_text(encoding="utf-8"))]


def read_commands(page: str) -> list[ShownCommand]:
    """Return the commands of a page in its order. A line that ends with a backslash continues in the next one."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found: list[ShownCommand] = []
    for block in _BLOCK.finditer(text):
        first = text[: block.start(1)].count("\n") + 1
        found += _commands_of_block(page, block[1].splitlines(), first)
    return found


def _commands_of_block(page: str, lines: list[str], first: int) -> Iterator[ShownCommand]:
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    assert starts and starts[0] == 0, f"{page}:{first}: a block of commands begins with `$ `"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        words = lines[start].removeprefix("$ ")
        number = start + 1
        while words.endswith("\\"):
            words = f"{words[:-1].rstrip()} {lines[number].strip()}"
            number += 1
        yield ShownCommand(page, first + start, _COMMENT.sub("", words), tuple(lines[number:end]))


def make_comparable(text: str) -> list[str]:
    """Return the lines of an output with names in place of ids, keys, tokens and times."""
    for pattern, name in _VARYING:
        text = re.sub(pattern, name, text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def matches_shown(said: list[str], shown: list[str]) -> bool:
    """Return whether an output is the one that a page shows, in which `...` means any text, and alone in a line any
    lines."""
    parts = []
    for line in shown:
        parts.append("(?:.*\n)*" if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n")
    return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in said)) is not None
