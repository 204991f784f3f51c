"""Whether a memory still says what it said when it came from another system.

What a format knows of a memory beyond the Agent Life Format travels with it as `x_<format>`. Going back, that literal
counts as long as the memory was not changed since; after a change the general fields win.
"""

from __future__ import annotations

import hashlib

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject

PRINT = "generic_sha256"
"""The field of an `x_<format>` object that holds the print."""
_FIELDS = ("content", "memory_type", "category", "tags", "confidence", "status")
_TIMES = ("observed_at", "valid_from", "valid_until")


def digest_fields(record: JsonObject) -> str:
    """A digest of the general fields of a memory, as hex. It is of no secret: whoever has it has the memory too."""
    temporal = record.get("temporal") or {}
    said = {name: record[name] for name in _FIELDS if record.get(name) not in (None, [])}
    times = {name: temporal[name] for name in _TIMES if temporal.get(name) is not None}
    return hashlib.sha256(json_codec.encode_canonical({**said, "temporal": times})).hexdigest()


def mark_record(record: JsonObject, name: str, own: JsonObject) -> JsonObject:
    """A record with what a format knows of it, and the print by which a later change is noticed."""
    return {**record, name: {**own, PRINT: digest_fields(record)}}


def is_unchanged(record: JsonObject, name: str) -> bool:
    """Whether the memory still is as it came in."""
    own = record.get(name)
    return isinstance(own, dict) and own.get(PRINT) == digest_fields(record)
