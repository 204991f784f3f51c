"""AICF as a format: a file in, memories out, and back."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lifeboat_adapters.receipts import Fate, Outcome
from lifeboat_alf import codec, layout
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.state import State
from lifeboat_formats.aicf import (
    checking,
    extension,
    layers,
    mapping,
    moments,
    opening,
    outgoing,
    reading,
    relations,
    superseding,
)
from lifeboat_formats.aicf.outgoing import Wish
from lifeboat_formats.aicf.reading import PRIMARY, Read
from lifeboat_formats.interchange.base import BaseFormat
from lifeboat_formats.interchange.cleaning import OPTIONS, Cleaner
from lifeboat_formats.interchange.contract import (
    Finding,
    Kind,
    MappingTable,
    Notice,
    Option,
    Options,
    Reading,
    Surroundings,
    Written,
)
from lifeboat_formats.interchange.errors import SourceRefused

APPLY, DIALECT, PSEUDONYMISE, GZIP = "apply-supersedes", "dialect", "pseudonymise", "gzip"
LARGEST = 256 * 1024 * 1024
"""Bytes of a source, compressed or not; what it may be unpacked is bounded on its own."""

_ENDINGS = (".aicf.gz", ".aicf", ".gz")


class AicfFormat(BaseFormat):
    """`contract.Format`."""

    name = mapping.RUNTIME
    title = "AICF"
    suffixes: tuple[str, ...] = (".aicf", ".aicf.gz")
    options: tuple[Option, ...] = (
        Option(APPLY, "what a link says is superseded no longer counts", reads=True),
        Option(DIALECT, "how the file is written", Kind.CHOICE, outgoing.DIALECTS, outgoing.SAME, writes=True),
        Option(PSEUDONYMISE, "write user_1 for the first user of a session, and so on", writes=True),
        Option(GZIP, "compress the file", writes=True),
        *OPTIONS,
    )

    def recognises(self, source: str, head: bytes) -> bool:
        if "://" in source or source.startswith("stdio:"):
            return False
        return Path(source).name.lower().endswith(self.suffixes)

    @contextmanager
    def read(self, source: str, options: Options, around: Surroundings) -> Iterator[Reading]:
        path = Path(source)
        data = _opened(path)
        name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
        found = reading.read(data, name)
        records = [_portable(record) for _, record in found.memories()]
        if options.get(APPLY) is True:
            records = superseding.applied(records)
        made = Reading(_agent_name(path), records, _entries(found, name, data))
        made.fates = list(_fates(found))
        made.notices = [Notice(finding.code, finding.text, _where(finding)) for finding in _findings(found, data)]
        undated = sum(record["temporal"]["created_at"] == moments.START for record in records)
        if undated:
            made.notices.append(Notice("time_unknown", f"{undated} of its memories have no time: they are dated 1970"))
        yield made

    def losses(self, state: State, options: Options) -> list[Fate]:
        return outgoing.outgoing(state, _wish(options, None)).fates

    def write(self, state: State, target: BinaryIO, options: Options, around: Surroundings) -> Written:
        cleaner = Cleaner.of(options)
        made = outgoing.outgoing(state, _wish(options, cleaner))
        data = made.text.encode("utf-8", "replace")
        target.write(opening.compress(data) if options.get(GZIP) is True else data)
        return Written(made.fates, made.notices, made.figures)

    def check(self, source: str, *, strict: bool) -> Iterable[Finding]:
        return checking.check(_bytes_of(Path(source)), strict=strict, name=Path(source).name)

    def mappings(self) -> Sequence[MappingTable]:
        return mapping.tables()


def _bytes_of(path: Path) -> bytes:
    """Raises SourceRefused for a file that is too large, OSError for one that cannot be read."""
    with path.open("rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise SourceRefused(f"{path} is larger than {LARGEST >> 20} MiB", format_code="file_too_big")
    return data


def _opened(path: Path) -> bytes:
    """What a file says, unpacked. Raises SourceRefused, which names it."""
    try:
        return opening.decompress(_bytes_of(path))
    except SourceRefused as error:
        raise SourceRefused(f"{path}: {error.message}", format_code=error.format_code, where=error.where) from error


def _wish(options: Options, cleaner: Cleaner | None) -> Wish:
    return Wish(str(options.get(DIALECT) or outgoing.SAME), options.get(PSEUDONYMISE) is True, cleaner)


def _agent_name(path: Path) -> str:
    name = path.name
    for ending in _ENDINGS:
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
            break
    return name or mapping.RUNTIME


def _portable(record: JsonObject) -> JsonObject:
    """A record of a file that is no agent's workspace: nobody is its first human."""
    return {**record, "namespace": str(record["namespace"]).replace(PRIMARY, "default")}


def _entries(found: Read, name: str, data: bytes) -> dict[str, bytes]:
    """The file itself, and what it says of the agent and its people."""
    entries = {f"{mapping.RAW}{name}": data}
    identity = extension.document_of(found.document, extension.IDENTITY)
    if identity is not None:
        entries[layout.IDENTITY] = codec.encode(identity)
    principals = layers.people(found.document)
    if principals is not None:
        entries[layout.PRINCIPALS] = codec.encode(principals)
    return entries


def _fates(found: Read) -> Iterator[Fate]:
    """One for each memory, link, vector and state of a turn."""
    for record in found.records.values():
        yield Fate("memory", str(record["id"]), Outcome.ACCEPTED)
    for link in found.relations.links:
        name = f"line {link.item.line}"
        if link.is_resolved:
            yield Fate("link", name, Outcome.ACCEPTED)
        else:
            yield Fate(
                "link", name, Outcome.UNRESOLVED, "an end of it is not in the file; it is kept", "link_unresolved"
            )
    if found.relations.passed_over:
        reason = f"more than {relations.MOST_LINKS:,} are not followed; they are kept in the file"
        fate = Fate("link", "behind those", Outcome.UNRESOLVED, reason, "links_many")
        yield from itertools.repeat(fate, found.relations.passed_over)
    for vector in found.relations.vectors:
        name = f"line {vector.section.line}"
        if vector.problem:
            yield Fate(
                "vector", name, Outcome.TRANSFORMED, f"{vector.problem}; it is kept in the file", "vector_unusable"
            )
        else:
            yield Fate("vector", name, Outcome.ACCEPTED)
    for section in found.document.named("STATE"):
        if section.ident.strip().lower() == "temp":
            reason = "for the turn it was written in; it is kept in the file"
            yield Fate("setting", f"line {section.line}", Outcome.TRANSFORMED, reason, "temp_state")


def _findings(found: Read, data: bytes) -> Iterator[Finding]:
    """What is wrong with the file, each code once."""
    seen: set[str] = set()
    for finding in checking.check(found.document, strict=False):
        if finding.code not in seen:
            seen.add(finding.code)
            yield finding


def _where(finding: Finding) -> str:
    line = "" if finding.line is None else f"line {finding.line}"
    return ", ".join(part for part in (line, finding.where) if part)


FORMAT = AicfFormat()
"""The format."""
