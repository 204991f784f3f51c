"""Read and write `lifeboat/redactions.json`: purged items of a snapshot or a delta, and the redactions that cover
them.

    {"redactions": [signed redaction...],
     "waiting"?: [id of a redaction...],
     "records": [[id, partition, position, leaf]...],
     "metas": {path: {"records"?, "attachment"?, "cuts"?}}}

`redactions` name every leaf of the bundle whose salt is gone; those that are `waiting` were not applied yet to what is
here, and may have been where it came from. `records` are the records whose lines are gone; the lines
of a partition skip their positions. `entry_metas` (snapshots only) are the parts of metas that digests cover, where the
documents beside them show what they read now. A bundle of which nothing was purged has no such document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import list_of, read_object_field
from lifeboat_alf.common.json_shapes import as_object, texts_in
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadDocument, RedactionInvalid, SignatureError
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import NONE, Redaction, Redactions
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import LEAF_BYTES, NUMBER_LIMIT, GoneRecord, Leaf, record_place

_PARTS = (entry_metas.RECORDS, entry_metas.ATTACHMENT, entry_metas.CUTS)


@dataclass(frozen=True, slots=True)
class BundleRedactions:
    """Content of `lifeboat/redactions.json` (see the module). `gone` is sorted by (partition, position)."""

    redactions: Redactions = NONE
    gone: tuple[GoneRecord, ...] = ()
    metas: Mapping[str, JsonObject] = field(default_factory=dict)


NOTHING = BundleRedactions()


# Writing --------------------------------------------------------------------------------------------------------


def select_needed_redactions(known: Redactions, leaves: Iterable[bytes], record_ids: Iterable[str] = ()) -> Redactions:
    """Return the redactions that a bundle must carry: those that name one of `leaves` (whose salts are destroyed) or
    one of the records that the metas of files list."""
    chosen = {redaction.id: redaction for leaf in leaves for redaction in known.all_naming(leaf)}
    certain = known.without_waiting()
    if purged := certain.record_ids & set(record_ids):
        chosen |= {each.id: each for each in certain if not purged.isdisjoint(each.record_ids)}
    every = [chosen[redaction_id] for redaction_id in sorted(chosen)]
    waiting = [each for each in every if each.id not in certain]
    return Redactions((each for each in every if each.id in certain), waiting=waiting)


def listed_records(meta: JsonObject) -> Iterator[str]:
    """Yield the record ids in an entry's meta: records in the file and records that refer to the artifact."""
    yield from meta.get(entry_metas.RECORDS, ())
    yield from texts_in(as_object(meta.get(entry_metas.ATTACHMENT)).get("referenced_by"))


def encode_bundle_redactions(bundle: BundleRedactions) -> JsonObject:
    """Return the JSON document; {} when nothing was purged."""
    document = {
        "redactions": [redaction.to_json() for redaction in bundle.redactions],
        "waiting": [each.id for each in bundle.redactions if each.id not in bundle.redactions.without_waiting()],
        "records": [[gone.id, gone.partition, gone.position, gone.leaf.digest.hex()] for gone in bundle.gone],
        "metas": dict(bundle.metas),
    }
    return {name: value for name, value in document.items() if value}


def parts_read_otherwise(original: JsonObject, shown: JsonObject) -> JsonObject:
    """Return the original meta parts that differ from the shown ones."""
    return {part: original[part] for part in _PARTS if part in original and original[part] != shown.get(part)}


# Reading --------------------------------------------------------------------------------------------------------


def decode_bundle_redactions(document: JsonObject | None, agent_id: str) -> BundleRedactions:
    """Read the document of an agent's bundle, without checking signatures. Raises BadDocument, and SignatureError for a
    missing record that no redaction names."""
    if document is None:
        return NOTHING
    waiting = set(map(str, list_of(document, "waiting", entry=archive_layout.REDACTIONS)))
    every = list(_redactions(document, agent_id))
    known = Redactions(
        (each for each in every if each.id not in waiting), waiting=(each for each in every if each.id in waiting)
    )
    gone = sorted(map(_gone, list_of(document, "records", entry=archive_layout.REDACTIONS)), key=record_place)
    for record in gone:
        if not known.is_gone(record.leaf.digest):
            raise SignatureError(f"the record {record.id} is missing from {record.partition}, but no purge removed it")
    _check_once(gone)
    return BundleRedactions(known, tuple(gone), _metas(document))


def _redactions(document: JsonObject, agent_id: str) -> Iterator[Redaction]:
    seen: set[str] = set()
    for item in list_of(document, "redactions", entry=archive_layout.REDACTIONS):
        try:
            redaction = redactions.decode_redaction(item)
        except RedactionInvalid as error:
            raise BadDocument(error.message, entry=archive_layout.REDACTIONS) from None
        if redaction.agent_id.lower() != agent_id.lower():
            raise BadDocument(
                f"the purge record {redaction.id} belongs to another agent, {redaction.agent_id}",
                entry=archive_layout.REDACTIONS,
            )
        if redaction.id in seen:
            raise BadDocument(f"the purge record {redaction.id} is listed twice", entry=archive_layout.REDACTIONS)
        seen.add(redaction.id)
        yield redaction


def _gone(item: Any) -> GoneRecord:
    match item:
        case [str(record_id), str(partition), int(position), str(leaf)] if _is_position(position) and _is_leaf(leaf):
            return GoneRecord(record_id, partition, position, Leaf(bytes.fromhex(leaf)))
    raise BadDocument(
        "a removed record must be given as [id, partition, position, hash]", entry=archive_layout.REDACTIONS
    )


def _is_position(value: int) -> bool:
    return type(value) is int and 0 <= value < NUMBER_LIMIT


def _is_leaf(text: str) -> bool:
    try:
        return len(bytes.fromhex(text)) == LEAF_BYTES and text == bytes.fromhex(text).hex()
    except ValueError:
        return False


def _check_once(gone: list[GoneRecord]) -> None:
    if len({record.id for record in gone}) != len(gone):
        raise BadDocument("the list of removed records contains a record twice", entry=archive_layout.REDACTIONS)
    if len({record_place(record) for record in gone}) != len(gone):
        raise BadDocument("two removed records have the same position", entry=archive_layout.REDACTIONS)


def _metas(document: JsonObject) -> JsonObject:
    listed = read_object_field(document, "metas", entry=archive_layout.REDACTIONS)
    for path, parts in listed.items():
        if not isinstance(parts, dict) or not parts or any(part not in _PARTS for part in parts):
            raise BadDocument(
                f"the properties that {path} had before the purge are not valid", entry=archive_layout.REDACTIONS
            )
    return listed
