"""Write delta bundles (ALF §4.3): everything that changed between two states of one agent.

The bundle is a ZIP with

    manifest.json           the whole manifest: cursor, `changes`, `entries`, `checksum`
    delta-manifest.json     the part of it that readers of the older name understand
    memory/delta.jsonl      one whole record per line: {"operation":"create"|"update"|"delete", ...the record}
    <path>                  whole new bytes of a file or document, under its own path
    lifeboat/patches/<n>    a zstd patch against the base's bytes, where that is much smaller
    lifeboat/leaves.bin     one row per changed entry (by path) without `leaf`, then one per record line; see
`leaf_rows`
    lifeboat/redactions.json  records that are gone, and the redactions that name what has no salt; see
                              `bundle_redactions`. Metas are those that digests cover
    lifeboat/keys.json      the agent's wrapped keys at the new sequence, whole; missing where they travel apart
    lifeboat/signature.json the signed sequence that this delta leads to

For what a redaction names, in the base or in the delta, neither digest nor patch is written: both would reveal it.

`changes` beyond the published schema:

    raw, artifacts, documents   [{path, operation: put|patch|remove, sha256, base_sha256, size, entry, meta, leaf}];
                                `put` without `entry`: the base's bytes if the digests agree, else bytes not held here;
                                `entry` "": no bytes; `leaf` "base": the base's leaf
    attachments                 {put: [attachment...], removed: [id...]}
    cuts                        {path: [{offset, credential_id}...] | null}
    manifest                    the new head of the manifest
    memory.files                {path: [record ids in order] | null}, changed lists only
    memory.seal                 [{file, to}]: partitions that this delta closes
    memory.removed              [record ids] that the new state lacks
    memory.places               [[partition, first position, how many]...] for the lines that are no updates, in order

A reader applies seal, removals, updates and creates in this order. `delete` of an unknown id appends a tombstone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO

from lifeboat_alf.archive import archive_layout, artifact_index, leaf_rows, sequence_documents
from lifeboat_alf.archive.snapshot_manifest import ALF_VERSION, entries_checksum
from lifeboat_alf.archive.zip_container import ArchiveWriter
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_shapes import as_object, as_text, objects_in
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas import zstd_patch
from lifeboat_alf.deltas.delta_reader import DeltaItem, DeltaReader, RecordLine
from lifeboat_alf.memory import partitions
from lifeboat_alf.redaction import bundle_redactions
from lifeboat_alf.redaction.bundle_redactions import BundleRedactions
from lifeboat_alf.redaction.redactions import NONE, Redactions
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import (
    BodyAbsent,
    Entry,
    EntryChange,
    Leaf,
    Operation,
    RecordChange,
    StateChanges,
    record_place,
)

__all__ = ["DeltaItem", "DeltaReader", "DeltaSummary", "RecordLine", "write_delta"]

_PREFIXES: dict[Operation, bytes] = {
    "create": b'{"operation":"create",',
    "update": b'{"operation":"update",',
    "delete": b'{"operation":"delete",',
}
_RESERVED = archive_layout.DERIVED | {
    archive_layout.MANIFEST,
    archive_layout.DELTA_MANIFEST,
    archive_layout.DELTA_RECORDS,
}
_LAYERS = {
    archive_layout.IDENTITY: "identity",
    archive_layout.PRINCIPALS: "principals",
    archive_layout.CREDENTIALS: "credentials",
}


@dataclass(frozen=True, slots=True)
class DeltaSummary:
    """Content of a delta: record lines, changed entries, how many of them as patches, and its size in bytes."""

    records: int
    entries: int
    patched: int
    bytes: int


@dataclass(slots=True)
class _DeltaBundle:
    """A delta being written."""

    archive: ArchiveWriter
    redactions: Redactions = NONE
    changes: JsonObject = field(default_factory=dict)
    rows: list[bytes] = field(default_factory=list)
    bodies: int = 0
    patched: int = 0

    def body_name(self, folder: str) -> str:
        self.bodies += 1
        return f"lifeboat/{folder}/{self.bodies}"


class _CountingFile:
    """A binary file that counts the bytes written to it."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.written = 0

    def write(self, data: bytes) -> int:
        self.written += len(data)
        return self._out.write(data)

    def flush(self) -> None:
        self._out.flush()


