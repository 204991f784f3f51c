"""Composes an AICF 3.1 file from memories: sections in the order of the specification, numbered lines, and extension
sections. The composed lines are read back, so that the extensions state exactly what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf import aicf_mapping
from lifeboat_formats.aicf.aicf_mapping import OWN
from lifeboat_formats.aicf.output import section_plan
from lifeboat_formats.aicf.output.section_plan import PlannedMemory
from lifeboat_formats.aicf.records import extension, file_memories
from lifeboat_formats.aicf.records.file_pieces import FilePiece
from lifeboat_formats.aicf.syntax.cell_values import escape_cell
from lifeboat_formats.interchange.errors import InterchangeError

_OF_THE_FILE = (OWN, "raw_source_format")
"""Fields that every file states itself for memories that stand in their own section."""


@dataclass(frozen=True, slots=True)
class ComposedFile:
    """Lines without numbers and terminators, and the planned memories in order. `extended` counts extension sections of
    memories."""

    lines: list[str]
    planned: list[PlannedMemory]
    extended: int


def compose_file(
    records: Sequence[JsonObject], documents: Mapping[str, JsonObject], *, with_version: bool = True
) -> ComposedFile:
    """Compose a file of memories, each with content. `documents` are by section name. Raises InterchangeError if the
    memories do not read back."""
    planned = section_plan.plan_sections(records)
    body = list(_body(planned, with_version=with_version))
    found = _again(body, planned)
    # The special forms do not read back as they are: write every memory as an insight.
    if found is None:
        planned = section_plan.assign_names([section_plan.plan_plain_row(record) for record in records])
        body = list(_body(planned, with_version=with_version))
        found = _again(body, planned)
    if found is None:
        raise InterchangeError(
            "the memories cannot be written as AICF, because reading the file back would give different memories"
        )
    extensions = list(_extensions(found))
    for name, document in documents.items():
        body += _spelled(extension.build_extension(name, "", document))
    return ComposedFile(
        body + extensions, planned, sum(line.startswith(f"@{extension.RECORD}:") for line in extensions)
    )


def number_lines(lines: Sequence[str], first: int = 1) -> str:
    """Join lines with numbers from `first` on."""
    return "".join(f"{number}|{line}\n" for number, line in enumerate(lines, first))


def _body(planned: Sequence[PlannedMemory], *, with_version: bool) -> Iterator[str]:
    if with_version:
        yield from _block("@AICF_VERSION", [("version", aicf_mapping.VERSION)])
    for each in planned:
        if each.kind in (aicf_mapping.SESSION, aicf_mapping.CONVERSATION):
            yield from _of_planned(each)
            for state in each.states:
                yield from _block("@STATE", state.fields)
    for kind, header in ((aicf_mapping.USER_STATE, "@STATE:user"), (aicf_mapping.APP_STATE, "@STATE:app")):
        fields = [field for each in planned if each.kind == kind for field in each.fields]
        yield from _block(header, fields) if fields else ()
    for kind, name in ((aicf_mapping.INSIGHT, "@INSIGHTS"), (aicf_mapping.DECISION, "@DECISIONS")):
        yield from _rows(name, [each.cells for each in planned if each.kind == kind])
    yield from _rows("@LINKS", section_plan.build_link_rows(planned))
    for ident, fields in section_plan.list_embeddings(planned):
        yield from _block(f"@EMBEDDING:{ident}", fields)
    for each in planned:
        if each.kind == aicf_mapping.CONSOLIDATION:
            yield from _of_planned(each)


def _of_planned(each: PlannedMemory) -> list[str]:
    name = next(name for name, kind in section_plan.BLOCKS.items() if kind == each.kind)
    return _block(f"@{name}:{each.header}" if each.header else f"@{name}", each.fields)


def _block(header: str, fields: section_plan.Fields) -> list[str]:
    return [header, *(f"{key}={value}" for key, value in fields), ""]


def _rows(header: str, rows: Sequence[str]) -> list[str]:
    return [header, *(f"{header} {row}" for row in rows), ""] if rows else []


def _spelled(section: Sequence[tuple[str, str]]) -> list[str]:
    """Return an extension section as lines."""
    (header, _), *fields = section
    return _block(header, [(key, escape_cell(value)) for key, value in fields])


Pairs = list[tuple[PlannedMemory, FilePiece, JsonObject]]


def _again(lines: Sequence[str], planned: Sequence[PlannedMemory]) -> Pairs | None:
    """Read the lines back and pair the records with the planned memories. None if they do not match one by one."""
    found = list(file_memories.read_memories(number_lines(lines), "memory.aicf").memories())
    order = order_memories(planned)
    if len(found) != len(order):
        return None
    pairs = [(each, piece, record) for each, (piece, record) in zip(order, found, strict=True)]
    same = all(each.record["content"].strip() == record["content"].strip() for each, _, record in pairs)
    return pairs if same else None


def order_memories(planned: Sequence[PlannedMemory]) -> list[PlannedMemory]:
    """Return the memories in the order in which they stand in the file."""
    first = [one for each in planned for one in (each, *each.states) if each.kind in _FIRST]
    rest = [each for kind in _THEN for each in planned if each.kind == kind]
    return [*first, *rest]


_FIRST = (aicf_mapping.SESSION, aicf_mapping.CONVERSATION)
_THEN = (
    aicf_mapping.USER_STATE,
    aicf_mapping.APP_STATE,
    aicf_mapping.INSIGHT,
    aicf_mapping.DECISION,
    aicf_mapping.CONSOLIDATION,
)


def _extensions(found: Pairs) -> Iterator[str]:
    for each, piece, read in found:
        record = each.record
        ignored = _OF_THE_FILE if isinstance(record.get(OWN), dict) else ()
        told = extension.compare_records(record, read, ignored)
        if told or read["id"] != record["id"]:
            of = "" if f"{extension.ID}={record['id']}" in each.cells else piece.handle
            yield from _spelled(extension.build_extension(extension.RECORD, str(record["id"]), told, of=of))


def compose_plain_file(memories: Sequence[tuple[str, str]]) -> str:
    """Compose a file of texts as rows of @INSIGHTS, each with its id."""
    records = [{"id": record_id, "content": text} for record_id, text in memories if text.strip()]
    rows = [section_plan.plan_plain_row(record).cells for record in records]
    return number_lines([*_block("@AICF_VERSION", [("version", aicf_mapping.VERSION)]), *_rows("@INSIGHTS", rows)])


def build_rows(memories: Sequence[tuple[str, str]]) -> list[str]:
    """Return rows of @INSIGHTS as lines to append to a file."""
    return _rows(
        "@INSIGHTS", [section_plan.plan_plain_row({"id": name, "content": text}).cells for name, text in memories]
    )
