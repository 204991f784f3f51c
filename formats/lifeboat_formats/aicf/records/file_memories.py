"""Converts a file to memory records, for the adapter and the format alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lifeboat_adapters.contract import MemorySection
from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf import aicf_mapping
from lifeboat_formats.aicf.aicf_mapping import OWN, RUNTIME
from lifeboat_formats.aicf.records import extension, file_pieces, piece_relations
from lifeboat_formats.aicf.records.file_pieces import FilePiece
from lifeboat_formats.aicf.records.piece_relations import FileRelations
from lifeboat_formats.aicf.syntax import document as documents
from lifeboat_formats.aicf.syntax.aicf_times import START, to_milliseconds
from lifeboat_formats.aicf.syntax.document_parts import AicfDocument
from lifeboat_formats.aicf.syntax.long_values import drop_none
from lifeboat_formats.interchange.change_marks import mark_record

PRIMARY = "{primary}"
"""Placeholder for the first human among the agent's principals."""


@dataclass(slots=True)
class FileMemories:
    """A file with its pieces in order, its records by the place of their piece, and the relations between them. Records
    have every field but `agent_id`."""

    document: AicfDocument
    pieces: list[FilePiece]
    records: dict[int, JsonObject]
    relations: FileRelations

    def memories(self) -> Iterator[tuple[FilePiece, JsonObject]]:
        """Yield the memories in order, with their pieces."""
        return ((self.pieces[place], record) for place, record in self.records.items())


def read_memories(data: bytes | str, file: str) -> FileMemories:
    """Read the memories of a file. Raises SourceRefused."""
    return read_document_memories(documents.parse_document(data, name=file), file)


def read_document_memories(document: AicfDocument, file: str) -> FileMemories:
    """Return the memories of a parsed file. The same file always gives the same records."""
    found = file_pieces.split_pieces(document)
    extension.apply_extensions(document, found)
    first = min((piece.made.event for piece in found if piece.made is not None and piece.made.event), default=None)
    for piece in found:
        # Memories without an id of their own get one that depends on the file, their handle and their time only.
        if piece.made is not None and not piece.record_id:
            key = "\0".join((RUNTIME, file, *piece.handle.split(":", 1)))
            piece.record_id = ids.derive_id(to_milliseconds(_time(piece, first)), key)
    said = piece_relations.relate_pieces(found)
    records = dict(_records(document, found, file, first))
    return FileMemories(document, found, records, said)


def _records(
    document: AicfDocument, found: Sequence[FilePiece], file: str, first: str | None
) -> Iterator[tuple[int, JsonObject]]:
    memories = [place for place, piece in enumerate(found) if piece.made is not None]
    is_cut = any(_is_of_the_turn(piece) for piece in found)
    about = _about(document, found)
    before = 0
    for number, place in enumerate(memories):
        piece = found[place]
        lead = _between(document, found[before:place])
        tail = _between(document, found[place + 1 :]) if place == memories[-1] else ""
        before = place + 1
        stands = {
            "file": file,
            "dialect": document.dialect.value,
            "section": piece.section.name,
            "header": piece.section.ident,
            "at": number,
            "of": len(memories),
            "lead": lead,
            "span": document.text[piece.start : piece.end],
            "tail": tail,
            "about": about.get(id(piece)),
            "bom": document.bom,
            "cut": is_cut,
        }
        yield place, _record(document, piece, file, {name: value for name, value in stands.items() if value}, first)


def _between(document: AicfDocument, found: Sequence[FilePiece]) -> str:
    """Return the text between two memories, without temporary state and without sections that describe one memory:
    those move with their memory."""
    stays = (piece for piece in found if not _is_of_the_turn(piece) and piece.about is None)
    return "".join(document.text[piece.start : piece.end] for piece in stays)


def _about(document: AicfDocument, found: Sequence[FilePiece]) -> dict[int, list[list[Any]]]:
    """Return the sections that describe one memory, by the identity of its piece. Each is given as the number of
    memories before it, its offset in the text between those, and its text."""
    made: dict[int, list[list[Any]]] = {}
    number = offset = 0
    for piece in found:
        if piece.made is not None:
            number, offset = number + 1, 0
        elif piece.about is not None:
            text = document.text[piece.start : piece.end]
            made.setdefault(id(piece.about), []).append([number, offset, text])
        elif not _is_of_the_turn(piece):
            offset += piece.end - piece.start
    return made


