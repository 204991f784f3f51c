"""Changes some memories of a file: their spans are written again, everything else stays byte for byte, and consecutive
line numbers are renewed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf.aicf_mapping import OWN
from lifeboat_formats.aicf.output import file_writing
from lifeboat_formats.aicf.output.respelling import remove_piece, respell_piece
from lifeboat_formats.aicf.records import extension, file_memories
from lifeboat_formats.aicf.records.file_memories import FileMemories
from lifeboat_formats.aicf.syntax.document_parts import AicfDocument, Dialect
from lifeboat_formats.interchange.change_marks import is_unchanged
from lifeboat_formats.interchange.errors import SourceRefused

_TOLD_BESIDE = ("memory_type", "confidence", "tags")
"""Fields that a piece may hold besides the content."""
_MOST_TRIED = 50
"""Largest number of changes that are tried one by one when the changed file does not read back correctly."""
_LINE = re.compile(r"([ \t]*)([0-9]+)(\|[^\r\n]*(?:\r\n|\n|\r|\Z))")
_ANY_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """A patched file. `left` are memories that no longer fit their place and must be written elsewhere."""

    text: str
    left: tuple[JsonObject, ...] = ()


def patch_file(found: FileMemories, now: Mapping[int, JsonObject | None]) -> PatchedFile:
    """Patch a file. `now` maps the place of a piece to its record, or to None for a removed memory; other places stay
    unchanged."""
    wanted = {place: record for place, record in now.items() if is_memory_changed(found, place, record)}
    if not wanted:
        return PatchedFile(("\ufeff" if found.document.bom else "") + found.document.text)
    spans = {place: _span(found, place, record) for place, record in wanted.items()}
    if not _comes_out(found, spans, wanted):
        # Together the changes do not read back. Keep those that do alone, and move the others out of their place.
        spans = {place: span if _is_fine(found, place, span, wanted) else None for place, span in spans.items()}
        if not _comes_out(found, spans, wanted):
            spans = dict.fromkeys(spans)
    left = tuple(record for place, record in wanted.items() if record is not None and spans[place] is None)
    return PatchedFile(_assembled(found, spans), left)


def _is_fine(found: FileMemories, place: int, span: str | None, wanted: Mapping[int, JsonObject | None]) -> bool:
    """Return whether one change alone reads back correctly."""
    if span is None or len(wanted) > _MOST_TRIED:
        return False
    return _comes_out(found, {place: span}, wanted)


def is_memory_changed(found: FileMemories, place: int, record: JsonObject | None) -> bool:
    """Return whether a record differs from the memory at its place."""
    if record is None:
        return True
    read = found.records[place]
    if record["content"] != read["content"]:
        return True
    # Differences besides the content may come from the reader itself: only a changed record counts.
    if is_unchanged(record, OWN):
        return False
    return any((record.get(name) or None) != (read.get(name) or None) for name in _TOLD_BESIDE)


def _span(found: FileMemories, place: int, record: JsonObject | None) -> str | None:
    """Return the new span of a piece, or None if the memory is removed or no longer fits its place."""
    if record is None:
        return None
    piece = found.pieces[place]
    if piece.overlay is not None and not _says_the_same_beside(found.records[place], record):
        return None
    return respell_piece(found.document, piece, record)


def _says_the_same_beside(read: JsonObject, record: JsonObject) -> bool:
    return all((record.get(name) or None) == (read.get(name) or None) for name in _TOLD_BESIDE)


def _comes_out(found: FileMemories, spans: Mapping[int, str | None], wanted: Mapping[int, JsonObject | None]) -> bool:
    """Return whether the changed file, parsed again, has the wanted contents."""
    texts = []
    for place, read in found.records.items():
        record = wanted.get(place) if place in spans else read
        if record is not None and not (place in spans and spans[place] is None):
            texts.append(record["content"])
    again = file_memories.read_memories(_assembled(found, spans), "again")
    return [record["content"] for _, record in again.memories()] == texts


def _assembled(found: FileMemories, spans: Mapping[int, str | None]) -> str:
    pieces = [found.pieces[place] for place, span in spans.items() if span is None]
    gone = {(extension.RECORD, piece.record_id) for piece in pieces}
    gone |= {
        ("EMBEDDING", piece.section.ident) for piece in pieces if piece.section.ident and piece.section.name != "STATE"
    }
    return _numbered(found.document, "".join(_spans(found, spans, gone)))


def _spans(found: FileMemories, spans: Mapping[int, str | None], gone: set[tuple[str, str]]) -> Iterator[str]:
    document = found.document
    if document.bom:
        yield "\ufeff"
    for place, piece in enumerate(found.pieces):
        if place in spans:
            span = spans[place]
            yield remove_piece(document, piece) if span is None else span
        elif (piece.section.name, piece.section.ident) not in gone:
            yield document.text[piece.start : piece.end]


def _numbered(document: AicfDocument, text: str) -> str:
    """Renumber a text if every line of the file was numbered consecutively from one."""
    if not document.is_numbered or not _is_counted(document.text):
        return text
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    return bom + renumber_lines(text[len(bom) :])


def renumber_lines(text: str) -> str:
    """Number lines consecutively from one. Lines without a number stay as they are."""
    lines = _ANY_LINE.findall(text)
    return "".join(_with_number(line, number) for number, line in enumerate(lines, 1))


def _is_counted(text: str) -> bool:
    for number, line in enumerate(_ANY_LINE.findall(text), 1):
        match = _LINE.fullmatch(line)
        if match is None or match[2] != str(number):
            return False
    return True


def _with_number(line: str, number: int) -> str:
    match = _LINE.fullmatch(line)
    return line if match is None else f"{match[1]}{number}{match[3]}"


def append_lines(text: str, lines: list[str]) -> str:
    """Return a file with lines appended, numbered if the file is numbered to its end."""
    document = file_memories.read_memories(text, "file").document
    end = "\r\n" if "\r\n" in text else "\n"
    body = text if not text or text.endswith(("\n", "\r")) else text + end
    first = len(_ANY_LINE.findall(document.text)) + 1
    is_counted = document.is_numbered and _is_counted(document.text)
    made = [f"{number}|{line}" if is_counted else line for number, line in enumerate(lines, first)]
    return body + "".join(line + end for line in made)


def dialect_of(text: str) -> Dialect:
    """Return the dialect of a text."""
    return file_memories.read_memories(text, "file").document.dialect


def rejoin_file(text: str, record_ids: Sequence[str], now: Mapping[str, str]) -> str | None:
    """Return a file with the texts in `now` for the memories with the given ids; memories without a text are removed.
    Memories that no longer fit their place are appended. None if the file's memories cannot be matched with the ids."""
    try:
        found = file_memories.read_memories(text, "file")
    except SourceRefused:
        return None
    places = list(found.records)
    if len(places) != len(record_ids):
        return None
    wanted: dict[int, JsonObject | None] = {}
    for place, name in zip(places, record_ids, strict=True):
        wanted[place] = {**found.records[place], "id": name, "content": now[name]} if name in now else None
    # `is_changed` compares with the record that was read, so unchanged texts leave their spans alone.
    patch = patch_file(found, wanted)
    if not patch.left:
        return patch.text
    rows = file_writing.build_rows([(str(record["id"]), str(record["content"])) for record in patch.left])
    text = append_lines(patch.text, rows)
    again = sorted(record["content"] for _, record in file_memories.read_memories(text, "file").memories())
    return text if again == sorted(now[name] for name in record_ids if name in now) else None
