"""Marks memories from other systems, to tell whether they were changed since.

What a format knows of a memory beyond the Agent Life Format is stored as `x_<format>`. When the memory is converted
back, this literal is used if the memory is unchanged; after a change the general fields take precedence.
"""

from __future__ import annotations

import hashlib

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject

PRINT = "generic_sha256"
"""The field of an `x_<format>` object that holds the digest."""
_FIELDS = ("content", "memory_type", "category", "tags", "confidence", "status")
_TIMES = ("observed_at", "valid_from", "valid_until")


def digest_fields(record: JsonObject) -> str:
    """Return a digest of the general fields of a memory in hex. It reveals nothing: it is only stored with the
    memory."""
    temporal = record.get("temporal") or {}
    said = {name: record[name] for name in _FIELDS if record.get(name) not in (None, [])}
    times = {name: temporal[name] for name in _TIMES if temporal.get(name) is not None}
    return hashlib.sha256(json_codec.encode_canonical({**said, "temporal": times})).hexdigest()


def mark_record(record: JsonObject, name: str, own: JsonObject) -> JsonObject:
    """Return a record with a format's object and the digest that reveals later changes."""
    return {**record, name: {**own, PRINT: digest_fields(record)}}


def is_unchanged(record: JsonObject, name: str) -> bool:
    """Return whether a memory is as it was imported."""
    own = record.get(name)
    return isinstance(own, dict) and own.get(PRINT) == digest_fields(record)
