"""Split Markdown text at its headings and into blocks without losing a character.

Every function works on whole lines with their line ends, so joining the results gives the input. Headings are ATX only:
the underlines of setext headings are also rules, table borders and front matter, and a wrong cut would be worse than
none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
_MARKS = " #`~"
"""First characters of lines with a heading or a fence. Checking one character first avoids matching the patterns on
most lines."""
_ASIDE = re.compile(r"<!--(?:(?!<!--).){0,4000}?-->|`[^`\n]*`", re.DOTALL)
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]")


class MarkdownLine(NamedTuple):
    """A line of Markdown. `level` is that of a heading (1 to 6), 0 for any other line; `title` is the text of the
    heading. `code` is set inside a fence or the front matter, including the fences."""

    text: str
    level: int = 0
    title: str = ""
    code: bool = False

    @property
    def blank(self) -> bool:
        return not self.code and not self.text.strip()


class MarkdownPiece(NamedTuple):
    """Consecutive lines. `heading` is the path of titles when the piece begins with its heading, else empty."""

    text: str
    heading: tuple[str, ...] = ()


def parse_lines(text: str) -> Iterator[MarkdownLine]:
    """Yield the lines of a text. Fenced code and YAML front matter are marked as code."""
    every = _LINE.findall(text)
    start = _front_matter(every)
    yield from (MarkdownLine(text, code=True) for text in every[:start])
    fence = ""
    for line in every[start:]:
        if not fence and line[0] not in _MARKS:
            yield MarkdownLine(line)
            continue
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and _closes(fence, mark) else fence
            yield MarkdownLine(line, code=True)
        elif mark and not ("`" in mark[1] and "`" in mark[2]):
            fence = mark[1]
            yield MarkdownLine(line, code=True)
        else:
            yield _plain(line)


def _front_matter(every: list[str]) -> int:
    """Return the number of lines of YAML front matter at the top."""
    if not every or every[0].rstrip() != "---":
        return 0
    for number, line in enumerate(every[1:200], start=2):
        if line.rstrip() in ("---", "..."):
            return number
    return 0


def _closes(fence: str, mark: re.Match[str]) -> bool:
    return mark[1].startswith(fence) and not mark[2].strip()


def _plain(text: str) -> MarkdownLine:
    match = _HEADING.match(text)
    if match is None:
        return MarkdownLine(text)
    title = text[match.end() :].strip()
    unclosed = title.rstrip("#")
    return MarkdownLine(text, len(match[1]), unclosed.rstrip() if unclosed[-1:] in ("", " ", "\t") else title)


def split_sections(text: str, depth: int, starts: re.Pattern[str] | None = None) -> list[MarkdownPiece]:
    """Split before every heading of level `depth` or above, and before lines that `starts` matches.

    Blank lines at the very top belong to the first section. Blank lines after a section belong to it.
    """
    pieces: list[MarkdownPiece] = []
    titles: list[tuple[int, str]] = []
    held: list[str] = []
    heading: tuple[str, ...] = ()
    for line in parse_lines(text):
        cut = 0 < line.level <= depth or (starts is not None and not line.code and starts.match(line.text))
        if cut and (heading or any(part.strip() for part in held)):
            pieces.append(MarkdownPiece("".join(held), heading))
            held, heading = [], ()
        if line.level:
            titles = [title for title in titles if title[0] < line.level] + [(line.level, line.title)]
        if cut and line.level:
            heading = tuple(title for _, title in titles)
        held.append(line.text)
    return [*pieces, MarkdownPiece("".join(held), heading)] if held else pieces


def split_blocks(text: str) -> list[str]:
    """Split before every heading, and before every list item and paragraph that is not indented. Code is
    never split."""
    found: list[list[str]] = []
    after_blank = True
    in_code = False
    for line in parse_lines(text):
        margin = not line.blank and not line.text[0].isspace()
        starts = (line.code and not in_code and after_blank) or (
            not line.code and (line.level > 0 or (margin and (after_blank or _ITEM.match(line.text) is not None)))
        )
        if starts or not found:
            found.append([])
        found[-1].append(line.text)
        after_blank, in_code = line.blank, line.code
    return ["".join(block) for block in found]


def without_code(text: str) -> str:
    """Return the text without code, headings and comments: the part in which tags count."""
    kept = "".join(line.text for line in parse_lines(text) if not line.code and not line.level)
    return _ASIDE.sub(" ", kept)
