"""From a file to memory records: the one mapping that the folder's adapter and the format share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lifeboat_adapters.contract import Section
from lifeboat_alf import ids
from lifeboat_alf.json_types import JsonObject
from lifeboat_formats.aicf import document as documents
from lifeboat_formats.aicf import extension, mapping, pieces, relations
from lifeboat_formats.aicf.mapping import OWN, RUNTIME
from lifeboat_formats.aicf.moments import created, milliseconds
from lifeboat_formats.aicf.parts import Document
from lifeboat_formats.aicf.pieces import Piece
from lifeboat_formats.aicf.relations import Relations
from lifeboat_formats.aicf.spelling import without_none
from lifeboat_formats.interchange.changed import marked

PRIMARY = "{primary}"
"""Stands for the first human among the agent's principals until it is known."""


@dataclass(slots=True)
class Read:
    """A file: its pieces in order, the record of each memory by the place of its piece, and what its sections say of
    each other. Records have everything but `agent_id`."""

    document: Document
    pieces: list[Piece]
    records: dict[int, JsonObject]
    relations: Relations

    def memories(self) -> Iterator[tuple[Piece, JsonObject]]:
        """The memories in their order."""
        return ((self.pieces[place], record) for place, record in self.records.items())


def read(data: bytes | str, file: str) -> Read:
    """Raises SourceRefused for a file that is none."""
    return of_document(documents.parse(data, name=file), file)


def of_document(document: Document, file: str) -> Read:
    """The memories of a file; the same file gives the same records every time."""
    found = pieces.pieces_of(document)
    extension.apply(document, found)
    first = min((piece.made.event for piece in found if piece.made is not None and piece.made.event), default=None)
    for piece in found:
        if piece.made is not None and not piece.record_id:
            key = "\0".join((RUNTIME, file, *piece.handle.split(":", 1)))
            piece.record_id = ids.derived(milliseconds(_time(piece, first)), key)
    said = relations.relate(found)
    records = dict(_records(document, found, file, first))
    return Read(document, found, records, said)


def _records(
    document: Document, found: Sequence[Piece], file: str, first: str | None
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


def _between(document: Document, found: Sequence[Piece]) -> str:
    """What stands between two memories, without what is only for the turn it was written in, and what is about one
    memory: that goes with it, wherever it stood."""
    stays = (piece for piece in found if not _is_of_the_turn(piece) and piece.about is None)
    return "".join(document.text[piece.start : piece.end] for piece in stays)


def _about(document: Document, found: Sequence[Piece]) -> dict[int, list[list[Any]]]:
    """What is about one memory alone, by the identity of its piece: each as the number of memories before it, where it
    stands in what is between those, and its text."""
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


def _is_of_the_turn(piece: Piece) -> bool:
    return piece.section.name == "STATE" and piece.section.ident.strip().lower() == "temp"


def _time(piece: Piece, first: str | None) -> str | None:
    """When a piece was known: its own time, else the end of its conversation, else the first time in the file."""
    assert piece.made is not None
    conversation = piece.conversation.made if piece.conversation is not None else None
    inherited = (conversation.until or conversation.event) if conversation is not None else None
    return piece.made.event or inherited or first


def _record(document: Document, piece: Piece, file: str, stands: JsonObject, first: str | None) -> JsonObject:
    made = piece.made
    assert made is not None
    kind, when = mapping.KINDS[made.kind], _time(piece, first)
    detail = str(made.own.get("name") or "") if made.kind == mapping.UNKNOWN else piece.section.group.lower()
    fields = without_none(made.fields)
    temporal = without_none(fields.pop("temporal", {}))
    source = without_none(fields.pop("source", {}))
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
        "temporal": {"created_at": created(when), **temporal},
        "status": "active",
        "namespace": _namespace(piece),
        "category": mapping.category_of(made.kind, detail),
        **fields,
        "raw_source_format": {RUNTIME: _raw_source(document, piece)},
    }
    if piece.related:
        record["related_records"] = list(piece.related.values())
    if piece.embeddings:
        record["embeddings"] = list(piece.embeddings)
    inferred = {"observed": "inferred"} if when and made.event is None else {}
    literal = without_none({**made.own, **piece.own, **inferred})
    literal.pop(extension.ID, None)
    whole = extension.overlaid(record, piece.overlay)
    if extension.speaks_of(OWN, piece.overlay):
        return whole
    return marked(whole, OWN, {**literal, **stands})


def _namespace(piece: Piece) -> str:
    assert piece.made is not None
    if piece.made.kind != mapping.USER_STATE:
        return "default"
    return f"principal_context:{principal_id(piece.user) if piece.user else PRIMARY}"


def principal_id(user: str) -> str:
    """The id of a user by the name that files have for them."""
    return ids.derived(0, f"{RUNTIME}\0principal\0{user}")


def _raw_source(document: Document, piece: Piece) -> JsonObject:
    """How the piece was written, but for its place, which any line before it moves."""
    return without_none(
        {
            "dialect": document.dialect.value,
            "version": document.version,
            "section": piece.section.header or piece.section.name,
        }
    )


def sections(text: str, file: str) -> list[Section]:
    """The pieces as capture wants them: joining their contents gives the text again."""
    found = read(text, file)
    whole = found.document.text
    made: list[Section] = []
    bom = text[: len(text) - len(whole)] if text.endswith(whole) else ""
    if bom:
        made.append(Section(bom, memory=""))
    for place, piece in enumerate(found.pieces):
        content = whole[piece.start : piece.end]
        record = found.records.get(place)
        if record is None:
            made.append(Section(content, memory=""))
            continue
        fields = {name: value for name, value in record.items() if name not in _OF_CAPTURE}
        made.append(Section(content, piece.heading, fields, record["content"], piece.record_id))
    return made


_OF_CAPTURE = ("id", "content", "supersedes")
"""Fields that a capture decides for itself."""
