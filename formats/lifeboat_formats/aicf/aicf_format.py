"""AICF as a format for conversions: reads a file as memories and writes memories as a file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aicf import aicf_mapping
from lifeboat_formats.aicf.output import file_export
from lifeboat_formats.aicf.output.file_export import AicfExportOptions
from lifeboat_formats.aicf.records import extension, file_memories, identity_layers, piece_relations, superseding
from lifeboat_formats.aicf.records.file_memories import PRIMARY, FileMemories
from lifeboat_formats.aicf.syntax import aicf_times, file_checks, file_encoding
from lifeboat_formats.interchange.cleaning import OPTIONS, Cleaner
from lifeboat_formats.interchange.contract import (
    ConversionContext,
    Format,
    FormatFinding,
    FormatNotice,
    FormatOption,
    FormatReading,
    FormatWriteResult,
    MappingTable,
    OptionKind,
    Options,
)
from lifeboat_formats.interchange.errors import SourceRefused

APPLY, DIALECT, PSEUDONYMISE, GZIP = "apply-supersedes", "dialect", "pseudonymise", "gzip"
LARGEST = 256 * 1024 * 1024
"""Largest source in bytes, compressed or not. The unpacked size has its own limit."""

_ENDINGS = (".aicf.gz", ".aicf", ".gz")


class AicfFormat(Format):
    """Implementation of `contract.Format` for AICF files."""

    name = aicf_mapping.RUNTIME
    title = "AICF"
    suffixes: tuple[str, ...] = (".aicf", ".aicf.gz")
    options: tuple[FormatOption, ...] = (
        FormatOption(APPLY, "mark memories as superseded if a link names their replacement", reads=True),
        FormatOption(
            DIALECT, "AICF version to write", OptionKind.CHOICE, file_export.DIALECTS, file_export.SAME, writes=True
        ),
        FormatOption(PSEUDONYMISE, "replace user names with numbered names (user_1)", writes=True),
        FormatOption(GZIP, "compress the file with gzip", writes=True),
        *OPTIONS,
    )

    def recognises(self, source: str, head: bytes) -> bool:
        if "://" in source or source.startswith("stdio:"):
            return False
        return Path(source).name.lower().endswith(self.suffixes)

    @contextmanager
    def read(self, source: str, options: Options, around: ConversionContext) -> Iterator[FormatReading]:
        path = Path(source)
        data = _opened(path)
        name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
        found = file_memories.read_memories(data, name)
        records = [_portable(record) for _, record in found.memories()]
        if options.get(APPLY) is True:
            records = superseding.apply_supersedes(records)
        made = FormatReading(_agent_name(path), records, _entries(found, name, data))
        made.fates = list(_fates(found))
        made.notices = [FormatNotice(finding.code, finding.text, _where(finding)) for finding in _findings(found, data)]
        undated = sum(record["temporal"]["created_at"] == aicf_times.START for record in records)
        if undated:
            made.notices.append(
                FormatNotice(
                    "time_unknown", f"{undated} of the memories in the file have no time; their date is set to 1970"
                )
            )
        yield made

    def losses(self, state: State, options: Options) -> list[ItemFate]:
        return file_export.export_file(state, _wish(options, None)).fates

    def write(self, state: State, target: BinaryIO, options: Options, around: ConversionContext) -> FormatWriteResult:
        cleaner = Cleaner.of(options)
        made = file_export.export_file(state, _wish(options, cleaner))
        data = made.text.encode("utf-8", "replace")
        target.write(file_encoding.compress_bytes(data) if options.get(GZIP) is True else data)
        return FormatWriteResult(made.fates, made.notices, made.figures)

    def check(self, source: str, *, strict: bool) -> Iterable[FormatFinding]:
        return file_checks.check_file(_bytes_of(Path(source)), strict=strict, name=Path(source).name)

    def mappings(self) -> Sequence[MappingTable]:
        return aicf_mapping.build_mapping_tables()


def _bytes_of(path: Path) -> bytes:
    """Read a source. Raises SourceRefused if it is too large, OSError if it cannot be read."""
    with path.open("rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise SourceRefused(f"{path} is larger than {LARGEST >> 20} MiB", format_code="file_too_big")
    return data


def _opened(path: Path) -> bytes:
    """Read and decompress a source. Raises SourceRefused, which names the file."""
    try:
        return file_encoding.decompress_bytes(_bytes_of(path))
    except SourceRefused as error:
        raise SourceRefused(f"{path}: {error.message}", format_code=error.format_code, where=error.where) from error


def _wish(options: Options, cleaner: Cleaner | None) -> AicfExportOptions:
    return AicfExportOptions(str(options.get(DIALECT) or file_export.SAME), options.get(PSEUDONYMISE) is True, cleaner)


def _agent_name(path: Path) -> str:
    name = path.name
    for ending in _ENDINGS:
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
            break
    return name or aicf_mapping.RUNTIME


def _portable(record: JsonObject) -> JsonObject:
    """Return a record without the placeholder for the first human: a single file belongs to no agent."""
    return {**record, "namespace": str(record["namespace"]).replace(PRIMARY, "default")}


def _entries(found: FileMemories, name: str, data: bytes) -> dict[str, bytes]:
    """Return the file itself and the identity and principals documents in it."""
    entries = {f"{aicf_mapping.RAW}{name}": data}
    identity = extension.read_extension_document(found.document, extension.IDENTITY)
    if identity is not None:
        entries[archive_layout.IDENTITY] = json_codec.encode_json(identity)
    principals = identity_layers.build_principals(found.document)
    if principals is not None:
        entries[archive_layout.PRINCIPALS] = json_codec.encode_json(principals)
    return entries


def _fates(found: FileMemories) -> Iterator[ItemFate]:
    """Yield one fate for each memory, link, vector and temporary state."""
    for record in found.records.values():
        yield ItemFate("memory", str(record["id"]), ItemOutcome.ACCEPTED)
    for link in found.relations.links:
        name = f"line {link.item.line}"
        if link.is_resolved:
            yield ItemFate("link", name, ItemOutcome.ACCEPTED)
        else:
            yield ItemFate(
                "link",
                name,
                ItemOutcome.UNRESOLVED,
                "the link refers to an item that is not in the file; the link is kept",
                "link_unresolved",
            )
    if found.relations.passed_over:
        reason = (
            f"only the first {piece_relations.MOST_LINKS:,} links were imported as relations; the other links "
            "stay in the stored file"
        )
        fate = ItemFate("link", "the other links", ItemOutcome.UNRESOLVED, reason, "links_many")
        yield from itertools.repeat(fate, found.relations.passed_over)
    for vector in found.relations.vectors:
        name = f"line {vector.section.line}"
        if vector.problem:
            yield ItemFate(
                "vector",
                name,
                ItemOutcome.TRANSFORMED,
                f"{vector.problem}; the vector stays in the stored file",
                "vector_unusable",
            )
        else:
            yield ItemFate("vector", name, ItemOutcome.ACCEPTED)
    for section in found.document.named("STATE"):
        if section.ident.strip().lower() == "temp":
            reason = (
                "a temporary state is valid for one turn only, so it did not become a memory; it stays in the "
                "stored file"
            )
            yield ItemFate("setting", f"line {section.line}", ItemOutcome.TRANSFORMED, reason, "temp_state")


def _findings(found: FileMemories, data: bytes) -> Iterator[FormatFinding]:
    """Yield the first finding of each code."""
    seen: set[str] = set()
    for finding in file_checks.check_file(found.document, strict=False):
        if finding.code not in seen:
            seen.add(finding.code)
            yield finding


def _where(finding: FormatFinding) -> str:
    line = "" if finding.line is None else f"line {finding.line}"
    return ", ".join(part for part in (line, finding.where) if part)


FORMAT = AicfFormat()
"""The AICF format."""
