"""Read JSON documents of an archive strictly, without the byte order mark that other tools leave."""

from __future__ import annotations

from typing import Any

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_shapes import as_list
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadDocument, BadJson

DOCUMENT_LIMIT = 256 << 20
"""Maximum bytes of one JSON document, for the reader and the writer."""

_NO_ALGORITHMS = ("", "none", "null", "identity", "plain", "plaintext", "clear", "cleartext", "base64")
_NOT_EXPORTED = "<not-exported>"
_NO_PAYLOADS = (None, "", _NOT_EXPORTED)

BOM = b"\xef\xbb\xbf"


def read_object(data: bytes, *, entry: str, line: int | None = None) -> JsonObject:
    """Decode a strict JSON object from outside, ignoring a byte order mark. Raises BadJson."""
    return json_codec.decode_object(data.removeprefix(BOM), entry=entry, line=line)


def is_json(data: bytes) -> bool:
    """Return whether bytes are one strict JSON value, after an optional byte order mark."""
    try:
        json_codec.decode_strict(data.removeprefix(BOM), entry="")
    except BadJson:
        return False
    return True


def list_of(document: JsonObject, key: str, *, entry: str) -> list[Any]:
    """Return a list in a document. Raises BadDocument."""
    value = document.get(key, [])
    if not isinstance(value, list):
        raise BadDocument(f"the field {key} must be a list", entry=entry)
    return value


def read_object_field(document: JsonObject, key: str, *, entry: str) -> JsonObject:
    """Return an object in a document; {} when it is missing. Raises BadDocument."""
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise BadDocument(f"the field {key} must be an object", entry=entry)
    return value


def is_wrapped(path: str, document: JsonObject) -> bool:
    """Return whether a document has the outer object of the specification's examples (ALF §3.2.2, §3.4.2)."""
    if path == archive_layout.IDENTITY:
        return isinstance(document.get("identity"), dict) and "id" not in document
    return (
        path == archive_layout.CREDENTIALS
        and isinstance(document.get("credential"), dict)
        and "credentials" not in document
    )


def unwrap_document(path: str, document: JsonObject) -> JsonObject:
    """Return a document without the outer object of the specification's examples (ALF §3.2.2, §3.4.2).

    The text of ALF writes `{"identity": {...}}` and `{"credential": {...}}`, its schemas `{...}` and
    `{"credentials": [...]}`. The result always has the shape of the schemas; fields beside the outer one are kept.
    """
    if not is_wrapped(path, document):
        return document
    if path == archive_layout.IDENTITY:
        return {**document["identity"], **{name: value for name, value in document.items() if name != "identity"}}
    beside = {name: value for name, value in document.items() if name != "credential"}
    return {"credentials": [document["credential"]], **beside}


def credentials_in_clear(document: JsonObject) -> list[str]:
    """Return the ids of credentials whose payload is not encrypted, "?" for one without an id (ALF §3.4.1).

    The placeholder that the reference client writes instead of a payload does not count.
    """
    listed = unwrap_document(archive_layout.CREDENTIALS, document).get("credentials")
    return [
        str(item.get("id", "?"))
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, dict) and _is_in_clear(item)
    ]


def without_payloads_in_clear(document: JsonObject) -> JsonObject:
    """Return the credentials with a placeholder for every unencrypted payload."""
    listed = [
        {**item, "encrypted_payload": _NOT_EXPORTED} if isinstance(item, dict) and _is_in_clear(item) else item
        for item in as_list(document.get("credentials"))
    ]
    return {**document, "credentials": listed}


def _is_in_clear(credential: JsonObject) -> bool:
    encryption = credential.get("encryption")
    algorithm = encryption.get("algorithm") if isinstance(encryption, dict) else None
    protects = isinstance(algorithm, str) and algorithm.strip().lower() not in _NO_ALGORITHMS
    return not protects and credential.get("encrypted_payload") not in _NO_PAYLOADS


def count_members(document: JsonObject, key: str) -> int:
    """Return how many members a list in a document has; 0 for any other value, which is kept without judging it."""
    members = document.get(key)
    return len(members) if isinstance(members, list) else 0


def identity_version(document: JsonObject) -> int:
    """Return the version of an identity document; 1 when it has none."""
    version = unwrap_document(archive_layout.IDENTITY, document).get("version", 1)
    return version if isinstance(version, int) and not isinstance(version, bool) and version > 0 else 1
