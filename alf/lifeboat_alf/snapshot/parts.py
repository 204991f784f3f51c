"""Joining what an archive spreads over several documents: the entries of a state with their meta."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from lifeboat_alf import attachments, layout, metas
from lifeboat_alf.container import check_name
from lifeboat_alf.documents import list_of, object_of
from lifeboat_alf.errors import BadDocument
from lifeboat_alf.json_types import JsonObject

_INDEX_FIELDS = ("record_count", "partitions", "files")
_ATTACHMENTS_FIELDS = ("artifact_size_threshold", "attachments")


@dataclass(frozen=True, slots=True)
class Part:
    """What the documents say about one entry. `size` and `sha256` count only where its bytes are not in the file."""

    meta: JsonObject
    size: int = 0
    sha256: str | None = None
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents that spread metas, {} where the archive has none."""

    files: JsonObject
    index: JsonObject
    cuts: JsonObject
    attachments: JsonObject

    def unknown_fields(self) -> JsonObject:
        """{document: fields} that are kept in the head because nobody here knows them."""
        found = {
            layout.ATTACHMENTS: _unknown(self.attachments, _ATTACHMENTS_FIELDS),
            layout.MEMORY_INDEX: _unknown(self.index, _INDEX_FIELDS),
        }
        return {path: fields for path, fields in found.items() if fields}


def _unknown(document: JsonObject, known: tuple[str, ...]) -> JsonObject:
    return {key: value for key, value in document.items() if key not in known}


def join(documents: Documents, present: Container[str], warnings: list[str]) -> dict[str, Part]:
    """The parts of every entry that any document speaks of. `present` are the content entries of the file.

    What names no entry is warned about and left out. Raises BadDocument and UnsafeEntry.
    """
    artifacts = _artifacts(documents.attachments, present)
    records = object_of(documents.index, "files", entry=layout.MEMORY_INDEX)
    known = {*documents.files, *artifacts}
    for path in documents.files:
        check_name(path)
    for document, paths in ((layout.MEMORY_INDEX, records), (layout.CUTS, documents.cuts)):
        for path in paths:
            if path not in known and path not in present:
                warnings.append(f"{document}: {path} is not in the archive")
    return {
        path: _part(path, documents, records, artifacts.get(path))
        for path in known | set(records) | set(documents.cuts)
        if path in known or path in present
    }


def _part(path: str, documents: Documents, records: JsonObject, artifact: attachments.Attachment | None) -> Part:
    fields = dict(object_of(documents.files, path, entry=layout.FILES))
    absent = fields.pop("absent", None)
    joined = metas.join(
        fields,
        records=list_of(records, path, entry=layout.MEMORY_INDEX),
        attachment=artifact.fields if artifact else None,
        cuts=list_of(documents.cuts, path, entry=layout.CUTS),
    )
    meta = metas.check(path, joined)
    if artifact is not None:
        return Part(meta, artifact.size, artifact.sha256, absent=not artifact.included)
    if absent is not None:
        return Part(meta, *_absent(path, absent), absent=True)
    return Part(meta)


def _absent(path: str, value: Any) -> tuple[int, str | None]:
    size, sha256 = (value.get("size"), value.get("sha256")) if isinstance(value, dict) else (None, None)
    if not isinstance(size, int) or isinstance(size, bool) or not isinstance(sha256, str | None):
        raise BadDocument(f"{path} is absent without its size", entry=layout.FILES)
    return size, sha256


def _artifacts(document: JsonObject, present: Container[str]) -> dict[str, attachments.Attachment]:
    found: dict[str, attachments.Attachment] = {}
    for number, item in enumerate(list_of(document, "attachments", entry=layout.ATTACHMENTS), 1):
        artifact = attachments.from_json(item, present, number=number)
        check_name(artifact.path)
        if artifact.path in found:
            raise BadDocument(f"two attachments speak of {artifact.path}", entry=layout.ATTACHMENTS)
        found[artifact.path] = artifact
    return found
