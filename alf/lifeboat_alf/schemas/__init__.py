"""JSON schemas of the format, generated from `lifeboat_alf.archive.document_types`.

    python -m lifeboat_alf.schemas      write them again, after a type changed

They cover what this project writes and checks, extensions included. Every document that is valid here and uses no
extension is valid under the published schemas, and vice versa.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec

from lifeboat_alf.archive import document_types
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject

DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "manifest": document_types.Manifest,
    "memory-record": document_types.MemoryRecord,
    "identity": document_types.Identity,
    "principals": document_types.Principals,
    "credentials": document_types.Credentials,
    "attachments": document_types.Attachments,
    "delta-manifest": document_types.DeltaManifest,
}
"""{schema: type that it is generated from}."""


def generate_schema(name: str) -> JsonObject:
    """Generate the JSON schema (draft 2020-12) of one document. Raises KeyError."""
    (made,), parts = msgspec.json.schema_components([DOCUMENTS[name]], ref_template="#/$defs/{name}")
    body = parts.pop(DOCUMENTS[name].__name__, made)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body, "$defs": dict(sorted(parts.items()))}


def load_schema(name: str) -> JsonObject:
    """Return the shipped schema."""
    text = resources.files(__package__).joinpath(file_name(name)).read_bytes()
    schema: JsonObject = json_codec.decode_json(text)
    return schema


def file_name(name: str) -> str:
    return f"{name}.schema.json"


def write_all(folder: Path) -> list[Path]:
    """Write every schema into a folder."""
    written = []
    for name in DOCUMENTS:
        path = folder / file_name(name)
        path.write_bytes(json_codec.encode_pretty(generate_schema(name)) + b"\n")
        written.append(path)
    return written
