"""Read the well-formed parts of foreign memories (ALF §3.1), for code that writes them in another form.

Code that changes a record must change the original, because malformed fields are left out here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from lifeboat_alf.common.json_shapes import as_object, as_text, objects_in, texts_in
from lifeboat_alf.common.json_types import JsonObject

_TEXTS = ("memory_type", "status", "namespace", "category", "supersedes")
_NOT_TEXT = {"source": ("identity_version",), "temporal": ()}
"""Fields of a record's objects that are not text."""


def keep_fitting_fields(record: JsonObject) -> JsonObject:
    """Return a record without known fields of the wrong type. Unknown fields stay."""
    fitted = {name: value for name, value in record.items() if name not in _TEXTS or isinstance(value, str)}
    fitted["content"] = as_text(record.get("content"))
    for name, others in _NOT_TEXT.items():
        if name in record:
            fitted[name] = _with_texts(as_object(record[name]), others)
    version = as_object(record.get("source")).get("identity_version")
    if version is not None and (not isinstance(version, int) or isinstance(version, bool)):
        del fitted["source"]["identity_version"]
    if "confidence" in record and not is_number(record["confidence"]):
        del fitted["confidence"]
    for name, shape in _LISTS.items():
        if name in record:
            fitted[name] = shape(record[name])
    if "raw_source_format" in record:
        fitted["raw_source_format"] = as_object(record["raw_source_format"])
    return fitted


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _with_texts(value: Mapping[str, Any], others: tuple[str, ...]) -> JsonObject:
    return {name: item for name, item in value.items() if isinstance(item, str | None) or name in others}


def _entities(value: Any) -> list[JsonObject]:
    return [item for item in objects_in(value) if isinstance(item.get("name"), str)]


def _related(value: Any) -> list[JsonObject]:
    return [item for item in objects_in(value) if isinstance(item.get("id"), str)]


def _embeddings(value: Any) -> list[JsonObject]:
    return [item for item in objects_in(value) if isinstance(item.get("model"), str) and _is_vector(item.get("vector"))]


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_number, value))


_LISTS = {"tags": texts_in, "entities": _entities, "related_records": _related, "embeddings": _embeddings}
