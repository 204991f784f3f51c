"""Check shape, enums and formatted texts of single documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from lifeboat_alf.archive import document_types
from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.validation.formatted_texts import formatted_texts, is_uri
from lifeboat_alf.validation.validation_findings import Validation


class DocumentPlace(NamedTuple):
    """Entry and line of a document."""

    entry: str
    line: int | None = None


def check_shape(found: Validation, document: Any, kind: type[msgspec.Struct], place: DocumentPlace) -> bool:
    """Return whether a document has the shape of its type. Enums and ids are checked only if it has."""
    try:
        msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        found.error("shape", str(error), *place)
        return False
    for enum, value in _ENUMS_IN.get(kind, _nothing)(document):
        if value not in memory_records.ENUMS[enum].values:
            reads = memory_records.reads_as(enum, value)
            found.warn(
                "unknown_enum",
                f"the field {enum} has the unknown value {value!r}; Lifeboat keeps the value and reads it as {reads!r}",
                *place,
            )
    for text in formatted_texts(document, kind):
        if text.format == "uuid" and not ids.is_uuid(text.value):
            found.warn("not_a_uuid", f"the value {text.value!r} of the field {text.name} is not a UUID", *place)
        elif text.format == "uri" and not is_uri(text.value):
            found.warn("not_a_uri", f"the value {text.value!r} of the field {text.name} is not a URI", *place)
    return True


Pairs = Iterator[tuple[str, str]]


def _nothing(document: JsonObject) -> Pairs:
    return iter(())


def _record_enums(record: JsonObject) -> Pairs:
    yield "memory_type", record["memory_type"]
    yield "status", record["status"]
    if "extraction_method" in record["source"]:
        yield "extraction_method", record["source"]["extraction_method"]
    for entity in record.get("entities", []):
        yield "entity_type", entity["type"]
    for embedding in record.get("embeddings", []):
        yield "embedding_source", embedding["source"]


def _identity_enums(identity: JsonObject) -> Pairs:
    structured = identity.get("structured", {})
    capabilities = list(structured.get("capabilities", []))
    for agent in structured.get("sub_agents", []):
        yield "sub_agent_status", agent["status"]
        capabilities += agent["capabilities"]
    for capability in capabilities:
        if "portability" in capability:
            yield "portability", capability["portability"]


def _principal_enums(document: JsonObject) -> Pairs:
    return (("principal_type", item["principal_type"]) for item in document["principals"])


def _credential_enums(document: JsonObject) -> Pairs:
    return (("credential_type", item["credential_type"]) for item in document["credentials"])


_ENUMS_IN: dict[type[msgspec.Struct], Any] = {
    document_types.MemoryRecord: _record_enums,
    document_types.Identity: _identity_enums,
    document_types.Principals: _principal_enums,
    document_types.Credentials: _credential_enums,
}
