"""Build the manifest of a snapshot (ALF §4.2) from a state's head and the written content, and check it on reading.

A state keeps only the manifest's *head*: the fields that do not follow from the content. `build_manifest` adds the
rest, `derive_head` removes it again, also for archives of other tools. Unknown fields stay in the head.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ArchiveError, BadDocument
from lifeboat_alf.states.agent_state import NUMBER_LIMIT, Sequence

ALF_VERSION = "1.0.0"

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_LAYER_FIELDS = {
    "identity": ("version", "file"),
    "principals": ("count", "file"),
    "credentials": ("count", "file"),
    "memory": ("record_count", "index_file", "has_embeddings", "has_raw_source", "partitions"),
    "attachments": (
        "count",
        "included_count",
        "included_size_bytes",
        "referenced_count",
        "referenced_size_bytes",
        "file",
    ),
}
_SYNC_FIELDS = ("last_sequence", "last_sync_at")
_PARTITION_FIELDS = ("record_count", "checksum")
_DERIVED = ("alf_version", "created_at", "entries", "checksum")
DOCUMENT_FIELDS = "document_fields"
"""Key of the head: {document: unknown fields} of the documents that are derived when an archive is written."""

_COUNTED = ("raw_sources", "raw_state", "sync", "layers", DOCUMENT_FIELDS)
"""Fields of a head to which the manifest adds counts."""

_MADE = ("agent", "partitions", "layers", "sync", "raw_state", DOCUMENT_FIELDS, *_DERIVED)


@dataclass(slots=True)
class ManifestContents:
    """Figures about the content, collected while it is written. None: the layer is missing."""

    identity_version: int | None = None
    principals: int | None = None
    credentials: int | None = None
    record_counts: dict[str, int] = field(default_factory=dict)
    has_index: bool = False
    has_embeddings: bool = False
    raw_runtimes: list[str] = field(default_factory=list)
    included: list[int] = field(default_factory=list)
    referenced: list[int] = field(default_factory=list)


# Writing -------------------------------------------------------------------------------------------------------


def build_manifest(
    head: JsonObject, sequence: Sequence, contents: ManifestContents, digests: Mapping[str, str]
) -> JsonObject:
    """Return the whole manifest. `digests` is {entry: SHA-256 hex of its unpacked bytes} for every entry but the
    manifest."""
    document: JsonObject = {"alf_version": ALF_VERSION, "created_at": sequence.time, "agent": head["agent"]}
    document |= {key: value for key, value in head.items() if key not in _MADE}
    document["raw_sources"] = _union(head.get("raw_sources", []), contents.raw_runtimes)
    document["sync"] = {"last_sequence": sequence.number, "last_sync_at": sequence.time, **head.get("sync", {})}
    document["layers"] = _layers(head, contents, digests)
    raw_state = _raw_state(head, sequence, contents)
    if raw_state:
        document["raw_state"] = raw_state
    document["entries"] = dict(sorted(digests.items()))
    document["checksum"] = entries_checksum(digests)
    return document


def entries_checksum(digests: Mapping[str, str]) -> str:
    """Return `sha256:` and the SHA-256 (hex) over the RFC 8785 form of {entry: SHA-256 hex}."""
    return "sha256:" + hashlib.sha256(json_codec.encode_canonical(dict(digests))).hexdigest()


def partition_entries(head: JsonObject, counts: Mapping[str, int], digests: Mapping[str, str]) -> list[JsonObject]:
    """Return the partition inventory: partitions with records, each with its count and checksum."""
    return [
        {
            "file": item["file"],
            "from": item["from"],
            "to": item.get("to"),
            "record_count": counts[item["file"]],
            "sealed": item["sealed"],
            "checksum": f"sha256:{digests[item['file']]}",
            **{key: value for key, value in item.items() if key not in ("file", "from", "to", "sealed")},
        }
        for item in head.get("partitions", [])
        if counts.get(item["file"])
    ]


def _layers(head: JsonObject, contents: ManifestContents, digests: Mapping[str, str]) -> JsonObject:
    extra: JsonObject = head.get("layers", {})
    layers: JsonObject = {}
    if contents.identity_version is not None or "identity" in extra:
        layers["identity"] = {"version": contents.identity_version or 1, "file": archive_layout.IDENTITY}
    if contents.principals is not None or "principals" in extra:
        layers["principals"] = {"count": contents.principals or 0, "file": archive_layout.PRINCIPALS}
    if contents.credentials is not None or "credentials" in extra:
        layers["credentials"] = {"count": contents.credentials or 0, "file": archive_layout.CREDENTIALS}
    if contents.has_index or "memory" in extra:
        layers["memory"] = _memory_layer(head, contents, digests)
    if contents.included or contents.referenced or "attachments" in extra:
        layers["attachments"] = _attachments_layer(contents)
    for name, fields in extra.items():
        layers[name] = {**layers[name], **fields} if name in layers else fields
    return layers


def _memory_layer(head: JsonObject, contents: ManifestContents, digests: Mapping[str, str]) -> JsonObject:
    return {
        "record_count": sum(contents.record_counts.values()),
        "index_file": archive_layout.MEMORY_INDEX,
        "has_embeddings": contents.has_embeddings,
        "has_raw_source": bool(contents.raw_runtimes),
        "partitions": partition_entries(head, contents.record_counts, digests),
    }


def _attachments_layer(contents: ManifestContents) -> JsonObject:
    return {
        "count": len(contents.included) + len(contents.referenced),
        "included_count": len(contents.included),
        "included_size_bytes": sum(contents.included),
        "referenced_count": len(contents.referenced),
        "referenced_size_bytes": sum(contents.referenced),
        "file": archive_layout.ATTACHMENTS,
    }


def _raw_state(head: JsonObject, sequence: Sequence, contents: ManifestContents) -> JsonObject:
    """Return at which sequence each raw tree was captured. The tree of the agent's own runtime belongs to this sequence
    unless the head states another."""
    own = head["agent"].get("source_runtime")
    made = {own: sequence.number} if own in contents.raw_runtimes else {}
    return {**made, **head.get("raw_state", {})}


def _union(first: Iterable[str], second: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))


# Reading -------------------------------------------------------------------------------------------------------


def derive_head(document: JsonObject, document_fields: JsonObject | None = None) -> JsonObject:
    """Return the head of a checked manifest: everything that `build_manifest` would not make from the content.

    `document_fields` are the unknown fields of `attachments.json` and `memory/index.json`.
    """
    head: JsonObject = {"agent": document["agent"], "partitions": head_partitions(document)}
    number = document.get("sync", {}).get("last_sequence", 0)
    for key, value in document.items():
        if key in head or key in _DERIVED:
            continue
        if key == "raw_state":
            value = _other_raw_states(value, document["agent"].get("source_runtime"), number)
        elif key == "sync":
            value = _without(value, _SYNC_FIELDS)
        elif key == "layers":
            value = _unknown_layer_fields(value)
        if value or key not in ("raw_state", "sync", "layers", "raw_sources"):
            head[key] = value
    if document_fields:
        head[DOCUMENT_FIELDS] = document_fields
    return head


def head_partitions(document: JsonObject) -> list[JsonObject]:
    """Return the partitions of a manifest as a head lists them, without counts."""
    found = []
    for item in document["layers"].get("memory", {}).get("partitions", []):
        known = {
            "file": item["file"],
            "from": item["from"],
            "to": item.get("to"),
            "sealed": bool(item.get("sealed", False)),
        }
        found.append(known | _without(item, (*known, *_PARTITION_FIELDS)))
    return found


def _other_raw_states(value: JsonObject, own: str | None, number: int) -> JsonObject:
    return {runtime: at for runtime, at in value.items() if (runtime, at) != (own, number)}


def _unknown_layer_fields(layers: JsonObject) -> JsonObject:
    """Return layers and layer fields that this version of the format does not know."""
    unknown = {name: _without(layer, _LAYER_FIELDS.get(name, ())) for name, layer in layers.items()}
    return {name: fields for name, fields in unknown.items() if fields or name not in _LAYER_FIELDS}


def _without(value: Any, keys: Iterable[str]) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key not in keys}


def check_version(version: object) -> list[str]:
    """Return warnings about `alf_version`, without the place. 1.x.y is read for every x (ALF §8.2). Raises
    ArchiveError.UNSUPPORTED_VERSION."""
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if match is None:
        raise ArchiveError.UNSUPPORTED_VERSION(
            f"the value {version!r} of the field `alf_version` is not a version number", entry=archive_layout.MANIFEST
        )
    if match[1] != "1":
        raise ArchiveError.UNSUPPORTED_VERSION(
            f"the archive has format version {version}, but this program can read only versions 1.x",
            entry=archive_layout.MANIFEST,
        )
    return [f"the archive has format version {version}, which is a draft"] if match[4] else []


def version_warnings(version: object) -> list[str]:
    """Return warnings about `alf_version` that name the manifest. Raises ArchiveError.UNSUPPORTED_VERSION."""
    return [f"{archive_layout.MANIFEST}: {warning}" for warning in check_version(version)]


def check_manifest(document: JsonObject) -> list[str]:
    """Check a snapshot's manifest and return warnings. Raises ArchiveError.UNSUPPORTED_VERSION, and BadDocument for an
    unreadable one."""
    warnings = version_warnings(document.get("alf_version"))
    agent = _object(document, "agent")
    if not isinstance(agent.get("id"), str):
        raise BadDocument("the field `agent.id` is missing", entry=archive_layout.MANIFEST)
    layers = _object(document, "layers")
    for key in ("sync", "raw_state"):
        if key in document:
            _object(document, key)
    for name in _LAYER_FIELDS:
        if name in layers:
            _check_layer(name, _object(layers, name))
    _check_sources(document)
    if not isinstance(document.get("created_at"), str):
        warnings.append(f"{archive_layout.MANIFEST}: the field `created_at` is missing")
    if "checksum" in document and "entries" not in document:
        warnings.append(
            f"{archive_layout.MANIFEST}: the manifest has a checksum but no list of entries, so the "
            "checksum is not verified"
        )
    return warnings


def check_head(head: JsonObject, *, entry: str) -> JsonObject:
    """Check a head document by the rules of a manifest. Raises BadDocument."""
    partitions = head.get("partitions", [])
    if not isinstance(head.get("agent"), dict) or not isinstance(partitions, list):
        raise BadDocument("the field `agent` is missing, or the field `partitions` is not a list", entry=entry)
    for item in partitions:
        _checked_partition(item)
    return head


def check_head_fits(head: JsonObject, derived: JsonObject, *, entry: str) -> None:
    """Check that a stored head says the same as the one derived from the manifest, so that every reader sees the same
    agent. Raises BadDocument."""
    for key, value in derived.items():
        if key in _COUNTED:
            continue
        known = head.get(key)
        fits = all(item in (known or ()) for item in value) if key == "partitions" else known == value
        if not fits:
            raise BadDocument(f"the value of the field {key} differs from the value in the manifest", entry=entry)


def _check_layer(name: str, layer: JsonObject) -> None:
    for key in ("file", "index_file"):
        if not isinstance(layer.get(key, ""), str):
            raise BadDocument(f"the field layers.{name}.{key} must be a path", entry=archive_layout.MANIFEST)
    partitions = layer.get("partitions", []) if name == "memory" else []
    if not isinstance(partitions, list):
        raise BadDocument("the field `layers.memory.partitions` must be a list", entry=archive_layout.MANIFEST)
    files = [_checked_partition(item) for item in partitions]
    if len(set(files)) != len(files):
        raise BadDocument("the manifest lists the same partition twice", entry=archive_layout.MANIFEST)


def _checked_partition(item: object) -> str:
    if not isinstance(item, dict) or not isinstance(item.get("file"), str) or not isinstance(item.get("from"), str):
        raise BadDocument("a partition in the manifest has no file name or no first day", entry=archive_layout.MANIFEST)
    count = item.get("record_count", 0)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise BadDocument(
            f"the record_count of the partition {item['file']} must be a whole number", entry=archive_layout.MANIFEST
        )
    if not isinstance(item.get("to"), str | None):
        raise BadDocument(f"the last day of the partition {item['file']} must be a date", entry=archive_layout.MANIFEST)
    return str(item["file"])


def _check_sources(document: JsonObject) -> None:
    sources = document.get("raw_sources", [])
    if not isinstance(sources, list) or not all(isinstance(item, str) for item in sources):
        raise BadDocument("the field `raw_sources` must be a list of names of runtimes", entry=archive_layout.MANIFEST)
    number = document.get("sync", {}).get("last_sequence", 0)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < NUMBER_LIMIT:
        raise BadDocument("the field `sync.last_sequence` must be a sequence number", entry=archive_layout.MANIFEST)


def _object(parent: JsonObject, key: str) -> JsonObject:
    value = parent.get(key)
    if not isinstance(value, dict):
        raise BadDocument(f"the field {key} must be an object", entry=archive_layout.MANIFEST)
    return value


def check_entries(
    document: JsonObject, names: Iterable[str], *, manifest: str = archive_layout.MANIFEST
) -> dict[str, str]:
    """Check the entry map of a snapshot's or delta's manifest against its checksum and the names in the file.

    Returns {entry: SHA-256 hex}, {} for a manifest without a map. Raises ArchiveError.CHECKSUM,
    ArchiveError.MISSING_ENTRY, BadDocument.
    """
    entries = document.get("entries")
    if entries is None:
        return {}
    if not isinstance(entries, dict) or not all(isinstance(digest, str) for digest in entries.values()):
        raise BadDocument("the field `entries` must map names of entries to digests", entry=manifest)
    if document.get("checksum") != entries_checksum(entries):
        raise ArchiveError.CHECKSUM("the checksum does not match the list of entries in the manifest", entry=manifest)
    present = set(names) - ({archive_layout.MANIFEST, archive_layout.DELTA_MANIFEST} - set(entries))
    for name in sorted(set(entries) - present):
        raise ArchiveError.MISSING_ENTRY(
            "the manifest lists this entry, but the archive does not contain it", entry=name
        )
    for name in sorted(present - set(entries)):
        raise ArchiveError.CHECKSUM("the archive contains this entry, but the manifest does not list it", entry=name)
    return entries
