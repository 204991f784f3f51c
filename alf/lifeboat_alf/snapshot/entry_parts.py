"""Join the entries of a state with the meta that an archive spreads over several documents."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from lifeboat_alf.archive import archive_layout, artifact_index
from lifeboat_alf.archive.archive_documents import list_of, read_object_field
from lifeboat_alf.archive.zip_container import check_name
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadDocument
from lifeboat_alf.states import entry_metas

_INDEX_FIELDS = ("record_count", "partitions", "files")
_ATTACHMENTS_FIELDS = ("artifact_size_threshold", "attachments")


@dataclass(frozen=True, slots=True)
class EntryParts:
    """What the documents say about one entry. `size` and `sha256` count only where its bytes are not in the file."""

    meta: JsonObject
    size: int = 0
    sha256: str | None = None
    absent: bool = False


@dataclass(frozen=True, slots=True)
class MetaDocuments:
    """The documents that spread metas; {} for a missing one."""

    files: JsonObject
    index: JsonObject
    cuts: JsonObject
    attachments: JsonObject

    def unknown_fields(self) -> JsonObject:
        """Return {document: unknown fields}. The head keeps them."""
        found = {
            archive_layout.ATTACHMENTS: _unknown(self.attachments, _ATTACHMENTS_FIELDS),
            archive_layout.MEMORY_INDEX: _unknown(self.index, _INDEX_FIELDS),
        }
        return {path: fields for path, fields in found.items() if fields}


def _unknown(document: JsonObject, known: tuple[str, ...]) -> JsonObject:
    return {key: value for key, value in document.items() if key not in known}


def join_entry_parts(documents: MetaDocuments, present: Container[str], warnings: list[str]) -> dict[str, EntryParts]:
    """Return the parts of every entry that any document names. `present` are the content entries of the file.

    Parts that match no entry are dropped with a warning. Raises BadDocument and UnsafeEntry.
    """
    artifacts = _artifacts(documents.attachments, present)
    records = read_object_field(documents.index, "files", entry=archive_layout.MEMORY_INDEX)
    known = {*documents.files, *artifacts}
    for path in documents.files:
        check_name(path)
    for document, paths in ((archive_layout.MEMORY_INDEX, records), (archive_layout.CUTS, documents.cuts)):
        for path in paths:
            if path not in known and path not in present:
                warnings.append(f"{document} mentions the file {path}, which is not in the archive")
    return {
        path: _part(path, documents, records, artifacts.get(path))
        for path in known | set(records) | set(documents.cuts)
        if path in known or path in present
    }


def _part(
    path: str, documents: MetaDocuments, records: JsonObject, artifact: artifact_index.Attachment | None
) -> EntryParts:
    fields = dict(read_object_field(documents.files, path, entry=archive_layout.FILES))
    absent = fields.pop("absent", None)
    joined = entry_metas.join_meta_parts(
        fields,
        records=list_of(records, path, entry=archive_layout.MEMORY_INDEX),
        attachment=artifact.fields if artifact else None,
        cuts=list_of(documents.cuts, path, entry=archive_layout.CUTS),
    )
    meta = entry_metas.check_meta(path, joined)
    if artifact is not None:
        return EntryParts(meta, artifact.size, artifact.sha256, absent=not artifact.included)
    if absent is not None:
        return EntryParts(meta, *_absent(path, absent), absent=True)
    return EntryParts(meta)


def _absent(path: str, value: Any) -> tuple[int, str | None]:
    size, sha256 = (value.get("size"), value.get("sha256")) if isinstance(value, dict) else (None, None)
    if not isinstance(size, int) or isinstance(size, bool) or not isinstance(sha256, str | None):
        raise BadDocument(
            f"the size of {path} is missing, although the archive does not contain its content",
            entry=archive_layout.FILES,
        )
    return size, sha256


def _artifacts(document: JsonObject, present: Container[str]) -> dict[str, artifact_index.Attachment]:
    found: dict[str, artifact_index.Attachment] = {}
    for number, item in enumerate(list_of(document, "attachments", entry=archive_layout.ATTACHMENTS), 1):
        artifact = artifact_index.decode_artifact(item, present, number=number)
        check_name(artifact.path)
        if artifact.path in found:
            raise BadDocument(f"two attachments have the same path {artifact.path}", entry=archive_layout.ATTACHMENTS)
        found[artifact.path] = artifact
    return found
