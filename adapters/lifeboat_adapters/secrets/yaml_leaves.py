"""Tokenize YAML into leaves with exact byte spans, for the part of the language that settings use.

It reads block and flow collections, plain and quoted scalars, literal and folded block scalars, and several documents.
Anchors and tags are skipped, and an alias has no value of its own. Other constructs (explicit keys, collections as
keys, directives) raise, because they have no known place to cut. The tokenizer is iterative, so that no input exhausts
the stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lifeboat_adapters.secrets import yaml_scalars as scalars
from lifeboat_adapters.secrets.parsed_leaves import LeafScanner, OpenBracket, ParsedLeaf, Path, PositionedText

MAX_DEPTH = 100

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_GAP = re.compile(r"[ \t]*+(?:(?<![^\s])#[^\r\n]*+)?")
_SPACE = re.compile(r"[ \t]*+")
_BREAK = re.compile(r"\r\n|\r|\n")
_MARKER = re.compile(r"(---|\.\.\.)(?=\s|\Z)")
_PROPERTY = re.compile(r"[&!][^\s,\[\]{}]*+(?=[\s,\[\]{}]|\Z)")
_ALIAS = re.compile(r"\*[^\s,\[\]{}]++")
_DASH = re.compile(r"-(?=\s|\Z)")
_COLON = re.compile(r"[ \t]*+:(?=\s|\Z)")
_FLOW_COLON = re.compile(r":(?=[\s,\[\]{}]|\Z)")
_BEYOND = re.compile(r"\?(?=\s|\Z)|[%@`|>,\]}]")


def scan_yaml(data: bytes) -> list[ParsedLeaf]:
    """Return every scalar value of every document in order. The paths of each document begin at its root.

    Raises UnparsableSecrets (with line and column) for bytes that are not YAML in UTF-8, or that use an unsupported
    construct.
    """
    scanner = _YamlScanner(PositionedText.read(data))
    scanner.documents()
    return scanner.leaves


@dataclass(slots=True)
class _YamlBlock:
    """An open block collection: its column, its path, the current item of a sequence."""

    column: int
    path: Path
    is_sequence: bool
    index: int = -1


@dataclass(slots=True)
class _ExpectedYamlValue:
    """A value that has to follow: its path, and whether a collection may begin on the same line."""

    path: Path
    may_open: bool


class _YamlScanner(LeafScanner):
    """A scanner of one YAML text."""

    def __init__(self, document: PositionedText) -> None:
        super().__init__(document)
        self._line = 0
        self._blocks: list[_YamlBlock] = []
        self._expected: _ExpectedYamlValue | None = _ExpectedYamlValue((), True)

    def documents(self) -> None:
        found = _FORBIDDEN.search(self._text)
        if found is not None:
            self._document.fail(found.start(), "a control character")
        fresh = True
        while True:
            fresh = self._skip() or fresh
            if self._at == len(self._text):
                return
            marker = _MARKER.match(self._text, self._at) if self._at == self._line else None
            if marker is not None:
                self._begin_document(marker)
            elif fresh:
                self._on_new_line()
            elif self._expected is None:
                self._fail("something stands after a value")
            else:
                self._node(self._expected, may_open=self._expected.may_open)
            fresh = False

    def _begin_document(self, marker: re.Match[str]) -> None:
        self._at = marker.end()
        self._blocks = []
        self._expected = _ExpectedYamlValue((), False)

    # Blocks -----------------------------------------------------------------------------------------------------

    def _on_new_line(self) -> None:
        column = self._column()
        if "\t" in self._text[self._line : self._at]:
            self._fail("a tab cannot indent")
        expected = self._expected
        if expected is not None and self._belongs(column):
            self._node(expected, may_open=True)
            return
        while self._blocks and not self._continues(self._blocks[-1], column):
            self._blocks.pop()
        if not self._blocks:
            self._fail("the indentation fits no line above")
        self._member(self._blocks[-1])

    def _belongs(self, column: int) -> bool:
        """Return whether the text at a column is the expected value, and not a member after its collection."""
        if not self._blocks or column > self._blocks[-1].column:
            return True
        block = self._blocks[-1]
        return column == block.column and not block.is_sequence and _DASH.match(self._text, self._at) is not None

    def _continues(self, block: _YamlBlock, column: int) -> bool:
        is_item = _DASH.match(self._text, self._at) is not None
        return block.column == column and is_item == block.is_sequence

    def _member(self, block: _YamlBlock) -> None:
        if block.is_sequence:
            self._item(block)
            return
        while (found := _PROPERTY.match(self._text, self._at)) is not None:
            self._at = found.end()
            self._skip_pattern(_SPACE)
        start = self._at
        key = self._scalar(block.column)
        if key is None or not self._is_key(start):
            self._fail("a key was expected", start)
        self._expected = _ExpectedYamlValue((*block.path, key.text), False)

    def _item(self, block: _YamlBlock) -> None:
        block.index += 1
        self._at += 1
        self._expected = _ExpectedYamlValue((*block.path, block.index), True)

    def _node(self, expected: _ExpectedYamlValue, *, may_open: bool) -> None:
        """Read a value, or the first member of a collection."""
        start = self._at
        while (found := _PROPERTY.match(self._text, self._at)) is not None:
            self._at = found.end()
            self._skip_pattern(_GAP)
        if self._at == len(self._text) or self._text[self._at] in "\r\n":
            self._expected = expected  # the value follows on the next line
            return
        self._expected = None
        char = self._text[self._at]
        if _DASH.match(self._text, self._at):
            self._open(expected.path, start, may_open=may_open, is_sequence=True)
            self._item(self._blocks[-1])
        elif char in "[{":
            self._flow(expected.path)
        elif char == "*":
            self._alias()
        elif char in "|>":
            self._block_scalar(expected.path)
        else:
            self._scalar_or_key(expected.path, start, may_open=may_open)

    def _scalar_or_key(self, path: Path, start: int, *, may_open: bool) -> None:
        begun = self._at
        scalar = self._scalar(self._blocks[-1].column if self._blocks else -1)
        if scalar is None:
            self._fail("this part of YAML is not read")
        if self._is_key(begun):
            self._open(path, start, may_open=may_open, is_sequence=False)
            self._expected = _ExpectedYamlValue((*path, scalar.text), False)
            return
        self.leaves.append(self._document.leaf(path, scalar.value, begun, scalar.end))

    def _scalar(self, parent: int) -> scalars.YamlScalar | None:
        """Read a plain or quoted scalar and move behind it; None when there is none."""
        if _BEYOND.match(self._text, self._at):
            return None
        found = scalars.quoted_scalar(self._text, self._at) or scalars.plain_scalar(self._text, self._at, parent)
        if found is not None:
            self._at = found.end
        return found

    def _is_key(self, start: int) -> bool:
        """Return whether the text from `start` to here is a key. If so, move behind its colon."""
        found = _COLON.match(self._text, self._at)
        if found is None:
            return False
        if _BREAK.search(self._text, start, self._at):
            self._fail("a key goes over lines")
        self._at = found.end()
        return True

    def _open(self, path: Path, start: int, *, may_open: bool, is_sequence: bool) -> None:
        if not may_open:
            self._fail("a collection cannot begin on this line")
        if len(self._blocks) == MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH}")
        if "\t" in self._text[self._line : start]:
            self._fail("a tab cannot indent")
        self._blocks.append(_YamlBlock(start - self._line, path, is_sequence))

    def _alias(self) -> None:
        found = _ALIAS.match(self._text, self._at)
        if found is None:
            self._fail("an alias was expected")
        self._at = found.end()
        if _COLON.match(self._text, self._at):
            self._fail("an alias as a key is not read")

    def _block_scalar(self, path: Path) -> None:
        found = scalars.block_scalar(self._text, self._at, self._blocks[-1].column if self._blocks else -1)
        if found is None:
            self._fail("the head of a block scalar was expected")
        self.leaves.append(self._document.leaf(path, found.value, self._at, found.end))
        self._at = found.end

    # Flow collections -------------------------------------------------------------------------------------------

    def _flow(self, path: Path) -> None:
        levels: list[OpenBracket] = []
        self._open_flow(levels, path)
        while levels:
            self._flow_step(levels)
        if _COLON.match(self._text, self._at):
            self._fail("a collection as a key is not read")

    def _open_flow(self, levels: list[OpenBracket], path: Path) -> None:
        if len(levels) == MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH}")
        levels.append(OpenBracket(path, "]" if self._text[self._at] == "[" else "}"))
        self._at += 1

    def _flow_step(self, levels: list[OpenBracket]) -> None:
        """Read one thing in the innermost flow collection: its end, a comma, or a member."""
        level = levels[-1]
        char = self._next()
        if char == level.close:
            self._at += 1
            levels.pop()
        elif level.complete:
            self._take_comma(char, level.close)
            level.complete = False
        else:
            level.complete = True
            level.index += 1
            self._flow_member(levels, level)

    def _flow_member(self, levels: list[OpenBracket], level: OpenBracket) -> None:
        path = (*level.path, level.index) if level.close == "]" else level.path
        char = self._flow_properties()
        if char in "[{":
            if level.close == "}":
                self._fail("a collection as a key is not read")
            self._open_flow(levels, path)
            return
        start = self._at
        scalar = self._flow_scalar(char)
        end = self._at
        if scalar is not None and self._is_flow_key(quoted=char in "\"'"):
            self._flow_value(levels, (*path, scalar.text))
            return
        if level.close == "}" and scalar is None:
            self._fail("a key was expected", start)
        if level.close == "]" and scalar is not None:
            self.leaves.append(self._document.leaf(path, scalar.value, start, end))

    def _flow_value(self, levels: list[OpenBracket], path: Path) -> None:
        char = self._flow_properties()
        if char in ",]}":
            return
        if char in "[{":
            self._open_flow(levels, path)
            return
        start = self._at
        scalar = self._flow_scalar(char)
        if scalar is not None:
            self.leaves.append(self._document.leaf(path, scalar.value, start, scalar.end))

    def _flow_scalar(self, char: str) -> scalars.YamlScalar | None:
        """Read a scalar; None for an alias, which has no value of its own."""
        if char == "*":
            found = _ALIAS.match(self._text, self._at)
            if found is not None:
                self._at = found.end()
                return None
        scalar = scalars.quoted_scalar(self._text, self._at) or scalars.plain_flow_scalar(self._text, self._at)
        if scalar is None:
            self._fail("a value was expected")
        self._at = scalar.end
        return scalar

    def _is_flow_key(self, *, quoted: bool) -> bool:
        self._next()
        found = ":" if quoted and self._text.startswith(":", self._at) else _FLOW_COLON.match(self._text, self._at)
        if found:
            self._at += 1
        return bool(found)

    def _flow_properties(self) -> str:
        """Skip anchors and tags, and return the first character of the next value."""
        char = self._next()
        while (found := _PROPERTY.match(self._text, self._at)) is not None:
            self._at = found.end()
            char = self._next()
        return char

    def _next(self) -> str:
        """Return the first character of the next token in a flow collection."""
        self._skip()
        if self._at == len(self._text):
            self._fail("a collection has no end")
        if self._at == self._line and _MARKER.match(self._text, self._at):
            self._fail("a collection has no end before the document's")
        return self._text[self._at]

    # ------------------------------------------------------------------------------------------------------------

    def _skip(self) -> bool:
        """Skip white space, comments and line ends. Return True when a line ended."""
        ended = False
        while True:
            self._skip_pattern(_GAP)
            found = _BREAK.match(self._text, self._at)
            if found is None:
                return ended
            self._at = self._line = found.end()
            ended = True

    def _column(self) -> int:
        return self._at - self._line
