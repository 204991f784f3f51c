"""An AICF 3.1 file from memories: sections in the order of the specification, every line numbered, and sections of ours
for what they have no place for. What was written is read again, so that the extensions say exactly what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lifeboat_alf.json_types import JsonObject
from lifeboat_formats.aicf import extension, mapping, planning, reading
from lifeboat_formats.aicf.mapping import OWN
from lifeboat_formats.aicf.pieces import Piece
from lifeboat_formats.aicf.planning import Planned
from lifeboat_formats.aicf.values import escape
from lifeboat_formats.interchange.errors import InterchangeError

_OF_THE_FILE = (OWN, "raw_source_format")
"""What is said anew by every file that holds a memory, where its section is its own."""


@dataclass(frozen=True, slots=True)
class Made:
    """`lines` without numbers and ends; `planned` are the memories in their order; `extended` counts sections of ours
    that stand for memories."""

    lines: list[str]
    planned: list[Planned]
    extended: int


def made(records: Sequence[JsonObject], documents: Mapping[str, JsonObject], *, with_version: bool = True) -> Made:
    """A file of memories, each of which says something; `documents` by the name of their section."""
    planned = planning.plan(records)
    body = list(_body(planned, with_version=with_version))
    found = _again(body, planned)
    if found is None:
        planned = planning.named([planning.plain(record) for record in records])
        body = list(_body(planned, with_version=with_version))
        found = _again(body, planned)
    if found is None:
        raise InterchangeError("the memories cannot be written as AICF: what is written does not read as they are")
    extensions = list(_extensions(found))
    for name, document in documents.items():
        body += _spelled(extension.section_of(name, "", document))
    return Made(body + extensions, planned, sum(line.startswith(f"@{extension.RECORD}:") for line in extensions))


def numbered(lines: Sequence[str], first: int = 1) -> str:
    """Lines as a file, or as what is put behind one."""
    return "".join(f"{number}|{line}\n" for number, line in enumerate(lines, first))


def _body(planned: Sequence[Planned], *, with_version: bool) -> Iterator[str]:
    if with_version:
        yield from _block("@AICF_VERSION", [("version", mapping.VERSION)])
    for each in planned:
        if each.kind in (mapping.SESSION, mapping.CONVERSATION):
            yield from _of_planned(each)
            for state in each.states:
                yield from _block("@STATE", state.fields)
    for kind, header in ((mapping.USER_STATE, "@STATE:user"), (mapping.APP_STATE, "@STATE:app")):
        fields = [field for each in planned if each.kind == kind for field in each.fields]
        yield from _block(header, fields) if fields else ()
    for kind, name in ((mapping.INSIGHT, "@INSIGHTS"), (mapping.DECISION, "@DECISIONS")):
        yield from _rows(name, [each.cells for each in planned if each.kind == kind])
    yield from _rows("@LINKS", planning.links(planned))
    for ident, fields in planning.embeddings(planned):
        yield from _block(f"@EMBEDDING:{ident}", fields)
    for each in planned:
        if each.kind == mapping.CONSOLIDATION:
            yield from _of_planned(each)


def _of_planned(each: Planned) -> list[str]:
    name = next(name for name, kind in planning.BLOCKS.items() if kind == each.kind)
    return _block(f"@{name}:{each.header}" if each.header else f"@{name}", each.fields)


def _block(header: str, fields: planning.Fields) -> list[str]:
    return [header, *(f"{key}={value}" for key, value in fields), ""]


def _rows(header: str, rows: Sequence[str]) -> list[str]:
    return [header, *(f"{header} {row}" for row in rows), ""] if rows else []


def _spelled(section: Sequence[tuple[str, str]]) -> list[str]:
    """A section of ours as lines."""
    (header, _), *fields = section
    return _block(header, [(key, escape(value)) for key, value in fields])


Pairs = list[tuple[Planned, Piece, JsonObject]]


def _again(lines: Sequence[str], planned: Sequence[Planned]) -> Pairs | None:
    """What the reader makes of the lines, beside what was meant; None where memories do not come out one for one."""
    found = list(reading.read(numbered(lines), "memory.aicf").memories())
    order = in_order(planned)
    if len(found) != len(order):
        return None
    pairs = [(each, piece, record) for each, (piece, record) in zip(order, found, strict=True)]
    same = all(each.record["content"].strip() == record["content"].strip() for each, _, record in pairs)
    return pairs if same else None


def in_order(planned: Sequence[Planned]) -> list[Planned]:
    """The memories as they stand in the file."""
    first = [one for each in planned for one in (each, *each.states) if each.kind in _FIRST]
    rest = [each for kind in _THEN for each in planned if each.kind == kind]
    return [*first, *rest]


_FIRST = (mapping.SESSION, mapping.CONVERSATION)
_THEN = (mapping.USER_STATE, mapping.APP_STATE, mapping.INSIGHT, mapping.DECISION, mapping.CONSOLIDATION)


def _extensions(found: Pairs) -> Iterator[str]:
    for each, piece, read in found:
        record = each.record
        ignored = _OF_THE_FILE if isinstance(record.get(OWN), dict) else ()
        told = extension.difference(record, read, ignored)
        if told or read["id"] != record["id"]:
            of = "" if f"{extension.ID}={record['id']}" in each.cells else piece.handle
            yield from _spelled(extension.section_of(extension.RECORD, str(record["id"]), told, of=of))


def plain_file(memories: Sequence[tuple[str, str]]) -> str:
    """A file of texts, each under its id: a row of @INSIGHTS each."""
    records = [{"id": record_id, "content": text} for record_id, text in memories if text.strip()]
    rows = [planning.plain(record).cells for record in records]
    return numbered([*_block("@AICF_VERSION", [("version", mapping.VERSION)]), *_rows("@INSIGHTS", rows)])


def rows_of(memories: Sequence[tuple[str, str]]) -> list[str]:
    """Rows of @INSIGHTS as lines to put behind a file."""
    return _rows("@INSIGHTS", [planning.plain({"id": name, "content": text}).cells for name, text in memories])