def write_delta(
    changes: StateChanges, out: BinaryIO, *, keys: JsonObject | None = None, level: int = 6
) -> DeltaSummary:
    """Write everything that leads from one state to another. `out` needs no seek and stays open.

    `keys` is the document for `lifeboat/keys.json`, as in a snapshot: a reader that has only files needs the key pairs
    to which newer credentials were sealed. Bodies are read one at a time. Raises UnsafeEntry and ArchiveError.TOO_LARGE
    for what no reader would accept.
    """
    counted = _CountingFile(out)
    bundle = _DeltaBundle(ArchiveWriter(counted, level), changes.redactions or NONE)  # type: ignore[arg-type]
    _add_entries(bundle, changes.entries)
    _add_records(bundle, changes)
    if keys:
        bundle.archive.add(archive_layout.KEYS, json_codec.encode_pretty(keys))
    _add_proof(bundle, changes)
    _add_manifests(bundle, changes)
    bundle.archive.close()
    return DeltaSummary(len(changes.records), len(changes.entries), bundle.patched, counted.written)


# Entries --------------------------------------------------------------------------------------------------------


def _add_entries(bundle: _DeltaBundle, changed: list[EntryChange]) -> None:
    for change in changed:
        if change.path == archive_layout.MANIFEST and _add_head(bundle, change):
            continue
        item = _item(bundle, change)
        bundle.changes.setdefault(_group(change.path), []).append(item)
        if change.entry is not None:
            _add_meta(bundle, change, change.entry)
            _add_row(bundle, item, change.entry.leaf)
        elif name := as_text(as_object(_attachment(change.base)).get("id")):
            _attachments(bundle)["removed"].append(name)
    _add_layers(bundle, changed)


def _group(path: str) -> str:
    if path.startswith(archive_layout.RAW):
        return "raw"
    return "artifacts" if path.startswith(archive_layout.ARTIFACTS) else "documents"


def _add_head(bundle: _DeltaBundle, change: EntryChange) -> bool:
    """Add the manifest's head as JSON; return False when its bytes differ from what a reader would make of that."""
    if change.entry is None or change.entry.meta or change.body is None:
        return False
    body = change.body()
    head = json_codec.decode_json(body)
    if json_codec.encode_pretty(head) != body:
        return False
    bundle.changes["manifest"] = head
    old = json_codec.decode_json(change.base_body()) if change.base_body else {}
    closed = [item for item in _sealed(head) if item not in _sealed(old)]
    if closed:
        _memory(bundle)["seal"] = closed
    bundle.rows.append(leaf_rows.pack_leaf_row(change.entry.leaf))
    return True


def _sealed(head: JsonObject) -> list[JsonObject]:
    return [{"file": p.file, "to": p.last} for p in partitions.from_head(head) if p.sealed]


def _item(bundle: _DeltaBundle, change: EntryChange) -> JsonObject:
    """Return one element of `changes.raw` (or artifacts, documents) and add its bytes, if any, to the bundle."""
    new, base = change.entry, change.base
    if new is None:
        return {"path": change.path, "operation": "remove"}
    item: JsonObject = {"path": change.path, "operation": "put", "sha256": new.sha256, "size": new.size}
    if part := entry_metas.file_part(new.meta):
        item["meta"] = part
    if (base_sha256 := _base_sha256(bundle, change)) is not None:
        item["base_sha256"] = base_sha256
    if not _same_bytes(bundle, change, new) and (body := _body(change)) is not None:
        item |= _add_body(bundle, change, body, patched="base_sha256" in item)
    if base is not None and base.leaf == new.leaf and "entry" not in item:
        item["leaf"] = "base"
    return {name: value for name, value in item.items() if value is not None}


def _base_sha256(bundle: _DeltaBundle, change: EntryChange) -> str | None:
    """Return the digest of the base bytes that a reader needs for a patch; None when the bundle sends the new bytes
    whole.

    Where a purge names the base bytes, readers differ: a reader that still waits for the purge or refused it has the
    old bytes, any other has the redacted ones. No patch against them would fit every reader.
    """
    base = change.base
    if base is None or bundle.redactions.naming(base.leaf.digest) is not None:
        return None
    return base.sha256


