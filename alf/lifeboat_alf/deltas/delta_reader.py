"""Read delta bundles: of this project, of the specification's letter, and of the reference client.

The reference client writes only `delta-manifest.json` and record lines, and its records change in place, by id. This
module checks shapes; `applied_state` checks a delta against its base.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, cast

from lifeboat_alf.archive import archive_layout, sequence_documents
from lifeboat_alf.archive.archive_documents import is_wrapped, read_object, unwrap_document
from lifeboat_alf.archive.snapshot_manifest import check_entries, check_head, version_warnings
from lifeboat_alf.archive.zip_container import ArchiveReader, ContainerLimits
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ArchiveError, BadDocument, UnknownOperation
from lifeboat_alf.memory import memory_records
from lifeboat_alf.redaction import bundle_redactions
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.states.agent_state import NUMBER_LIMIT, GoneRecord, Operation, Sequence, path_key

_LAYERS = {
    "identity": archive_layout.IDENTITY,
    "principals": archive_layout.PRINCIPALS,
    "credentials": archive_layout.CREDENTIALS,
}
_LISTS = ("raw", "artifacts", "documents")
_COMMON = ("alf_version", "created_at", "agent", "sync")
_PLURALS: dict[type, str] = {dict: "objects", list: "lists", str: "strings"}


class DeltaItem(NamedTuple):
    """One changed entry. `entry` names its bytes in the bundle: "" for empty bytes, None when they are missing."""

    path: str
    operation: str
    meta: JsonObject
    sha256: str | None
    base_sha256: str | None
    size: int | None
    entry: str | None
    keeps_leaf: bool = False


class RecordLine(NamedTuple):
    """One line of a delta: the operation and the record's own line. `number` counts from 1."""

    operation: Operation
    id: str
    line: bytes
    number: int


