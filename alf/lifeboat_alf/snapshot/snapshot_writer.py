"""Write a snapshot: content in path order, then what is derived from it, then the manifest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import chain, groupby
from typing import Any, BinaryIO, cast

from lifeboat_alf.archive import archive_layout, artifact_index, leaf_rows, sequence_documents
from lifeboat_alf.archive.archive_documents import DOCUMENT_LIMIT, count_members, identity_version, read_object
from lifeboat_alf.archive.snapshot_manifest import (
    DOCUMENT_FIELDS,
    ManifestContents,
    build_manifest,
    derive_head,
    partition_entries,
)
from lifeboat_alf.archive.zip_container import LINE_LIMIT, ArchiveWriter, EntryWriter
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ArchiveError, BadDocument
from lifeboat_alf.memory import embeddings
from lifeboat_alf.redaction import bundle_redactions
from lifeboat_alf.redaction.bundle_redactions import BundleRedactions
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, Record, State, path_key

SNAPSHOT_LEVEL = 3
"""Compression level. A sixth faster than 6 for 3 % more bytes."""
_BUFFER = 1 << 20


@dataclass(frozen=True, slots=True)
class SnapshotSummary:
    """Figures of a written snapshot: memory records, artifacts included and only listed, ZIP entries; sizes in
    bytes."""

    records: int
    bytes: int
    included: int
    included_bytes: int
    referenced: int
    referenced_bytes: int
    entries: int


def write_snapshot(
    state: State,
    out: BinaryIO,
    *,
    keys: JsonObject | None = None,
    embeddings_inline: bool = False,
    level: int = SNAPSHOT_LEVEL,
) -> SnapshotSummary:
    """Write a state as an archive. Equal states give equal archives. Records are streamed, never all in memory.

    `keys` is the document for `lifeboat/keys.json`. `embeddings_inline` puts vectors into the records for tools that
    look there; such a file differs from what was signed, so it carries no signature. Raises BadDocument, BadJson and
    ArchiveError.TOO_LARGE for a state that could not be read back.
    """
    counter = _CountingOutput(out)
    archive = ArchiveWriter(cast(BinaryIO, counter), level)
    writing = _SnapshotWriting(state, archive, embeddings_inline)
    writing.content()
    writing.derived(keys)
    writing.manifest()
    archive.close()
    contents = writing.contents
    return SnapshotSummary(
        records=sum(contents.record_counts.values()),
        bytes=counter.written(),
        included=len(contents.included),
        included_bytes=sum(contents.included),
        referenced=len(contents.referenced),
        referenced_bytes=sum(contents.referenced),
        entries=len(archive.digests),
    )


@dataclass
class _SnapshotWriting:
    """A snapshot being written. Call content, derived, manifest in this order."""

    state: State
    archive: ArchiveWriter
    inline: bool
    contents: ManifestContents = field(default_factory=ManifestContents)
    entry_rows: list[bytes] = field(default_factory=list)
    record_rows: bytearray = field(default_factory=bytearray)
    absent: set[str] = field(default_factory=set)
    unsalted: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.head_body = self.state.body(archive_layout.MANIFEST)
        self.head: JsonObject = json_codec.decode_json(self.head_body)
        self.entries = list(self.state.entries())
        self.sequence = self.state.sequence
        self.signed = bool(self.sequence.digest) and not self.inline
        self.redactions = self.state.redactions
        self.vectors = embeddings.StateVectors(self.state) if self.inline else None

    def content(self) -> None:
        """Write entries and partitions in path order."""
        entries = ((entry.path, entry) for entry in self.entries)
        partitions = groupby(self.state.records(), key=lambda record: record.partition)
        parts: Iterator[tuple[str, Entry | Iterator[Record]]] = merge(entries, partitions, key=_part_key)
        for path, part in parts:
            if isinstance(part, Entry):
                self._entry(part)
            else:
                self._partition(path, part)

    def derived(self, keys: JsonObject | None) -> None:
        """Write the documents for other tools (§3.1.9, memory index) and those that hold what ZIP cannot."""
        extra: JsonObject = self.head.get(DOCUMENT_FIELDS, {})
        purged = self._purged()
        files = self._metas_with(entry_metas.RECORDS)
        self.contents.has_index = bool(files or self.contents.record_counts or archive_layout.MEMORY_INDEX in extra)
        self._attachments(extra.get(archive_layout.ATTACHMENTS, {}))
        self._document(archive_layout.CUTS, self._metas_with(entry_metas.CUTS))
        self._document(archive_layout.FILES, self._file_parts())
        if not self._head_follows():
            self.archive.add(archive_layout.HEAD, self.head_body)
        self._document(archive_layout.KEYS, keys)
        if self.signed:
            self.archive.add(archive_layout.LEAVES, b"".join(self.entry_rows) + bytes(self.record_rows), stored=True)
            self._document(archive_layout.REDACTIONS, bundle_redactions.encode_bundle_redactions(purged))
            self._document(archive_layout.SIGNATURE, sequence_documents.encode_sequence(self.sequence))
        self._index(files, extra.get(archive_layout.MEMORY_INDEX, {}))

    def manifest(self) -> None:
        self._document(archive_layout.MANIFEST, self._manifest())

    def _purged(self) -> BundleRedactions:
        """Return the redactions of the archive, and switch the entries to the metas that documents show."""
        if not self.redactions:
            return bundle_redactions.NOTHING
        gone = tuple(self.state.gone())
        leaves_named = [*self.unsalted, *(record.leaf.digest for record in gone)]
        listed = chain.from_iterable(bundle_redactions.listed_records(entry.meta) for entry in self.entries)
        needed = bundle_redactions.select_needed_redactions(self.redactions, leaves_named, listed)
        shown = [_shown(entry, needed) for entry in self.entries]
        pairs = [(old, new) for old, new in zip(self.entries, shown, strict=True) if old.meta != new.meta]
        originals = {old.path: bundle_redactions.parts_read_otherwise(old.meta, new.meta) for old, new in pairs}
        self.entries = shown
        return BundleRedactions(needed, gone, originals)

    # Content ----------------------------------------------------------------------------------------------------

    def _entry(self, entry: Entry) -> None:
        if self.inline and entry.path.startswith(archive_layout.EMBEDDINGS):
            return
        written = entry.path == archive_layout.MANIFEST or not entry_metas.is_file(entry.meta) or self._body(entry)
        if not written:
            self.absent.add(entry.path)
        if not entry.leaf.salt:
            self._check_covered(entry, written)
        self.entry_rows.append(leaf_rows.pack_leaf_row(entry.leaf, absent=not written))
        self._note(entry)

    def _check_covered(self, entry: Entry, written: bool) -> None:
        """Check that bytes without a salt come from a redaction."""
        self.unsalted.append(entry.leaf.digest)
        if self.signed and written and not self.redactions.hold(entry.leaf, self.state.body(entry.path)):
            raise BadDocument(
                "the content of the file cannot be verified, because its hash has no salt", entry=entry.path
            )

    def _body(self, entry: Entry) -> bool:
        """Write the bytes of an entry; return False when no archive holds them or they are missing."""
        if artifact_index.is_referenced(entry.meta):
            return False
        try:
            body = self.state.body(entry.path)
        except BodyAbsent:
            return False
        self.archive.add(entry.path, body)
        self._count_document(entry.path, body)
        return True

    def _count_document(self, path: str, body: bytes) -> None:
        if path not in (archive_layout.IDENTITY, archive_layout.PRINCIPALS, archive_layout.CREDENTIALS):
            return
        document = read_object(body, entry=path)
        if path == archive_layout.IDENTITY:
            self.contents.identity_version = identity_version(document)
        elif path == archive_layout.PRINCIPALS:
            self.contents.principals = count_members(document, "principals")
        else:
            self.contents.credentials = count_members(document, "credentials")

    def _note(self, entry: Entry) -> None:
        if entry.path.startswith(archive_layout.RAW):
            runtime = entry.path.removeprefix(archive_layout.RAW).split("/", 1)[0].removesuffix("-home")
            if runtime not in self.contents.raw_runtimes:
                self.contents.raw_runtimes.append(runtime)
        elif entry.path.startswith(archive_layout.EMBEDDINGS):
            self.contents.has_embeddings = True

    def _partition(self, file: str, records: Iterator[Record]) -> None:
        if all(item["file"] != file for item in self.head.get("partitions", [])):
            raise BadDocument(
                f"the manifest does not list the partition {file}, which contains records",
                entry=archive_layout.MANIFEST,
            )
        with self.archive.stream(file) as entry:
            self.contents.record_counts[file] = self._lines(entry, file, records)

    def _lines(self, entry: EntryWriter, file: str, records: Iterator[Record]) -> int:
        buffer, written = bytearray(), 0
        for record in records:
            line = record.line if self.vectors is None else self.vectors.inline(record)
            if len(line) > LINE_LIMIT or b"\n" in line or not line:
                raise _unwritable(line, file, written + 1)
            if not self.contents.has_embeddings and embeddings.has_inline(line):
                self.contents.has_embeddings = True
            buffer += line
            buffer += b"\n"
            self.record_rows += leaf_rows.pack_leaf_row(record.leaf)
            if not record.leaf.salt:
                self._check_line(record)
            written += 1
            if len(buffer) >= _BUFFER:
                entry.write(bytes(buffer))
                buffer.clear()
        entry.write(bytes(buffer))
        return written

    def _check_line(self, record: Record) -> None:
        self.unsalted.append(record.leaf.digest)
        if self.signed and not self.redactions.hold(record.leaf, record.line):
            raise BadDocument(
                f"the record {record.id} cannot be verified, because its hash has no salt", entry=record.partition
            )

    # Derived ----------------------------------------------------------------------------------------------------

    def _attachments(self, extra: JsonObject) -> None:
        artifacts = [entry for entry in self.entries if entry_metas.ATTACHMENT in entry.meta]
        items = []
        for entry in artifacts:
            digest = entry.sha256 or self.archive.digests.get(entry.path)
            item = artifact_index.encode_artifact(entry._replace(sha256=digest), included=entry.path not in self.absent)
            listed = self.contents.referenced if item["archive_path"] is None else self.contents.included
            listed.append(item["size_bytes"])
            items.append(item)
        threshold = self.head.get("artifact_size_threshold")
        top = {} if threshold is None else {"artifact_size_threshold": threshold}
        if items or extra or archive_layout.ATTACHMENTS in self.head.get(DOCUMENT_FIELDS, {}):
            self._document(archive_layout.ATTACHMENTS, {**top, **extra, "attachments": items})

    def _file_parts(self) -> JsonObject:
        """Return {path: file part of the meta}, with size and digest for entries whose bytes are not in the file."""
        parts: JsonObject = {}
        for entry in self.entries:
            part = entry_metas.file_part(entry.meta)
            if entry.path in self.absent and entry_metas.ATTACHMENT not in entry.meta:
                part["absent"] = {"size": entry.size, "sha256": entry.sha256}
            if part:
                parts[entry.path] = part
        return parts

    def _metas_with(self, key: str) -> JsonObject:
        return {entry.path: entry.meta[key] for entry in self.entries if entry.meta.get(key)}

    def _index(self, files: JsonObject, extra: JsonObject) -> None:
        counts = self.contents.record_counts
        if not self.contents.has_index:
            return
        document = {
            "record_count": sum(counts.values()),
            "partitions": partition_entries(self.head, counts, self.archive.digests),
            "files": files,
        }
        self._document(archive_layout.MEMORY_INDEX, document | extra)

    def _manifest(self) -> JsonObject:
        return build_manifest(self.head, self.sequence, self.contents, self.archive.digests)

    def _head_follows(self) -> bool:
        """Return whether a reader can derive the head document from the manifest, byte for byte."""
        derived = derive_head(self._manifest(), self.head.get(DOCUMENT_FIELDS))
        return json_codec.encode_pretty(derived) == self.head_body

    def _document(self, path: str, document: JsonObject | None) -> None:
        if not document:
            return
        data = json_codec.encode_pretty(document)
        if len(data) > DOCUMENT_LIMIT:
            raise ArchiveError.TOO_LARGE(f"the document is larger than {DOCUMENT_LIMIT} bytes", entry=path)
        self.archive.add(path, data)


def _shown(entry: Entry, known: Redactions) -> Entry:
    """Return an entry with its current meta. An entry that still has the old bytes keeps its cuts."""
    return entry._replace(meta=known.meta(entry.meta, b"" if entry.leaf.salt else entry.leaf.digest))


def _part_key(part: tuple[str, Any]) -> bytes:
    return path_key(part[0])


def _unwritable(line: bytes, file: str, number: int) -> Exception:
    if len(line) > LINE_LIMIT:
        return ArchiveError.TOO_LARGE(f"the record is longer than {LINE_LIMIT} bytes", entry=file, line=number)
    return BadDocument("the record must be one line of JSON", entry=file, line=number)


class _CountingOutput:
    """Counts the bytes written to a binary file, which need not support `tell`."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._count = 0
        self._start = self._place()

    def write(self, data: bytes) -> int:
        self._count += len(data)
        return self._out.write(data)

    def flush(self) -> None:
        self._out.flush()

    def tell(self) -> int:
        return self._out.tell()

    def seek(self, place: int, whence: int = 0) -> int:
        return self._out.seek(place, whence)

    def written(self) -> int:
        end = self._place()
        return self._count if end is None or self._start is None else end - self._start

    def _place(self) -> int | None:
        try:
            return self._out.tell()
        except OSError:
            return None