def _same_bytes(bundle: _DeltaBundle, change: EntryChange, new: Entry) -> bool:
    """Return whether a reader already has the new bytes: they are the base's, bundles carry those, and no purge takes
    them.

    The redactions of the delta are applied to the base before its bytes are read. So equal bytes under a new leaf are
    sent again when a redaction names the former leaf.
    """
    base = change.base
    if base is None or not _base_is_carried(change):
        return False
    if base.leaf == new.leaf:
        return True
    is_equal = new.sha256 is not None and base.sha256 == new.sha256
    return is_equal and bundle.redactions.naming(base.leaf.digest) is None


def _base_is_carried(change: EntryChange) -> bool:
    """Return whether a reader that has only bundles has the base's bytes."""
    return change.base is not None and artifact_index.is_carried(change.base, held=change.base_body is not None)


def _body(change: EntryChange) -> bytes | None:
    """Return the new bytes; None for what an archive never holds (large artifacts) and for missing bytes."""
    if change.body is None or change.entry is None or not artifact_index.is_carried(change.entry, held=True):
        return None
    try:
        return change.body()
    except BodyAbsent:
        return None


def _add_body(bundle: _DeltaBundle, change: EntryChange, body: bytes, *, patched: bool) -> JsonObject:
    made = _patch(change, body) if patched else None
    if made is not None:
        bundle.patched += 1
        name = bundle.body_name("patches")
        bundle.archive.add(name, made, stored=True)
        return {"operation": "patch", "entry": name}
    if not body:
        return {"entry": ""}
    reserved = change.path in _RESERVED or change.path.startswith("lifeboat/")
    name = bundle.body_name("bodies") if reserved else change.path
    bundle.archive.add(name, body)
    return {"entry": name}


def _patch(change: EntryChange, body: bytes) -> bytes | None:
    known = change.entry is not None and change.entry.sha256
    if not known or change.path in _LAYERS or not _base_is_carried(change):
        return None
    assert change.base is not None and change.base_body is not None
    if change.base.size > zstd_patch.SIZE_LIMIT:
        return None
    try:
        return zstd_patch.make_patch(change.base_body(), body)
    except BodyAbsent:
        return None


def _add_row(bundle: _DeltaBundle, item: JsonObject, leaf: Leaf) -> None:
    if "leaf" not in item:
        bundle.rows.append(leaf_rows.pack_leaf_row(leaf, absent="entry" not in item))


def _add_meta(bundle: _DeltaBundle, change: EntryChange, new: Entry) -> None:
    """Add the parts of a meta that have documents of their own."""
    old: JsonObject = change.base.meta if change.base else {}
    if new.meta.get(entry_metas.RECORDS) != old.get(entry_metas.RECORDS):
        _memory(bundle).setdefault("files", {})[change.path] = new.meta.get(entry_metas.RECORDS)
    if new.meta.get(entry_metas.CUTS) != old.get(entry_metas.CUTS):
        bundle.changes.setdefault("cuts", {})[change.path] = new.meta.get(entry_metas.CUTS)
    attachment, former = _attachment(new), _attachment(change.base)
    if attachment is not None:
        included = not artifact_index.is_referenced(new.meta)
        _attachments(bundle)["put"].append(artifact_index.encode_artifact(new, included=included))
    elif former is not None:
        _attachments(bundle)["removed"].append(former["id"])


def _attachment(entry: Entry | None) -> JsonObject | None:
    return entry.meta.get(entry_metas.ATTACHMENT) if entry is not None else None


def _attachments(bundle: _DeltaBundle) -> JsonObject:
    found: JsonObject = bundle.changes.setdefault("attachments", {"put": [], "removed": []})
    return found


def _memory(bundle: _DeltaBundle) -> JsonObject:
    found: JsonObject = bundle.changes.setdefault("memory", {"record_count": 0})
    return found


def _add_layers(bundle: _DeltaBundle, changed: list[EntryChange]) -> None:
    """Add the published schema's fields for identity, principals and credentials, besides their items in
    `documents`."""
    for change in changed:
        name = _LAYERS.get(change.path)
        if name is None or change.path not in bundle.archive.digests or change.body is None:
            continue
        old = json_codec.decode_json(change.base_body()) if change.base_body else {}
        bundle.changes[name] = {"file": change.path, **_layer_facts(name, old, json_codec.decode_json(change.body()))}


def _layer_facts(name: str, old: JsonObject, new: JsonObject) -> JsonObject:
    if name == "identity":
        return {"new_version": new["version"]} if "version" in new else {}
    if name == "principals":
        before = _by_id(old)
        after = _by_id(new)
        return {"changed_ids": sorted(key for key in before | after if before.get(key) != after.get(key))}
    return {}


