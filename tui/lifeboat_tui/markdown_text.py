"""Memories as rendered text: Markdown becomes styles, and nothing in a memory becomes a link, markup or a control
character."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from textual.content import Content

from lifeboat_tui.cell_text import make_plain

CODE, FAINT = "$text-accent", "$foreground 60%"
_PARSER = MarkdownIt("commonmark", {"html": False})
_FRONT_MATTER = re.compile(r"\A---\n(.*?\n)---[ ]*(?:\n|\Z)", re.DOTALL)
_MARKS = re.compile(r"^#{1,6}\s+|(?<=\s)#{2,6}\s+|^(?:[-*+]|>)\s+|\*\*|__|`+")
_RULE = "─" * 8


def render_markdown(text: str) -> Content:
    """Return the text of a memory as it reads, with line breaks as written. Addresses of links are shown and cannot be
    followed; HTML is shown as it stands; a front matter is shown faint."""
    front = _FRONT_MATTER.match(text)
    lines = [Content.styled(make_plain(line), FAINT) for line in front[1].splitlines()] if front else []
    lines += _Renderer().render(_PARSER.parse(text[front.end() :] if front else text))
    return Content("\n").join(lines)


def strip_markdown(snippet: str) -> str:
    """Return the one-line beginning of a memory without the marks of headings, items, bold text and code."""
    return _MARKS.sub("", snippet)


class _Renderer:
    """Turns block tokens into lines. `_prefix` stands before each line, `_bullet` once before the next one."""

    def __init__(self) -> None:
        self._lines: list[Content] = []
        self._prefix = ""
        self._bullet: str | None = None
        self._numbers: list[int | None] = []
        self._prefixes: list[str] = []
        self._heading = ""
        self._gap: str | None = None
        """Prefix of the blank line that is due before the next line."""

    def render(self, tokens: Sequence[Token]) -> list[Content]:
        for token in tokens:
            self._block(token)
        return self._lines

    def _block(self, token: Token) -> None:
        kind = token.type
        if kind == "heading_open":
            self._heading = "bold underline" if token.tag == "h1" else "bold"
        elif kind == "heading_close":
            self._heading, self._gap = "", self._prefix
        elif kind in ("bullet_list_open", "ordered_list_open"):
            start = int(token.attrGet("start") or 1) if kind == "ordered_list_open" else None
            self._numbers.append(start)
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self._numbers.pop()
            self._gap = None if self._numbers else self._prefix
        elif kind == "list_item_open":
            self._begin_item()
        elif kind == "blockquote_open":
            self._indent("│ ")
        elif kind in ("blockquote_close", "list_item_close"):
            self._prefix, self._bullet = self._prefixes.pop(), None
        elif kind == "paragraph_close":
            self._gap = self._gap if token.hidden else self._prefix
        elif kind == "inline":
            self._add(_split_lines(_inline(token.children or (), self._heading)))
        elif kind in ("fence", "code_block"):
            self._add(Content.styled(f"  {make_plain(line)}", CODE) for line in token.content.splitlines())
            self._gap = self._prefix
        elif kind == "hr":
            self._add([Content.styled(_RULE, FAINT)])
            self._gap = self._prefix

    def _begin_item(self) -> None:
        number = self._numbers[-1]
        bullet = "• " if number is None else f"{number}. "
        if number is not None:
            self._numbers[-1] = number + 1
        before = self._prefix
        self._indent(" " * len(bullet))
        self._bullet = before + bullet

    def _indent(self, prefix: str) -> None:
        self._prefixes.append(self._prefix)
        self._prefix += prefix

    def _add(self, lines: Iterator[Content] | Sequence[Content]) -> None:
        for line in lines:
            if self._gap is not None and self._lines:
                self._lines.append(Content(min(self._gap, self._prefix, key=len).rstrip()))
            self._gap = None
            prefix, self._bullet = self._bullet or self._prefix, None
            self._lines.append(Content.assemble((prefix, FAINT), line) if prefix else line)


def _inline(tokens: Sequence[Token], style: str) -> Content:
    """Return the text of a paragraph. Every piece is made plain after parsing: an entity such as `&#8238;` becomes the
    character that it stands for."""
    parts: list[Content] = []
    styles, targets = [style] if style else [], []
    for token in tokens:
        kind = token.type
        if kind in ("strong_open", "em_open"):
            styles.append("bold" if kind == "strong_open" else "italic")
        elif kind in ("strong_close", "em_close"):
            styles.pop()
        elif kind == "link_open":
            targets.append((str(token.attrGet("href") or ""), len(parts)))
        elif kind == "link_close":
            target, at = targets.pop()
            if target and target != "".join(part.plain for part in parts[at:]):
                parts.append(Content.styled(f" ({make_plain(target)})", FAINT))
        elif kind in ("softbreak", "hardbreak"):
            parts.append(Content("\n"))
        elif kind == "image":
            shown = f"{make_plain(token.content)} ({make_plain(token.attrGet('src') or '')})"
            parts.append(Content.styled(shown, FAINT))
        else:
            code = [CODE] if kind == "code_inline" else []
            parts.append(Content.styled(make_plain(token.content), " ".join(dict.fromkeys((*styles, *code)))))
    return Content("").join(parts)


def _split_lines(content: Content) -> Iterator[Content]:
    yield from content.split("\n", allow_blank=True)
