"""Read a snapshot as a `State`: archives of this project and of any other writer of ALF 1.x."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Self

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import BOM, DOCUMENT_LIMIT, is_wrapped, read_object, unwrap_document
from lifeboat_alf.archive.leaf_rows import LeafRows
from lifeboat_alf.archive.sequence_documents import read_sequence
from lifeboat_alf.archive.snapshot_manifest import (
    check_entries,
    check_head,
    check_head_fits,
    check_manifest,
    derive_head,
)
from lifeboat_alf.archive.zip_container import ArchiveReader, ContainerLimits
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ArchiveError, BadDocument, SignatureError
from lifeboat_alf.redaction import bundle_redactions
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.snapshot.entry_parts import EntryParts, MetaDocuments, join_entry_parts
from lifeboat_alf.snapshot.item_salts import ItemSalts
from lifeboat_alf.snapshot.snapshot_lines import SnapshotLines
from lifeboat_alf.states import entry_metas, merkle
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, GoneRecord, Leaf, Partition, Record

_CHUNK = 1 << 18
_STRICT = (archive_layout.IDENTITY, archive_layout.PRINCIPALS, archive_layout.CREDENTIALS)
_EMPTY = hashlib.sha256().hexdigest()
_PART_OF_NOTHING = EntryParts({})


def _without_empty(meta: JsonObject) -> JsonObject:
    """Return a meta as documents show it, without empty lists."""
    return {key: value for key, value in meta.items() if value or key not in (entry_metas.RECORDS, entry_metas.CUTS)}


class SnapshotReader:
    """An archive as a state. Use it as a context manager. Not thread-safe.

    Opening checks container, version, manifest, checksum of the entry map, and documents. Bytes of entries and record
    lines are checked while they are read; `check` reads all of them. An archive without leaves (of another writer) is
    an unsigned state, whose salts differ in every reader.

    `manifest` is the manifest as read, `head` the head document, `keys` the content of `lifeboat/keys.json`, `warnings`
    oddities that were accepted. Raises the ArchiveError family.
    """

    def __init__(self, source: Path | BinaryIO, limits: ContainerLimits | None = None) -> None:
        self.warnings: list[str] = []
        self._archive = ArchiveReader(source, limits)
        try:
            self._open()
        except BaseException:
            self._archive.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._lines.close()
        self._archive.close()

    # Opening ----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self.manifest = self._required(archive_layout.MANIFEST)
        self.warnings += check_manifest(self.manifest)
        self._digests = check_entries(self.manifest, self._archive.names())
        self._archive.expect(self._digests)
        self._aliases = self._layer_files()
        partitions = self._partition_counts()
        documents = self._documents()
        self._content = self._content_names(set(partitions))
        self._parts = join_entry_parts(documents, self._content.keys(), self.warnings)
        self._expect_artifacts()
        self._head = self._head_body(documents)
        self.head: JsonObject = json_codec.decode_json(self._head)
        self._paths = sorted({archive_layout.MANIFEST, *self._content, *self._parts})
        self._numbers = {path: number for number, path in enumerate(self._paths)}
        self._known: dict[str, Entry] = {}
        self.keys = self._optional(archive_layout.KEYS)
        self.sequence = read_sequence(self.manifest, self._optional(archive_layout.SIGNATURE), self.warnings)
        self._purged = bundle_redactions.decode_bundle_redactions(
            self._optional(archive_layout.REDACTIONS), self.sequence.agent_id
        )
        self._salts = ItemSalts(self._rows(partitions), len(self._paths))
        self._lines = SnapshotLines(self._archive, partitions, self._salts, self.warnings, self._purged)
        self._check_presence()
        self._put_back_metas()
        self._respelled: dict[str, bytes] = {}
        for path in _STRICT:
            if path in self._content and not self._has_nothing(path):
                self._read_layer(path, self._required(self._content[path]))

    def _read_layer(self, path: str, document: JsonObject) -> None:
        """Remove the outer object from a document of another writer. A signed one stays as its digest covers it."""
        if not self.sequence.digest and is_wrapped(path, document):
            self._respelled[path] = json_codec.encode_pretty(unwrap_document(path, document))
            self.warnings.append(
                f"{self._content[path]}: the document was inside an outer object, as the text of the format's "
                "specification shows it; Lifeboat removed the outer object"
            )

    def _required(self, name: str) -> JsonObject:
        data = self._archive.read(name, DOCUMENT_LIMIT)
        if data.startswith(BOM):
            self.warnings.append(f"{name} begins with a byte order mark")
        return read_object(data, entry=name)

    def _optional(self, name: str) -> JsonObject | None:
        return self._required(name) if name in self._archive else None

    def _layer_files(self) -> dict[str, str]:
        """Return {path in a state: entry} of documents under other names (ALF names only examples)."""
        aliases = {}
        for layer, key, path in (
            ("identity", "file", archive_layout.IDENTITY),
            ("principals", "file", archive_layout.PRINCIPALS),
            ("credentials", "file", archive_layout.CREDENTIALS),
            ("attachments", "file", archive_layout.ATTACHMENTS),
            ("memory", "index_file", archive_layout.MEMORY_INDEX),
        ):
            name = self.manifest["layers"].get(layer, {}).get(key, path)
            if name not in self._archive and path not in self._archive:
                self._check_missing(layer, name)
            elif name != path and name in self._archive:
                self._check_alias(name, path)
                aliases[path] = name
        return aliases

    def _check_missing(self, layer: str, name: str) -> None:
        """Check that a listed layer exists. An index can be derived, and an empty layer may be missing."""
        fields = self.manifest["layers"].get(layer)
        if fields is not None and layer != "memory" and fields.get("count") != 0:
            raise ArchiveError.MISSING_ENTRY(
                f"the manifest lists this file as {layer}, but the archive does not contain it", entry=name
            )

    def _check_alias(self, name: str, path: str) -> None:
        if path in self._archive:
            raise BadDocument(
                f"the archive contains both {name} and {path} for the same document", entry=archive_layout.MANIFEST
            )
        if name in (archive_layout.MANIFEST, *archive_layout.DERIVED):
            raise BadDocument(
                f"the document {path} cannot have the name {name}, which is reserved", entry=archive_layout.MANIFEST
            )

    def _partition_counts(self) -> dict[str, int]:
        """Return {partition file: number of records} in the order of the state. Empty partitions are not in the
        archive."""
        counts = {}
        taken = {archive_layout.MANIFEST, *archive_layout.DERIVED, *self._aliases, *self._aliases.values(), *_STRICT}
        for item in self.manifest["layers"].get("memory", {}).get("partitions", []):
            file = item["file"]
            if file in taken:
                raise BadDocument(
                    f"the manifest lists {file} as a partition, but also uses this name for another document",
                    entry=archive_layout.MANIFEST,
                )
            if file in self._archive:
                counts[file] = item.get("record_count", 0)
                self._expect_partition(file, item.get("checksum"))
            elif item.get("record_count", 0):
                raise ArchiveError.MISSING_ENTRY(
                    "the manifest lists this file as a partition, but the archive does not contain it", entry=file
                )
        return dict(sorted(counts.items()))

    def _expect_partition(self, file: str, checksum: object) -> None:
        if isinstance(checksum, str) and checksum.startswith("sha256:"):
            self._expect(file, checksum.removeprefix("sha256:"))

    def _expect_artifacts(self) -> None:
        for path, part in self._parts.items():
            if entry_metas.ATTACHMENT in part.meta and not part.absent:
                if part.size != self._archive.size(self._content[path]):
                    raise ArchiveError.CHECKSUM(
                        "the size of the file differs from the size in the list of attachments", entry=path
                    )
                if part.sha256:
                    self._expect(self._content[path], part.sha256)

    def _expect(self, name: str, digest: str) -> None:
        if self._digests.setdefault(name, digest) != digest:
            raise ArchiveError.CHECKSUM("two documents state different digests for this file", entry=name)

    def _documents(self) -> MetaDocuments:
        def read(path: str) -> JsonObject:
            return self._optional(self._aliases.get(path, path)) or {}

        return MetaDocuments(
            read(archive_layout.FILES),
            read(archive_layout.MEMORY_INDEX),
            read(archive_layout.CUTS),
            read(archive_layout.ATTACHMENTS),
        )

    def _content_names(self, partitions: set[str]) -> dict[str, str]:
        """Return {path in the state: entry} of everything that is neither derived nor a partition."""
        paths = {name: path for path, name in self._aliases.items()}
        content = {paths.get(name, name): name for name in self._archive.names() if name not in partitions}
        return {
            path: name
            for path, name in content.items()
            if path not in (archive_layout.MANIFEST, *archive_layout.DERIVED)
        }

    def _head_body(self, documents: MetaDocuments) -> bytes:
        derived = derive_head(self.manifest, documents.unknown_fields())
        threshold = documents.attachments.get("artifact_size_threshold")
        if threshold is not None:
            derived.setdefault("artifact_size_threshold", threshold)
        if archive_layout.HEAD not in self._archive:
            return json_codec.encode_pretty(derived)
        body = self._archive.read(archive_layout.HEAD, DOCUMENT_LIMIT)
        head = check_head(read_object(body, entry=archive_layout.HEAD), entry=archive_layout.HEAD)
        check_head_fits(head, derived, entry=archive_layout.HEAD)
        return body

    def _rows(self, partitions: dict[str, int]) -> LeafRows | None:
        if not self.sequence.digest:
            return None
        if archive_layout.LEAVES not in self._archive:
            raise ArchiveError.MISSING_ENTRY(
                "the archive is signed but contains no list of hashes", entry=archive_layout.LEAVES
            )
        rows = LeafRows(self._archive.read(archive_layout.LEAVES))
        expected = len(self._paths) + sum(partitions.values())
        if len(rows) != expected:
            raise BadDocument(
                f"the list of hashes has {len(rows)} rows, but the archive needs {expected}",
                entry=archive_layout.LEAVES,
            )
        return rows

    def _check_presence(self) -> None:
        """Check that every entry has bytes or is marked as absent, and that no stored leaf covers present bytes."""
        for path in self._paths:
            part = self._parts.get(path, _PART_OF_NOTHING)
            here = path in self._content or path == archive_layout.MANIFEST or not entry_metas.is_file(part.meta)
            if not here and not part.absent:
                raise ArchiveError.MISSING_ENTRY(
                    "a document mentions this file, but the archive does not contain it", entry=path
                )
            if here and not self._is_covered(self._numbers[path]):
                raise BadDocument(
                    f"the content of {path} cannot be verified, because its hash has no salt",
                    entry=archive_layout.LEAVES,
                )

    def _is_covered(self, number: int) -> bool:
        """Return whether bytes can be checked: by a salt, or by a redaction that names the leaf."""
        stored = self._salts.stored_leaf(number)
        return not stored or (not self._salts.salt(number) and self.redactions.naming(stored) is not None)

    def _has_nothing(self, path: str) -> bool:
        """Return whether a redaction left no byte of an entry."""
        number = self._numbers[path]
        return not self._salts.salt(number) and self.redactions.is_gone(self._salts.stored_leaf(number))

    def _put_back_metas(self) -> None:
        """Restore the metas that digests cover, where the documents show the redacted ones."""
        for path, parts in self._purged.metas.items():
            if path not in self._numbers:
                raise BadDocument(f"{path} is not in the archive", entry=archive_layout.REDACTIONS)
            part, number = self._parts.get(path, _PART_OF_NOTHING), self._numbers[path]
            original = entry_metas.check_meta(path, {**part.meta, **parts})
            leaf = b"" if self._salts.salt(number) else self._salts.stored_leaf(number)
            if _without_empty(self.redactions.meta(original, leaf)) != part.meta:
                raise BadDocument(
                    f"the properties of {path} were changed, and no purge in the archive explains the change",
                    entry=archive_layout.REDACTIONS,
                )
            self._parts[path] = replace(part, meta=original)

    # State ------------------------------------------------------------------------------------------------------

    @property
    def partitions(self) -> list[Partition]:
        """Return the partitions that the head lists."""
        known = ("file", "from", "to", "sealed")
        return [
            Partition(
                item["file"],
                item["from"],
                item.get("to"),
                item["sealed"],
                {key: value for key, value in item.items() if key not in known},
            )
            for item in self.head["partitions"]
        ]

    @property
    def entry_count(self) -> int:
        """Return the number of entries without reading any."""
        return len(self._paths)

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return (self._entry(path) for path in self._paths if path.startswith(prefix))

    def entry(self, path: str) -> Entry | None:
        return self._entry(path) if path in self._numbers else None

    def body(self, path: str) -> bytes:
        if path == archive_layout.MANIFEST:
            return self._head
        with self.open(path) as stream:
            return stream.read()

    def open(self, path: str) -> BinaryIO:
        """Return the bytes of an entry as a stream. Raises as `body` does."""
        if path in self._respelled:
            return io.BytesIO(self._respelled[path])
        if path in self._content:
            return self._archive.open(self._content[path])
        part = self._parts[path]
        if part.absent:
            raise BodyAbsent(path)
        return io.BytesIO()

    def records(self, partition: str | None = None) -> Iterator[Record]:
        return self._lines.records(partition)

    def record(self, record_id: str) -> Record | None:
        return self._lines.record(record_id)

    def gone(self) -> Iterator[GoneRecord]:
        """Yield the places of purged records."""
        return iter(self._purged.gone)

    @property
    def redactions(self) -> Redactions:
        return self._purged.redactions

    def check(self) -> None:
        """Read everything once: sizes, CRCs, digests, strict JSON, counts, ids, and the state digest when it is known.

        Signatures are not checked. Raises the ArchiveError family and SignatureError.
        """
        for entry in self.entries():
            is_history = entry.path.startswith(archive_layout.HISTORY) and entry.path in self._content
            if is_history and not self._has_nothing(entry.path):
                self._required(self._content[entry.path])
        self._lines.check()
        if self.sequence.digest and merkle.state_digest(self, check_bodies=False) != self.sequence.digest:
            raise SignatureError("the content of the archive does not match its signed digest")

    def _entry(self, path: str) -> Entry:
        if path not in self._known:
            self._known[path] = self._made(path)
        return self._known[path]

    def _made(self, path: str) -> Entry:
        part = self._parts.get(path, _PART_OF_NOTHING)
        number = self._numbers[path]
        if not self._salts.salt(number) and not part.absent:
            return self._replaced(path, part, Leaf(self._salts.stored_leaf(number)))
        if path == archive_layout.MANIFEST:
            leaf = self._salts.leaf(number, self._head)
            return Entry(path, part.meta, leaf, len(self._head), hashlib.sha256(self._head).hexdigest())
        if path in self._content:
            return self._measured(path, part, number)
        if part.absent:
            return Entry(path, part.meta, self._salts.absent(number), part.size, part.sha256)
        return Entry(path, part.meta, self._salts.leaf(number, b""), 0, _EMPTY)

    def _replaced(self, path: str, part: EntryParts, leaf: Leaf) -> Entry:
        """Return an entry whose bytes come from a redaction. Raises SignatureError for any other bytes."""
        body = self.body(path)
        if not self.redactions.hold(leaf, body):
            raise SignatureError(f"{path} was changed after a purge")
        return Entry(path, part.meta, leaf, len(body), None)

    def _measured(self, path: str, part: EntryParts, number: int) -> Entry:
        """Return an entry with leaf and digest computed from its bytes in one pass."""
        salt = self._salts.salt(number)
        salted, plain, size = hashlib.sha256(salt), hashlib.sha256(), 0
        with self.open(path) as stream:
            while chunk := stream.read(_CHUNK):
                salted.update(chunk)
                plain.update(chunk)
                size += len(chunk)
        return Entry(path, part.meta, Leaf(salted.digest(), salt), size, plain.hexdigest())