def _by_id(document: JsonObject) -> JsonObject:
    """Return the principals of a document by id. Malformed ones appear in no list of changes."""
    return {item["id"]: item for item in objects_in(document.get("principals")) if isinstance(item.get("id"), str)}


# Records --------------------------------------------------------------------------------------------------------


def _add_records(bundle: _DeltaBundle, changes: StateChanges) -> None:
    if changes.removed:
        _memory(bundle)["removed"] = changes.removed
    if not changes.records:
        return
    memory = _memory(bundle)
    memory |= {"file": archive_layout.DELTA_RECORDS, "record_count": len(changes.records)}
    places = list(_places(changes.records))
    if places:
        memory["places"] = places
    with bundle.archive.stream(archive_layout.DELTA_RECORDS) as lines:
        for change in changes.records:
            lines.write(_PREFIXES[change.operation] + change.record.line[1:] + b"\n")
            bundle.rows.append(leaf_rows.pack_leaf_row(change.record.leaf))


def _places(changed: list[RecordChange]) -> Iterator[list[str | int]]:
    """Yield runs of consecutive places of the lines that are not updates."""
    file, first, count = "", 0, 0
    for change in changed:
        record = change.record
        if change.operation == "update":
            continue
        if (record.partition, record.position) == (file, first + count):
            count += 1
            continue
        if count:
            yield [file, first, count]
        file, first, count = record.partition, record.position, 1
    if count:
        yield [file, first, count]


# Proof and manifests --------------------------------------------------------------------------------------------


def _add_proof(bundle: _DeltaBundle, changes: StateChanges) -> None:
    bundle.archive.add(archive_layout.LEAVES, b"".join(bundle.rows), stored=True)
    if document := bundle_redactions.encode_bundle_redactions(_purged(changes)):
        bundle.archive.add(archive_layout.REDACTIONS, json_codec.encode_json(document))
    if changes.new.digest:
        bundle.archive.add(
            archive_layout.SIGNATURE, json_codec.encode_json(sequence_documents.encode_sequence(changes.new))
        )


def _purged(changes: StateChanges) -> BundleRedactions:
    """Return the redactions that the delta carries.

    A redaction that names a changed record by id is included: it decides which ids the metas of unchanged files show.
    """
    put = [change.entry for change in changes.entries if change.entry is not None]
    lines = [change.record for change in changes.records]
    items = chain((entry.leaf for entry in put), (line.leaf for line in lines), (gone.leaf for gone in changes.gone))
    unsalted = (leaf.digest for leaf in items if not leaf.salt)
    listed = chain.from_iterable(bundle_redactions.listed_records(entry.meta) for entry in put)
    changed = chain((record.id for record in lines), changes.removed, (gone.id for gone in changes.gone))
    gone = tuple(sorted(changes.gone, key=record_place))
    known = changes.redactions or NONE
    return BundleRedactions(bundle_redactions.select_needed_redactions(known, unsalted, chain(listed, changed)), gone)


def _add_manifests(bundle: _DeltaBundle, changes: StateChanges) -> None:
    common = {
        "alf_version": ALF_VERSION,
        "created_at": changes.new.time,
        "agent": {"id": changes.new.agent_id},
        "sync": {
            "base_sequence": changes.base.number,
            "new_sequence": changes.new.number,
            "base_timestamp": changes.base.time,
            "new_timestamp": changes.new.time,
        },
    }
    digests = dict(sorted(bundle.archive.digests.items()))
    whole = {**common, "changes": bundle.changes, "entries": digests, "checksum": entries_checksum(digests)}
    bundle.archive.add(
        archive_layout.DELTA_MANIFEST, json_codec.encode_json({**common, "changes": _published(bundle.changes)})
    )
    bundle.archive.add(archive_layout.MANIFEST, json_codec.encode_json(whole))


def _published(changes: JsonObject) -> JsonObject:
    """Return the part of `changes` that the published schema names."""
    published: JsonObject = {
        name: changes[name] for name in ("identity", "principals", "credentials") if name in changes
    }
    memory = changes.get("memory", {})
    if "file" in memory:
        published["memory"] = {"file": memory["file"], "record_count": memory["record_count"]}
    return published
