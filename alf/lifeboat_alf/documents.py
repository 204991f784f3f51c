"""JSON documents of an archive: read strictly, with the byte order mark that other tools leave taken off."""

from __future__ import annotations

from typing import Any

from lifeboat_alf import codec
from lifeboat_alf.errors import BadDocument
from lifeboat_alf.state import JsonObject

DOCUMENT_LIMIT = 256 << 20
"""Bytes of one JSON document, for the reader and the writer alike."""

BOM = b"\xef\xbb\xbf"


def read_object(data: bytes, *, entry: str, line: int | None = None) -> JsonObject:
    """A strict JSON object from outside; a leading byte order mark is passed over. Raises BadJson."""
    return codec.decode_object(data.removeprefix(BOM), entry=entry, line=line)


def list_of(document: JsonObject, key: str, *, entry: str) -> list[Any]:
    """A list in a document. Raises BadDocument."""
    value = document.get(key, [])
    if not isinstance(value, list):
        raise BadDocument(f"{key} is not a list", entry=entry)
    return value


def object_of(document: JsonObject, key: str, *, entry: str) -> JsonObject:
    """An object in a document, {} when it is not there. Raises BadDocument."""
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise BadDocument(f"{key} is not an object", entry=entry)
    return value


def count(document: JsonObject, key: str) -> int:
    """How many members a list in a document has; 0 for anything else, which is carried and not judged here."""
    members = document.get(key)
    return len(members) if isinstance(members, list) else 0


def identity_version(document: JsonObject) -> int:
    """The version of an identity document, also of one wrapped in `{"identity": ...}`; 1 where it says none."""
    inner = document.get("identity", document)
    version = inner.get("version", 1) if isinstance(inner, dict) else 1
    return version if isinstance(version, int) and not isinstance(version, bool) and version > 0 else 1