def _is_of_the_turn(piece: FilePiece) -> bool:
    return piece.section.name == "STATE" and piece.section.ident.strip().lower() == "temp"


def _time(piece: FilePiece, first: str | None) -> str | None:
    """Return when a piece was known: its own time, else the end of its conversation, else the first time in the
    file."""
    assert piece.made is not None
    conversation = piece.conversation.made if piece.conversation is not None else None
    inherited = (conversation.until or conversation.event) if conversation is not None else None
    return piece.made.event or inherited or first


def _record(document: AicfDocument, piece: FilePiece, file: str, stands: JsonObject, first: str | None) -> JsonObject:
    made = piece.made
    assert made is not None
    kind, when = aicf_mapping.KINDS[made.kind], _time(piece, first)
    detail = str(made.own.get("name") or "") if made.kind == aicf_mapping.UNKNOWN else piece.section.group.lower()
    fields = drop_none(made.fields)
    temporal = drop_none(fields.pop("temporal", {}))
    source = drop_none(fields.pop("source", {}))
    if when and "observed_at" not in temporal:
        temporal["observed_at"] = when
    interaction = piece.conversation.section.ident if piece.conversation is not None else ""
    record: JsonObject = {
        "id": piece.record_id,
        "content": made.text,
        "memory_type": kind.memory_type,
        "source": {
            "runtime": RUNTIME,
            "origin": f"{RUNTIME}:{piece.section.name or document.dialect.value}",
            "origin_file": file,
            "extraction_method": "migrated",
            **({"interaction_id": interaction} if interaction else {}),
            **({"session_id": piece.session} if piece.session else {}),
            **source,
        },
        "temporal": {"created_at": when or START, **temporal},
        "status": "active",
        "namespace": _namespace(piece),
        "category": aicf_mapping.category_of(made.kind, detail),
        **fields,
        "raw_source_format": {RUNTIME: _raw_source(document, piece)},
    }
    if piece.related:
        record["related_records"] = list(piece.related.values())
    if piece.embeddings:
        record["embeddings"] = list(piece.embeddings)
    # The time comes from the conversation or the file, not from the memory itself.
    inferred = {"observed": "inferred"} if when and made.event is None else {}
    literal = drop_none({**made.own, **piece.own, **inferred})
    literal.pop(extension.ID, None)
    whole = extension.overlay_record(record, piece.overlay)
    if extension.is_field_stated(OWN, piece.overlay):
        return whole
    return mark_record(whole, OWN, {**literal, **stands})


def _namespace(piece: FilePiece) -> str:
    assert piece.made is not None
    if piece.made.kind != aicf_mapping.USER_STATE:
        return "default"
    return f"principal_context:{principal_id(piece.user) if piece.user else PRIMARY}"


def principal_id(user: str) -> str:
    """Return the id of the principal for a user name."""
    return ids.derive_id(0, f"{RUNTIME}\0principal\0{user}")


def _raw_source(document: AicfDocument, piece: FilePiece) -> JsonObject:
    """Return how the piece was written. Its position is left out, because any line before it changes that."""
    return drop_none(
        {
            "dialect": document.dialect.value,
            "version": document.version,
            "section": piece.section.header or piece.section.name,
        }
    )


def split_capture_sections(text: str, file: str) -> list[MemorySection]:
    """Return the pieces as a capture expects them: their concatenated contents are the text."""
    found = read_memories(text, file)
    whole = found.document.text
    made: list[MemorySection] = []
    bom = text[: len(text) - len(whole)] if text.endswith(whole) else ""
    if bom:
        made.append(MemorySection(bom, memory=""))
    for place, piece in enumerate(found.pieces):
        content = whole[piece.start : piece.end]
        record = found.records.get(place)
        if record is None:
            made.append(MemorySection(content, memory=""))
            continue
        fields = {name: value for name, value in record.items() if name not in _OF_CAPTURE}
        made.append(MemorySection(content, piece.heading, fields, record["content"], piece.record_id))
    return made


_OF_CAPTURE = ("id", "content", "supersedes")
"""Fields that a capture sets itself."""
