"""Writes one memory of a file with changed content: only the changed parts of its span are replaced."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence

from lifeboat_alf.common.json_shapes import as_list
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf import aicf_mapping
from lifeboat_formats.aicf.records import file_pieces, memory_drafts
from lifeboat_formats.aicf.records.file_pieces import FilePiece
from lifeboat_formats.aicf.records.memory_drafts import RATIONALE
from lifeboat_formats.aicf.syntax import older_spellings
from lifeboat_formats.aicf.syntax.aicf_times import normalize_time
from lifeboat_formats.aicf.syntax.cell_values import Escaping, escape_cell
from lifeboat_formats.aicf.syntax.document_parts import AicfDocument, AicfItem, AicfSection, Dialect, ItemKind
from lifeboat_formats.aicf.syntax.xml_files import XmlPart
from lifeboat_formats.interchange.text_edits import replace_spans

TAGGED = {"category": 1, "priority": 2, "impact": 1}
"""Cells that are tags of the record, and their positions."""

_UNNUMBERED = (Dialect.BLOCKS, Dialect.MIXED)
_LINE_END = re.compile("\r\n|\n|\r")
_LIKE_HEADER = re.compile(r"(\\*@)")


def respell_piece(document: AicfDocument, piece: FilePiece, record: JsonObject) -> str | None:
    """Return the span of a piece with the contents of a record, or None if its form cannot hold them."""
    made = piece.made
    if made is None or document.dialect is Dialect.ESCAPED_BLOCKS:
        return None
    text = str(record["content"])
    if document.dialect is Dialect.XML:
        return _xml(document, piece, text)
    if document.dialect is Dialect.JSON:
        return _json(document, piece, text)
    first = piece.items[0]
    if len(piece.items) == 1 and first.kind in file_pieces.ROWS:
        return _row(document, piece, first, record)
    if made.kind in (aicf_mapping.USER_STATE, aicf_mapping.APP_STATE):
        return _key(document, piece, text)
    if made.kind in (aicf_mapping.TEXT, aicf_mapping.UNKNOWN):
        return _lines(document, piece, text)
    return _block(document, piece, text)


def remove_piece(document: AicfDocument, piece: FilePiece) -> str:
    """Return what remains where a memory is removed."""
    if document.dialect is Dialect.JSON:
        return "null"
    first = piece.items[0]
    is_shared = first.kind is ItemKind.HEADER and piece.items[-1].end < piece.section.end
    return document.text[first.start : first.end] if is_shared else ""


def _with_value(document: AicfDocument, item: AicfItem, raw: str) -> tuple[int, int, str]:
    if item.is_triple:
        return item.value_start - 3, item.value_end + 3, raw
    return item.value_start, item.value_end, raw


def _row(document: AicfDocument, piece: FilePiece, item: AicfItem, record: JsonObject) -> str | None:
    made = piece.made
    assert made is not None
    escaping = item.escaping
    text = str(record["content"])
    if escaping is Escaping.NONE:
        fits = text.strip() == text and text[:1] not in "@#\\" and not _LINE_END.search(text)
        return (
            replace_spans(document.text, [_with_value(document, item, text)], piece.start, piece.end) if fits else None
        )
    cells = list(item.cells)
    if document.dialect is Dialect.WATCHER and made.own.get("line"):
        line = f"{cells[0]}|{escape_cell(text, escaping)}"
        return replace_spans(document.text, [_with_value(document, item, line)], piece.start, piece.end)
    if made.kind == aicf_mapping.INSIGHT:
        cells = _insight_cells(cells, record, escaping)
    elif made.kind == aicf_mapping.DECISION:
        cells = _decision_cells(cells, record, escaping)
    elif made.kind in (aicf_mapping.USER_STATE, aicf_mapping.APP_STATE):
        scope, key = str(made.own["scope"]), str(made.own["key"])
        cells = [*cells[:2], escape_cell(memory_drafts.value_of(scope, key, str(record["content"])), escaping)]
    elif made.kind in _TEXT_CELLS:
        is_positional = document.dialect is Dialect.POSITIONAL
        place = memory_drafts.count_leading_cells(item.values) if is_positional else _TEXT_CELLS[made.kind]
        kept = cells[place + 1 :] if made.kind == aicf_mapping.MEMORY else []
        cells = [*cells[:place], *[""] * (place - len(cells)), escape_cell(str(record["content"]), escaping), *kept]
    elif made.kind == aicf_mapping.ROW:
        cells = _column_cells(cells, list(made.own["columns"]), text, escaping)
    elif document.dialect is Dialect.POSITIONAL:
        rest = [cell for cell in cells[5:] if normalize_time(cell)]
        cells = [*cells[:5], *[""] * (5 - len(cells)), *rest, escape_cell(text, escaping)]
    else:
        return None
    return replace_spans(document.text, [_with_value(document, item, "|".join(cells))], piece.start, piece.end)


def _column_cells(cells: list[str], columns: Sequence[Sequence[str]], text: str, escaping: Escaping) -> list[str]:
    """Return cells under column names, updated from the lines of the text. Missing lines are noticed when the file is
    read back."""
    lines = text.split("\n")
    filled = [place for place, cell in enumerate(cells) if cell.strip()]
    for (name, value), line, place in zip(columns, lines, filled, strict=False):
        new = line.removeprefix(f"{name}: ")
        if new != value:
            cells[place] = escape_cell(new, escaping)
    return cells


_TEXT_CELLS = {aicf_mapping.MESSAGE: 3, aicf_mapping.WORK: 2, aicf_mapping.MEMORY: 2}


def _insight_cells(cells: list[str], record: JsonObject, escaping: Escaping) -> list[str]:
    known = memory_drafts.draft_insight(cells)
    new = [escape_cell(str(record["content"]), escaping), *cells[1:]]
    plain = [place for place, cell in enumerate(new) if not cell.lstrip().startswith("memory_type=")]
    tagged = {"category": 1, "priority": 2} if len(plain) > 3 else {"priority": 2} if len(plain) == 3 else {}
    new = _with_tags(new, plain, tagged, known.fields, record, escaping)
    if len(plain) > 3:
        new = _with_confidence(new, plain[3], known.fields, record)
    before = known.fields.get("memory_type", aicf_mapping.KINDS[aicf_mapping.INSIGHT].memory_type)
    if record.get("memory_type", before) != before:
        new = [cell for cell in new if not cell.lstrip().startswith("memory_type=")]
        new.insert(min(4, len(new)), f"memory_type={record['memory_type']}")
    return new


def _decision_cells(cells: list[str], record: JsonObject, escaping: Escaping) -> list[str]:
    known = memory_drafts.draft_decision(cells)
    text, _, rationale = str(record["content"]).partition(RATIONALE)
    place = {2: 1, 3: 1}.get(len(cells), 3 if len(cells) > 3 else 0)
    if not place:
        return [escape_cell(str(record["content"]), escaping)]
    new = [escape_cell(text, escaping), *cells[1:]]
    new[place] = escape_cell(rationale, escaping)
    if len(cells) > 3:
        new = _with_tags(new, list(range(len(new))), {"impact": 1}, known.fields, record, escaping)
        new = _with_confidence(new, 2, known.fields, record)
    return new


def _with_tags(
    cells: list[str],
    plain: Sequence[int],
    tagged: dict[str, int],
    known: JsonObject,
    record: JsonObject,
    escaping: Escaping,
) -> list[str]:
    """Update the cells that are tags."""
    for name, place in tagged.items():
        before, after = tag_of(known.get("tags"), name), tag_of(record.get("tags"), name)
        if before != after:
            cells[plain[place]] = escape_cell(after, escaping)
    return cells


def tag_of(tags: object, name: str) -> str:
    """Return the value of a tag `name:value`, or ""."""
    return next((str(tag)[len(name) + 1 :] for tag in as_list(tags) if str(tag).startswith(f"{name}:")), "")


def _with_confidence(cells: list[str], place: int, known: JsonObject, record: JsonObject) -> list[str]:
    """Update the cell with the level of the confidence, if the confidence changed."""
    if record.get("confidence") != known.get("confidence") and record.get("confidence") is not None:
        cells[place] = aicf_mapping.level_of(record["confidence"])
    return cells


def _key(document: AicfDocument, piece: FilePiece, text: str) -> str | None:
    made = piece.made
    assert made is not None
    pairs = {item.key: item for item in piece.items if item.kind is ItemKind.PAIR}
    item = pairs.get("value") if "scope" in pairs else next(iter(pairs.values()), None)
    if item is None:
        return None
    value = memory_drafts.value_of(str(made.own["scope"]), str(made.own["key"]), text)
    changed = [_with_value(document, item, escape_cell(value, item.escaping))]
    return replace_spans(document.text, changed, piece.start, piece.end)


def _block(document: AicfDocument, piece: FilePiece, text: str) -> str | None:
    """Write a block with fields: change the field that is its text, or add a field `content`."""
    pairs = older_spellings.fields_by_name(piece.items)
    made = piece.made
    assert made is not None
    if made.kind == aicf_mapping.DECISION and "rationale" in pairs:
        text, _, rationale = text.partition(RATIONALE)
        changes = [_with_value(document, pairs["rationale"], escape_cell(rationale, pairs["rationale"].escaping))]
    else:
        changes = []
    # The field that the reader took as the text, if the block has one.
    name = next((name for name in _TEXTS.get(made.kind, ("content",)) if name in pairs and pairs[name].value), None)
    if name is not None:
        changes.append(_with_value(document, pairs[name], escape_cell(text, pairs[name].escaping)))
        return replace_spans(document.text, changes, piece.start, piece.end)
    before = [item for item in piece.items if item.kind in (ItemKind.PAIR, ItemKind.HEADER)]
    if not before:
        return None
    at = before[-1].end
    changes.append(
        (at, at, new_lines(document, piece.section, [f"content={escape_cell(text, before[-1].escaping)}"], at))
    )
    return replace_spans(document.text, changes, piece.start, piece.end)


_TEXTS = {
    aicf_mapping.INSIGHT: ("text", "content", "insight"),
    aicf_mapping.DECISION: ("description", "decision", "content"),
    aicf_mapping.WORK: ("description", "content"),
    aicf_mapping.MEMORY: ("content", "text"),
}


def new_lines(document: AicfDocument, section: AicfSection, lines: Sequence[str], at: int) -> str:
    """Return lines to insert at an offset, with a placeholder number if all lines are numbered (they are renumbered
    later)."""
    end = line_end(document)
    prefix = "0|" if document.is_numbered and document.dialect not in _UNNUMBERED else ""
    opened = end if at and not _LINE_END.fullmatch(document.text[at - 1]) else ""
    return opened + "".join(f"{prefix}{line}{end}" for line in lines)


def line_end(document: AicfDocument) -> str:
    """Return the first line terminator of a file."""
    found = _LINE_END.search(document.text)
    return found[0] if found else "\n"


def _lines(document: AicfDocument, piece: FilePiece, text: str) -> str | None:
    """Write a block of plain lines."""
    body = file_pieces.trim_items(piece.items)
    if not body or "\r" in text:
        return None
    lines = [
        _LIKE_HEADER.sub(r"\\\1", line, count=1) if _LIKE_HEADER.match(line) else line for line in text.split("\n")
    ]
    new = new_lines(document, piece.section, lines, body[0].start)
    if not _LINE_END.search(document.text[body[-1].end - 1 : body[-1].end]):
        new = new.removesuffix(line_end(document))
    return replace_spans(document.text, [(body[0].start, body[-1].end, new)], piece.start, piece.end)


def _json(document: AicfDocument, piece: FilePiece, text: str) -> str:
    made = piece.made
    assert made is not None
    first = next(item for item in piece.items if item.kind is ItemKind.JSON)
    if first.key == "messages":
        return json.dumps({"content": text}, ensure_ascii=False)
    if not isinstance(first.data, dict):
        return json.dumps(text, ensure_ascii=False)
    name = next((name for name in memory_drafts.DECIDED if isinstance(first.data.get(name), str)), "content")
    if "rationale" in first.data and RATIONALE in text:
        text, _, rationale = text.partition(RATIONALE)
        return json.dumps({**first.data, name: text, "rationale": rationale}, ensure_ascii=False)
    kept = {key: value for key, value in first.data.items() if key != "rationale"}
    return json.dumps({**kept, name: text}, ensure_ascii=False)


def _xml(document: AicfDocument, piece: FilePiece, text: str) -> str | None:
    """Write an element with new text, or return None if it contains markup."""
    item = piece.items[0]
    if not isinstance(item.data, XmlPart) or not item.data.is_plain:
        return None
    changed = [_with_value(document, item, html.escape(text, quote=False))]
    return replace_spans(document.text, changed, piece.start, piece.end)
