"""Assembles lines into sections and items."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_formats.aicf.syntax import grammar
from lifeboat_formats.aicf.syntax.cell_values import Escaping
from lifeboat_formats.aicf.syntax.dialects import DialectSurvey
from lifeboat_formats.aicf.syntax.document_parts import AicfItem, AicfSection, Dialect, ItemKind
from lifeboat_formats.aicf.syntax.grammar import ParsedLine
from lifeboat_formats.aicf.syntax.numbered_lines import LineOffsets, count_terminators, iterate_lines
from lifeboat_formats.interchange.contract import FormatNotice

_TRIPLE = '"""'
_KEYED = (Dialect.KEY_CELLS, Dialect.WATCHER)


class SectionAssembler:
    """Parses the lines of a text, or of one section, into `sections`. `notices` holds remarks for the user."""

    def __init__(self, text: str, survey: DialectSurvey) -> None:
        self.sections: list[AicfSection] = []
        self.notices: list[FormatNotice] = []
        self._text = text
        self._survey = survey
        self._escaping = grammar.escaping_of(survey.dialect)
        self._is_closed = False
        self._line = 0
        self._last_quotes: int | None = None
        self._group = ""
        self._columns: tuple[str, ...] = ()

    def read(self, start: int = 0, end: int | None = None) -> None:
        """Parse the lines between two offsets, both at the beginning of a line."""
        self._line = count_terminators(self._text, start)
        all_lines = iterate_lines(self._text, start, end, numbered=self._survey.is_numbered)
        for line in all_lines:
            self._line += 1
            if grammar.is_escaped_block(self._text[line.data : line.data_end]):
                for piece in _pieces(self._text, line):
                    self._take(piece, all_lines)
            else:
                self._take(line, all_lines)
        if self.sections:
            self._finish(self.sections[-1])

    def _take(self, line: LineOffsets, following: Iterator[LineOffsets]) -> None:
        data = self._text[line.data : line.data_end]
        sort = grammar.parse_header(data)
        if sort is None:
            sort = grammar.classify_line(data, self.sections[-1].name if self.sections else "", self._survey.dialect)
            self._make_room(line, sort.kind)
            self._add(line, data, sort, following)
        elif sort.kind is ItemKind.ROW:
            self._take_row(line, data, sort)
        elif self._closes(sort.key):
            self._is_closed = True
            self._append(line, data, sort._replace(kind=ItemKind.END))
        else:
            self._open(line, data, sort)

    def _closes(self, name: str) -> bool:
        upper = name.upper()
        return bool(self.sections) and upper.endswith("_END") and self.sections[-1].name == upper[:-4]

    def _make_room(self, line: LineOffsets, kind: ItemKind) -> None:
        """Begin a nameless section if there is none, or if content follows an end tag."""
        says_something = kind not in (ItemKind.BLANK, ItemKind.COMMENT, ItemKind.FENCE)
        if not self.sections or (self._is_closed and says_something):
            self._begin(AicfSection("", "", "", line.start, line.start))

    def _open(self, line: LineOffsets, data: str, sort: ParsedLine) -> None:
        section = AicfSection(sort.key.upper(), sort.key, grammar.header_ident(data, sort), line.start, line.start)
        if self._survey.dialect is Dialect.SCHEMA_DATA:
            self._place(section)
        self._begin(section)
        self._append(line, data, sort)

    def _place(self, section: AicfSection) -> None:
        """Set the table that a section of version 2 belongs to, and its columns."""
        if self.sections and self.sections[-1].name == "SCHEMA":
            rows = self.sections[-1].of_kind(ItemKind.CELLS, ItemKind.TEXT)
            self._columns = tuple(cell.strip() for row in rows for cell in row.values)
        if section.name not in grammar.TABLES:
            self._group = section.name
        else:
            section.group = self._group
            section.columns = self._columns if section.name == "DATA" else ()

    def _take_row(self, line: LineOffsets, data: str, sort: ParsedLine) -> None:
        name = grammar.ROW_NAMES[sort.key.upper()]
        if not self.sections or self._is_closed or grammar.ROW_NAMES.get(self.sections[-1].name) != name:
            self._begin(AicfSection(name, "", "", line.start, line.start))
        self._append(line, data, sort)

    def _begin(self, section: AicfSection) -> None:
        if self.sections:
            self._finish(self.sections[-1])
        self._is_closed = False
        self.sections.append(section)

    def _finish(self, section: AicfSection) -> None:
        section.end = section.items[-1].end if section.items else section.start

    def _append(self, line: LineOffsets, data: str, sort: ParsedLine) -> AicfItem:
        escaping = self._escaping
        # Rows have cells in every dialect, so pipes and backslashes count even in free text.
        if sort.kind is ItemKind.ROW and escaping is Escaping.NONE:
            escaping = Escaping.LOOSE
        item = AicfItem(
            sort.kind,
            line.start,
            line.end,
            self._line,
            sort.key,
            data[sort.value : sort.value_end],
            line.data + sort.value,
            line.data + sort.value_end,
            line.number,
            escaping,
        )
        self.sections[-1].items.append(item)
        return item

    def _add(self, line: LineOffsets, data: str, sort: ParsedLine, following: Iterator[LineOffsets]) -> None:
        item = self._append(line, data, sort)
        if sort.kind is ItemKind.CELLS and self._survey.dialect in _KEYED:
            item.key = data.split("|", 1)[0].strip()
        elif sort.kind is ItemKind.PAIR and not self._survey.is_canonical:
            self._join_triple(item, line, following)

    def _join_triple(self, item: AicfItem, line: LineOffsets, following: Iterator[LineOffsets]) -> None:
        """Join a value between three double quotes, which may span lines. An unclosed value stays an ordinary one."""
        value = item.raw.strip()
        if not value.startswith(_TRIPLE):
            return
        opened = self._text.index(_TRIPLE, item.value_start) + len(_TRIPLE)
        closed = self._text.find(_TRIPLE, opened, line.data_end)
        # Closed on its own line. It is a triple value only if nothing follows the quotes.
        if closed >= 0:
            if closed + len(_TRIPLE) == item.value_start + len(item.raw.rstrip()):
                item.raw, item.is_triple = self._text[opened:closed], True
            return
        closed = self._next_quotes(line.end)
        if closed < 0 or line.end == line.data_end:
            self.notices.append(
                FormatNotice("triple_quotes_open", "The closing triple quotation mark is missing", f"line {item.line}")
            )
            return
        # Collect the following lines without their numbers, up to the closing quotes.
        pieces = [self._text[opened : line.data_end]]
        for line in following:
            self._line += 1
            pieces.append(self._text[line.data : min(line.data_end, max(closed, line.data))])
            if line.end > closed:
                break
        item.raw, item.is_triple = "\n".join(pieces), True
        item.end, item.value_end = line.end, min(closed + len(_TRIPLE), line.data_end)

    def _next_quotes(self, start: int) -> int:
        """Return the offset of the next three quotes, or -1. The last occurrence is cached, so that a file of unclosed
        values takes linear time."""
        if self._last_quotes is None or start <= self._last_quotes:
            self._last_quotes = self._text.rfind(_TRIPLE)
        return self._text.find(_TRIPLE, start) if start <= self._last_quotes else -1


def _pieces(text: str, line: LineOffsets) -> Iterator[LineOffsets]:
    r"""Split a block in one line after every `\n` escape."""
    start, at, number = line.start, line.data, line.number
    while True:
        found = text.find("\\n", at, line.data_end)
        if found < 0:
            yield LineOffsets(start, at, line.data_end, line.end, number)
            return
        yield LineOffsets(start, at, found, found + 2, number)
        start = at = found + 2
        number = None
        if at == line.data_end:
            # The last piece includes the terminator of the line, even if it is otherwise empty.
            yield LineOffsets(at, at, at, line.end, None)
            return