class DeltaReader:
    """An open delta from an untrusted source, checked when opened.

    `manifest` is the whole manifest; `keys` is `lifeboat/keys.json`, None without one. `foreign` says that the delta
    carries no proof of this project: no leaves, no signature. Raises the errors of `zip_container.ArchiveReader`,
    BadDocument, ArchiveError.CHECKSUM and ArchiveError.UNSUPPORTED_VERSION, and SignatureError for a missing record
    that no purge names.
    """

    def __init__(self, source: Path | BinaryIO, limits: ContainerLimits | None = None) -> None:
        self._archive = ArchiveReader(source, limits)
        try:
            self._open()
        except BaseException:
            self._archive.close()
            raise

    def _open(self) -> None:
        self.manifest, name = _manifest(self._archive)
        self.warnings = version_warnings(self.manifest.get("alf_version"))
        self._archive.expect(check_entries(self.manifest, self._archive.names(), manifest=name))
        self._name = name
        self.changes = self._object(self.manifest, "changes")
        self.agent_id = self._text(self._object(self.manifest, "agent"), "id")
        self._sync = self._object(self.manifest, "sync")
        self.base_sequence = self._count(self._sync, "base_sequence")
        self.new_sequence = self._count(self._sync, "new_sequence")
        self._layer_entries: dict[str, str] = {}
        self.foreign = archive_layout.LEAVES not in self._archive
        self.memory = self._object(self.changes, "memory", optional=True)
        self.items = self._all_items()
        self.sequence = self._sequence()
        self.keys = self._optional(archive_layout.KEYS)
        self.purged = bundle_redactions.decode_bundle_redactions(
            self._optional(archive_layout.REDACTIONS), self.agent_id
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._archive.close()

    # Content -----------------------------------------------------------------------------------------------------

    @property
    def head(self) -> JsonObject | None:
        """Return the new head of the manifest; None when it did not change."""
        if "manifest" not in self.changes:
            return None
        return check_head(self._object(self.changes, "manifest"), entry=self._name)

    @property
    def files(self) -> JsonObject:
        """Return {path: record ids in order, or None} for the files whose list changed."""
        return self._object(self.memory, "files", optional=True)

    @property
    def cuts(self) -> JsonObject:
        """Return {path: cuts, or None} for the files whose cuts changed."""
        return self._object(self.changes, "cuts", optional=True)

    @property
    def attachments(self) -> list[JsonObject]:
        """Return the new and changed index objects."""
        return cast(list[JsonObject], self._list(self._attachments(), "put", dict))

    @property
    def removed_attachments(self) -> list[str]:
        return cast(list[str], self._list(self._attachments(), "removed", str))

    @property
    def removed_records(self) -> list[str]:
        return cast(list[str], self._list(self.memory, "removed", str))

    @property
    def redactions(self) -> Redactions:
        """Return at least the redactions that name a leaf of this delta. Signatures are not checked."""
        return self.purged.redactions

    @property
    def gone(self) -> tuple[GoneRecord, ...]:
        """Return the records without a line in the new state, by place."""
        return self.purged.gone

    @property
    def sealed(self) -> list[JsonObject]:
        """Return [{file, to}]: the partitions that this delta closes."""
        return cast(list[JsonObject], self._list(self.memory, "seal", dict))

    def places(self) -> Iterator[tuple[str, int]]:
        """Yield (partition, position) of every line that is not an update, in order; nothing when the delta has no
        places."""
        for run in self._list(self.memory, "places", list):
            if not (len(run) == 3 and isinstance(run[0], str) and all(type(part) is int for part in run[1:])):
                raise self._bad("memory.places", "each position must be a partition name and two whole numbers")
            yield from ((run[0], run[1] + step) for step in range(run[2]))

    def records(self, *, skip_unknown: bool = False) -> Iterator[RecordLine]:
        """Yield the record lines in order.

        Raises BadJson, BadDocument and UnknownOperation naming the line. `skip_unknown` skips lines of an unknown
        operation, as the reference client does.
        """
        name = self.memory.get("file")
        if name is None:
            return
        count = 0
        for number, line in self._archive.lines(self._text(self.memory, "file")):
            if line.strip():
                count += 1
                try:
                    found = _record_line(line, str(name), number)
                except UnknownOperation:
                    if skip_unknown:
                        continue
                    raise
                yield found
        if count != self.memory.get("record_count", count):
            raise BadDocument(
                f"the delta contains {count} records, but its manifest declares {self.memory['record_count']}",
                entry=str(name),
            )

    def read(self, name: str) -> bytes:
        """Return an entry of the bundle; `""` is an empty body. Removes the outer object from documents of other
        writers."""
        data = self.read_as_written(name)
        path = self._layer_entries.get(name)
        if path is None or not self.foreign or not data:
            return data
        document = read_object(data, entry=name)
        return json_codec.encode_pretty(unwrap_document(path, document)) if is_wrapped(path, document) else data

    def read_as_written(self, name: str) -> bytes:
        """Return an entry of the bundle, byte for byte."""
        return self._archive.read(name) if name else b""

    def verify(self) -> None:
        """Read everything to its end to check sizes, CRCs and digests. Raises ArchiveError."""
        for name in self._archive.names():
            self._archive.drain(name)

    def names(self) -> list[str]:
        return self._archive.names()

    # Opening -----------------------------------------------------------------------------------------------------

    def _sequence(self) -> Sequence:
        number = self.new_sequence or self.base_sequence + 1
        if number <= self.base_sequence:
            raise self._bad(
                "sync.new_sequence",
                f"the new sequence number {number} must be larger than the base sequence {self.base_sequence}",
            )
        document = self._optional(archive_layout.SIGNATURE)
        if document is not None:
            signed = sequence_documents.decode_sequence(document)
            if (signed.agent_id, signed.number) != (self.agent_id, number):
                raise BadDocument("the signature belongs to a different sequence", entry=archive_layout.SIGNATURE)
            return signed
        time = self._sync.get("new_timestamp") or self.manifest.get("created_at") or ""
        return Sequence(self.agent_id, number, self.base_sequence, 0, str(time), b"")

    def _optional(self, name: str) -> JsonObject | None:
        return json_codec.decode_object(self._archive.read(name), entry=name) if name in self._archive else None

    def _all_items(self) -> list[DeltaItem]:
        items = [self._item(raw) for name in _LISTS for raw in self._list(self.changes, name, dict)]
        known = {item.path for item in items}
        if len(known) != len(items):
            raise self._bad("changes", "the same path is listed twice")
        for name, path in _LAYERS.items():
            if name in self.changes and path not in known:
                items.append(self._layer(self._object(self.changes, name), path))
        return sorted(items, key=lambda item: path_key(item.path))

    def _layer(self, change: JsonObject, path: str) -> DeltaItem:
        entry = self._text(change, "file")
        if entry not in self._archive:
            raise ArchiveError.MISSING_ENTRY(
                "the manifest lists this document, but the delta does not contain it", entry=entry
            )
        self._layer_entries[entry] = path
        return DeltaItem(path, "put", {}, None, None, None, entry)

    def _item(self, raw: JsonObject) -> DeltaItem:
        path, operation = self._text(raw, "path"), self._text(raw, "operation")
        if operation not in ("put", "patch", "remove"):
            raise UnknownOperation(
                f"{self._name}: the operation {operation!r} for {path} is unknown; expected put, patch or remove"
            )
        entry = raw.get("entry")
        if entry is not None and (not isinstance(entry, str) or (entry and entry not in self._archive)):
            raise ArchiveError.MISSING_ENTRY(f"the new content of {path} is missing from the delta", entry=str(entry))
        size = self._count(raw, "size") if "size" in raw else None
        if operation == "patch" and (not entry or size is None or not raw.get("sha256")):
            raise self._bad(
                path, "a patch must name the entry that contains its bytes, and must have the fields size and sha256"
            )
        digests = [self._text(raw, name) if name in raw else None for name in ("sha256", "base_sha256")]
        meta = self._object(raw, "meta", optional=True)
        return DeltaItem(path, operation, meta, digests[0], digests[1], size, entry, raw.get("leaf") == "base")

    def _attachments(self) -> JsonObject:
        return self._object(self.changes, "attachments", optional=True)

    def _object(self, parent: JsonObject, name: str, *, optional: bool = False) -> JsonObject:
        value = parent.get(name, {} if optional else None)
        if not isinstance(value, dict):
            raise self._bad(name, "the value must be an object")
        return value

    def _list(self, parent: JsonObject, name: str, kind: type) -> list[Any]:
        value = parent.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
            raise self._bad(name, f"the value must be a list of {_PLURALS[kind]}")
        return value

    def _text(self, parent: JsonObject, name: str) -> str:
        value = parent.get(name)
        if not isinstance(value, str):
            raise self._bad(name, "the value must be a string")
        return value

    def _count(self, parent: JsonObject, name: str) -> int:
        value = parent.get(name)
        if type(value) is not int or not 0 <= value < NUMBER_LIMIT:
            raise self._bad(name, "the value must be a whole number of 0 or more")
        return value

    def _bad(self, where: str, what: str) -> BadDocument:
        return BadDocument(f"{where}: {what}", entry=self._name)


def _manifest(archive: ArchiveReader) -> tuple[JsonObject, str]:
    """Return the whole manifest and its name. Where there are two, they must agree."""
    found = {
        name: json_codec.decode_object(archive.read(name), entry=name)
        for name in (archive_layout.MANIFEST, archive_layout.DELTA_MANIFEST)
        if name in archive
    }
    if not found:
        raise ArchiveError.MISSING_ENTRY("the delta contains no manifest", entry=archive_layout.MANIFEST)
    if len(found) == 2:
        _check_twins(found[archive_layout.DELTA_MANIFEST], found[archive_layout.MANIFEST])
    name = next(iter(found))
    return found[name], name


def _check_twins(small: JsonObject, whole: JsonObject) -> None:
    for name in (*_COMMON, "changes"):
        if not _contained(small.get(name), whole.get(name)):
            raise BadDocument(
                f"the field {name} differs between this manifest and {archive_layout.MANIFEST}",
                entry=archive_layout.DELTA_MANIFEST,
            )


def _contained(small: object, whole: object) -> bool:
    """Return whether `whole` contains everything in `small`."""
    if isinstance(small, dict) and isinstance(whole, dict):
        return all(name in whole and _contained(value, whole[name]) for name, value in small.items())
    return small == whole


def _record_line(line: bytes, entry: str, number: int) -> RecordLine:
    """Split the operation from a line. The record's own bytes survive where the operation comes first."""
    operation, own = _split(line)
    if own is None:
        record = json_codec.decode_object(line, entry=entry, line=number)
        operation = record.pop("operation", None)
        own = json_codec.encode_json(record)
    else:
        record = json_codec.decode_object(own, entry=entry, line=number)
    if not isinstance(operation, str) or operation not in memory_records.ENUMS["operation"].values:
        raise UnknownOperation(f"{entry}, line {number}: the operation {operation!r} is unknown")
    if not isinstance(record.get("id"), str):
        raise BadDocument("the field `id` of the record is missing", entry=entry, line=number)
    return RecordLine(cast(Operation, operation), record["id"], own, number)


def _split(line: bytes) -> tuple[Any, bytes | None]:
    for operation in _known_operations():
        prefix = b'{"operation":"%s",' % operation
        if line.startswith(prefix):
            return operation.decode(), b"{" + line[len(prefix) :]
    return None, None


def _known_operations() -> Iterable[bytes]:
    return (b"create", b"update", b"delete")
