"""Read and write memory records (ALF §3.1.1) as plain dicts: shape, enums, and which records must not be dropped
silently.

A record from outside keeps every field; these functions read only the fields they know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_shapes import as_object, as_text, texts_in
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadDocument

TOMBSTONE = "[deleted]"
"""Content of a tombstone. The schema does not allow an empty one."""

MISSING = "missing_at_source"
"""Extension field: true on a record that was archived because its text vanished from its file, until the user
confirms."""

PINNED = "pinned"
"""Extension field: true on a record that must not be removed without the user's consent."""


class EnumValues(NamedTuple):
    """Known values of an enum field, and the default that an unknown one reads as (None: itself)."""

    values: frozenset[str]
    default: str | None


def check_shape(record: JsonObject, *, entry: str, line: int) -> None:
    """Check the fields that every reader of a record relies on: where present, they are text or objects.

    Raises BadDocument.
    """
    for name in _TEXTS:
        if not isinstance(record.get(name), str | None):
            raise BadDocument(f"the field {name} of the record must be a string", entry=entry, line=line)
    for name in _OBJECTS:
        if not isinstance(record.get(name), dict | None):
            raise BadDocument(f"the field {name} of the record must be an object", entry=entry, line=line)


def _enum(default: str | None, *values: str) -> EnumValues:
    return EnumValues(frozenset(values), default)


ENUMS: Mapping[str, EnumValues] = {
    "memory_type": _enum("semantic", "semantic", "episodic", "procedural", "preference", "summary"),
    "status": _enum("active", "active", "superseded", "archived", "deleted"),
    "extraction_method": _enum(None, "agent_written", "llm_extracted", "user_authored", "migrated"),
    "entity_type": _enum("other", "person", "organization", "project", "location", "tool", "service", "other"),
    "embedding_source": _enum("runtime", "runtime", "sync_service", "import_adapter"),
    "principal_type": _enum("human", "human", "agent"),
    "credential_type": _enum(
        "custom", "api_key", "oauth_token", "webhook_secret", "session_token", "ssh_key", "certificate", "custom"
    ),
    "portability": _enum("intrinsic", "intrinsic", "host_dependent"),
    "sub_agent_status": _enum("active", "active", "inactive", "unavailable"),
    "operation": _enum(None, "create", "update", "delete"),
}
"""The ten enums of the format (ALF §8.2). An unknown value is kept and read as the default; only an unknown `operation`
is an error."""

_TEXTS = ("content", "memory_type", "namespace", "status", "supersedes")
_OBJECTS = ("source", "temporal")

FIELDS = (
    "id",
    "agent_id",
    "content",
    "memory_type",
    "source",
    "temporal",
    "status",
    "namespace",
    "category",
    "supersedes",
    "confidence",
    "entities",
    "tags",
    "embeddings",
    "related_records",
    "raw_source_format",
)
"""The known fields of a record in writing order."""

REQUIRED = FIELDS[:8]
_KNOWN = frozenset(FIELDS)


def reads_as(enum: str, value: str) -> str:
    """Return how to interpret an enum value (ALF §8.2). The stored value is never replaced."""
    known = ENUMS[enum]
    return value if value in known.values or known.default is None else known.default


def arrange_fields(record: JsonObject) -> JsonObject:
    """Return a record in written form: known fields first and in order, without null and empty lists; then the rest."""
    ordered = {name: value for name in FIELDS if (value := record.get(name)) is not None and value != []}
    ordered.update({name: value for name, value in record.items() if name not in _KNOWN})
    for part in ("source", "temporal"):
        if isinstance(ordered.get(part), dict):
            ordered[part] = {name: value for name, value in ordered[part].items() if value is not None}
    return ordered


def line_of(record: JsonObject) -> bytes:
    """Return the line of a record made by this program."""
    return json_codec.encode_json(arrange_fields(record))


def parse_record(line: bytes) -> JsonObject:
    """Decode a record from a line that a reader has already checked. Raises msgspec.DecodeError."""
    record: JsonObject = json_codec.decode_json(line)
    return record


def read_record_status(record: JsonObject) -> str:
    """Return `active`, `superseded`, `archived` or `deleted`. Unknown values read as active, to err on the side of
    visibility."""
    return reads_as("status", str(record.get("status", "active")))


def is_visible(record: JsonObject) -> bool:
    """Return whether a record is a memory the agent has now."""
    return read_record_status(record) == "active"


def is_deleted(record: JsonObject) -> bool:
    """Return whether a record is a tombstone or was deleted in place."""
    return read_record_status(record) == "deleted"


def is_missing(record: JsonObject) -> bool:
    """Return whether a record was archived because it vanished from its file and awaits the user's confirmation."""
    return read_record_status(record) == "archived" and record.get(MISSING) is True


def created_at(record: JsonObject) -> str:
    """Return `temporal.created_at`. Raises KeyError."""
    return str(record["temporal"]["created_at"])


def origin_file(record: JsonObject) -> str:
    """Return the file a record came from; "" without one."""
    return as_text(as_object(record.get("source")).get("origin_file"))


_DNA = frozenset({"preference", "decision", "identity", "pitfall", "procedure"})
_FROM_CATEGORY = {"identity": "identity", "goal": "goal", "bad_pattern": "pitfall"}


def bundle_type(record: JsonObject) -> str:
    """Return the record's memory type in the AIMEM interchange format.

    The literal type of an imported record wins unless the record's type was changed afterwards.
    """
    foreign = record.get("x_aimem")
    memory_type = reads_as("memory_type", str(record.get("memory_type", "semantic")))
    if (
        isinstance(foreign, dict)
        and foreign.get("mapped_from", memory_type) == memory_type
        and "memory_type" in foreign
    ):
        return str(foreign["memory_type"])
    return _derived_type(memory_type, as_text(record.get("category")), texts_in(record.get("tags")))


def _derived_type(memory_type: str, category: str, tags: list[Any]) -> str:
    category = category.removeprefix("aimem:").removeprefix("aicf:")
    if memory_type == "preference":
        return "preference"
    if memory_type == "procedural":
        return "pitfall" if category in ("pitfall", "bad_pattern") else "procedure"
    if memory_type != "semantic":
        return "episodic"
    if category.startswith("decision"):
        return "decision"
    return "pitfall" if "pitfall" in tags else _FROM_CATEGORY.get(category, "fact")


def is_pinned(record: JsonObject) -> bool:
    """Return whether the user pinned a record, here or in the system it was imported from."""
    foreign = record.get("x_aimem")
    return record.get(PINNED) is True or (isinstance(foreign, dict) and foreign.get("is_pinned") is True)


def is_dna_class(record: JsonObject) -> bool:
    """Return whether a record is a preference, decision, identity, pitfall or procedure. Background work never deletes
    or supersedes those."""
    return bundle_type(record) in _DNA


def is_kept(record: JsonObject) -> bool:
    """Return whether a record that vanishes from its file is archived, not deleted, until the user confirms."""
    return is_pinned(record) or is_dna_class(record)
