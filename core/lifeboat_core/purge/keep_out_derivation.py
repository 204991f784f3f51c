"""Derive the keep-out filter of a redaction from the bytes themselves, before they are destroyed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from lifeboat_adapters.secrets.value_prints import ValuePrint, ValuePrints, is_printable, is_weak
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.memory import memory_records
from lifeboat_alf.purging import purged_lines
from lifeboat_alf.purging.purged_lines import EDGE, TouchedLine
from lifeboat_alf.redaction.redactions import ByteEdit, apply_edits
from lifeboat_core.purge.keep_out_filter import (
    LEAST_ANYWHERE,
    KeepOutFilter,
    KeepOutMarks,
    RedactedRowShape,
    runtime_file_name,
)

LEAST_LEFT = 16
"""Characters that must be left of a line of a table so that it can be recognised by them."""

Text = tuple[str, list[bytes]]
"""The lines of a text, with its file as the runtime names it."""


class PurgedLine(NamedTuple):
    """A removed line, with its file as the runtime names it."""

    scope: str
    line: TouchedLine


@dataclass(slots=True)
class DerivedFilter:
    """The filter under construction, with text; it exists only while one purge is carried out. `keeps_weak`: the user
    also wants digests of text that can be guessed; `has_weak`: there is such text."""

    marks: KeepOutMarks
    filter: KeepOutFilter = field(default_factory=KeepOutFilter)
    found: list[PurgedLine] = field(default_factory=list)
    values: dict[str, ValuePrint] = field(default_factory=dict)
    keeps_weak: bool = False
    has_weak: bool = False

    def entry(self, path: str, body: bytes, edits: tuple[ByteEdit, ...], *, at_head: bool = True) -> None:
        """Add a file that edits change. `at_head`: the newest state has it, so it may be in the workspace."""
        if not path.startswith((archive_layout.RAW, archive_layout.ARTIFACTS)) or not edits:
            return
        scope, removed = runtime_file_name(path), _removed(body, edits)
        is_weak = self._is_weak(removed)
        if not is_weak:
            self.filter.add_body(self.marks, body, edits)
        takes_all = _takes_all(body, edits)
        if at_head and (is_weak or (purged_lines.is_binary_body(body) and not takes_all)):
            self.filter.add_shape(self.marks, scope, body, edits)
        if purged_lines.is_binary_body(body):
            self.filter.let_in.discard(scope)
            is_printed = self._values(removed) and not takes_all
            if at_head:
                self.filter.binaries[scope] = is_printed and self.filter.binaries.get(scope, True)
            return
        if at_head and path.endswith(".jsonl") and not takes_all:
            self._table_lines(scope, body, edits)
        if not takes_all:
            self._values(removed)
        if not takes_all or not purged_lines.is_json_path(path):
            self.found.extend(PurgedLine(scope, line) for line in purged_lines.find_touched_lines(body, edits))
        if purged_lines.is_json_path(path):
            self._strings(scope, body, edits)

    def _is_weak(self, removed: Iterable[bytes]) -> bool:
        weak = is_weak(removed)
        self.has_weak = self.has_weak or weak
        return weak and not self.keeps_weak

    def _values(self, removed: Iterable[bytes]) -> bool:
        """Add prints of values that may have one; return whether all have."""
        prints, printed = ValuePrints(self.marks.key), True
        for value in removed:
            if is_printable(value, even_weak=self.keeps_weak):
                mark, found = prints.of(value)
                if mark not in self.filter.values:
                    self.values[mark] = found
            else:
                printed = False
        return printed

    def _table_lines(self, scope: str, body: bytes, edits: tuple[ByteEdit, ...]) -> None:
        """Make lines of a table recognisable by what is left of them, which names their row."""
        start = 0
        for line in body.split(b"\n"):
            end = start + len(line)
            inside = tuple(
                edit._replace(offset=edit.offset - start)
                for edit in edits
                if start <= edit.offset and edit.offset + edit.length <= end
            )
            if (
                inside
                and self._is_weak(_removed(line, inside))
                and purged_lines.count_characters(apply_edits(line, inside)) >= LEAST_LEFT
            ):
                self.filter.add_shape(self.marks, scope, line, inside)
            start = end + 1

    def _strings(self, scope: str, body: bytes, edits: Iterable[ByteEdit]) -> None:
        for token in purged_lines.find_json_strings(body):
            made, is_whole = purged_lines.edits_within(token, body, edits)
            if made and (not is_whole or _is_prose(token.text)):
                self._text(scope, token.text, tuple(made))

    def _text(self, scope: str, text: bytes, edits: tuple[ByteEdit, ...]) -> None:
        """Add a text: as a whole if all of it is removed, and each of its lines."""
        if _takes_all(text, edits) and b"\n" in text.strip():
            self.found.append(PurgedLine(scope, TouchedLine(EDGE, purged_lines.normalise_line(text), EDGE, None)))
        self.found.extend(PurgedLine(scope, line) for line in purged_lines.find_touched_lines(text, edits))

    def record(self, line: bytes, edits: tuple[ByteEdit, ...] | None) -> None:
        """Add a memory that is removed (None), or whose line edits change."""
        record = _decoded(line)
        content = record.get("content")
        if not isinstance(content, str):
            return
        scope = _origin(record)
        text = content.encode("utf-8", "surrogatepass")
        made = None if edits is None else _decoded(apply_edits(line, edits)).get("content")
        if edits is None or made == memory_records.TOMBSTONE:
            self._text(scope, text, (ByteEdit(0, len(text)),))
            self._row(scope, record, text, (ByteEdit(0, len(text)),))
        else:
            self._strings(scope, line, edits)
            token = next((each for each in purged_lines.find_json_strings(line) if each.text == text), None)
            within = purged_lines.edits_within(token, line, edits)[0] if token is not None else []
            if within:
                self._values(_removed(text, within))
                self._row(scope, record, text, tuple(within))

    def _row(self, scope: str, record: dict[str, object], text: bytes, edits: tuple[ByteEdit, ...]) -> None:
        """Make the row of a memory recognisable by its id and time, if its text can be guessed."""
        about = record.get("raw_source_format")
        for kept in about.values() if isinstance(about, dict) and self._is_weak(_removed(text, edits)) else ():
            row = kept.get("row") if isinstance(kept, dict) else None
            if isinstance(row, dict) and row.get("id") is not None:
                mark = self.marks.row(scope, row["id"], row.get("updated_at"))
                self.filter.rows[mark] = RedactedRowShape(len(text), edits)

    # The end ----------------------------------------------------------------------------------------------------

    def finish(self, remaining: Iterable[Text]) -> KeepOutFilter:
        """Return the filter. `remaining` are the texts that stay: a line that is in one of them is kept out only
        between its former neighbours, and not at all if it stays between the same ones. A line of which only a
        guessable part is removed has no digest, nor has a line beside it."""
        weak = {found.line.text for found in self.found if self._is_weak(_gone(found.line))} - {b""}
        self.found = [found for found in self.found if found.line.text not in weak]
        wanted = {found.line.text for found in self.found}
        common, staying = {b""}, set[tuple[str, bytes, bytes, bytes]]()
        prints = ValuePrints(self.marks.key)
        for scope, text in remaining if wanted or self.values else ():
            for mark in prints.marks_in(b"\n".join(text), self.values):
                del self.values[mark]  # the value is also in text that stays
            normal = list(map(purged_lines.normalise_line, text))
            if here := wanted.intersection(normal):
                common |= here
                beside = purged_lines.find_neighbours(normal)
                staying.update(
                    (scope, *each) for each in zip(beside[0], normal, beside[1], strict=True) if each[1] in here
                )
        for scope, line in self.found:
            is_common = line.text in common
            if (is_common or not line.text) and not weak.isdisjoint((line.before, line.after)):
                continue
            if not (is_common and (scope, line.before, line.text, line.after) in staying):
                self.filter.add_line(self.marks, scope, line, common=is_common)
        self.filter.values |= self.values
        return self.filter


def texts_of_entry(path: str, body: bytes) -> Iterator[Text]:
    """Yield the lines of a file, and those of the strings in it."""
    scope = runtime_file_name(path)
    if not purged_lines.is_binary_body(body):
        yield scope, body.split(b"\n")
        if purged_lines.is_json_path(path):
            for token in purged_lines.find_json_strings(body):
                yield from _texts(scope, token.text)


def texts_of_record(line: bytes) -> Iterator[Text]:
    record = _decoded(line)
    content = record.get("content")
    if isinstance(content, str):
        yield from _texts(_origin(record), content.encode("utf-8", "surrogatepass"))


def _texts(scope: str, text: bytes) -> Iterator[Text]:
    yield scope, text.split(b"\n")
    if b"\n" in text:
        yield scope, [text]


def _origin(record: dict[str, object]) -> str:
    """Return the file that a memory came from, as the runtime names it."""
    source = record.get("source")
    return str(source.get("origin_file") or "") if isinstance(source, dict) else ""


def _removed(body: bytes, edits: Iterable[ByteEdit]) -> list[bytes]:
    """Return what edits remove, without surrounding white space."""
    found = (body[edit.offset : edit.offset + edit.length].strip() for edit in edits)
    return [each for each in dict.fromkeys(found) if each]


def _gone(line: TouchedLine) -> list[bytes]:
    """Return what is removed from the text of a line."""
    return [line.text] if line.rule is None else _removed(line.text, line.rule.edits)


def _takes_all(text: bytes, edits: tuple[ByteEdit, ...]) -> bool:
    return len(edits) == 1 and edits[0][:2] == (0, len(text))


def _is_prose(text: bytes) -> bool:
    """Return whether a string is specific enough: names of models and roles occur everywhere."""
    return len(text.split()) > 1 and purged_lines.count_characters(text) >= LEAST_ANYWHERE


def _decoded(line: bytes) -> dict[str, object]:
    try:
        found = json_codec.decode_json(line)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
