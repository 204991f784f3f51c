"""Extension sections, which hold what AICF has no place for. Readers that follow the specification keep them as unknown
sections (AICF 3.1, "Forward Compatibility").

    @ALF_RECORD:<id>         of=<the piece it describes>, json=<fields that the piece does not hold>
    @ALF_IDENTITY  @ALF_PRINCIPALS  @ALF_ATTACHMENTS      json=<the document>
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from lifeboat_alf.common import ids
from lifeboat_alf.common.json_shapes import as_object, as_text, texts_in
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf.records.file_pieces import FilePiece
from lifeboat_formats.aicf.syntax import long_values
from lifeboat_formats.aicf.syntax.aicf_times import normalize_time
from lifeboat_formats.aicf.syntax.document_parts import AicfDocument, AicfSection, ItemKind

RECORD = "ALF_RECORD"
IDENTITY, PRINCIPALS, ATTACHMENTS = "ALF_IDENTITY", "ALF_PRINCIPALS", "ALF_ATTACHMENTS"
ID = "alf_id"
"""The cell of a row that holds the id of its record."""

OF, JSON, ABSENT = "of", "json", "absent"
NOT_TOLD = frozenset(("id", "agent_id", "content"))
"""Fields that no extension holds: the piece gives the content, the section's identifier the id."""
_OBJECTS = frozenset(("source", "temporal"))
"""Fields that every record has and that are objects."""


def read_extension(section: AicfSection) -> JsonObject | None:
    """Return the JSON object in an extension section, or None if it cannot be decoded."""
    text = long_values.join_long_field(JSON, _fields(section))
    try:
        found = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _fields(section: AicfSection) -> list[tuple[str, str]]:
    return [(item.key, item.value) for item in section.items if item.kind is ItemKind.PAIR]


def read_extension_document(document: AicfDocument, name: str) -> JsonObject | None:
    """Return the identity or principals document in a file, or None if it has none."""
    section = document.section(name)
    return None if section is None else read_extension(section)


def apply_extensions(document: AicfDocument, pieces: Sequence[FilePiece]) -> None:
    """Assign the ids and fields in extension sections to the pieces that they describe."""
    by_handle = {piece.handle: piece for piece in pieces if piece.made is not None}
    by_id = {piece.made.own[ID]: piece for piece in pieces if piece.made is not None and ID in piece.made.own}
    taken: set[str] = set()
    owners: dict[int, FilePiece] = {}
    # Ids in rows are assigned before those in extension sections, and none twice.
    for record_id, piece in by_id.items():
        if ids.is_uuid(record_id):
            _name(piece, record_id, taken)
    for section in document.named(RECORD):
        pairs = section.pairs()
        handle = pairs[OF].value if OF in pairs else ""
        known = by_id.get(section.ident) or by_handle.get(handle)
        if known is not None and ids.is_uuid(section.ident):
            _name(known, section.ident, taken)
            known.overlay = read_extension(section)
            owners[section.start] = known
    for piece in pieces:
        if piece.made is None and piece.section.name == RECORD:
            piece.about = owners.get(piece.section.start)


def _name(piece: FilePiece, record_id: str, taken: set[str]) -> None:
    if not piece.record_id and record_id not in taken:
        taken.add(record_id)
        piece.record_id = record_id
        piece.heading = (piece.section.name, record_id)


def overlay_record(record: JsonObject, overlay: JsonObject | None) -> JsonObject:
    """Return a record with the fields that an extension adds, changes or removes. White space around the content, which
    no cell can hold, is restored if the text between is unchanged."""
    if overlay is None:
        return record
    gone = {*_absent(overlay)} - NOT_TOLD - _OBJECTS
    fields = {name: value for name, value in _fields_in(overlay).items() if name not in NOT_TOLD}
    said = {name: value for name, value in fields.items() if name not in _OBJECTS or isinstance(value, dict)}
    if "temporal" in said and normalize_time(as_text(said["temporal"].get("created_at"))) is None:
        said["temporal"] = {**said["temporal"], "created_at": record["temporal"]["created_at"]}
    whole = {**{name: value for name, value in record.items() if name not in gone}, **said}
    # The extension repeats the content only to restore white space at its ends.
    spaced = overlay.get("content")
    if isinstance(spaced, str) and spaced.strip() == str(record["content"]).strip():
        whole["content"] = spaced
    return whole


def is_field_stated(name: str, overlay: JsonObject | None) -> bool:
    """Return whether an extension states the value of a field, or that the field is absent."""
    return overlay is not None and (name in _fields_in(overlay) or name in _absent(overlay))


def _absent(overlay: JsonObject) -> list[str]:
    return texts_in(overlay.get(ABSENT))


def _fields_in(overlay: JsonObject) -> JsonObject:
    return as_object(overlay.get("fields"))


def compare_records(record: JsonObject, read: JsonObject, ignored: Collection[str] = ()) -> JsonObject:
    """Return the extension that makes the reader's record `read` equal to `record`, apart from `ignored` fields."""
    names = [name for name in dict.fromkeys((*record, *read)) if name not in NOT_TOLD and name not in ignored]
    fields = {name: record[name] for name in names if name in record and not _same(read.get(name), record[name])}
    absent = sorted(name for name in names if name not in record)
    told: JsonObject = {"fields": fields} if fields else {}
    if absent:
        told[ABSENT] = absent
    if record["content"] != read["content"]:
        told["content"] = record["content"]
    return told


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def build_extension(name: str, ident: str, value: JsonObject, *, of: str = "") -> list[tuple[str, str]]:
    """Return the lines of an extension section: the header, then fields whose values are not escaped yet."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    header = f"@{name}:{ident}" if ident else f"@{name}"
    return [(header, ""), *([(OF, of)] if of else []), *long_values.spell_long_field(JSON, text)]
