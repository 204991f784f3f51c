"""Exports the texts of an identity as chunks of type `identity`, on request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import unwrap_document
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.convert import chunks
from lifeboat_formats.aimem.wire import checksum, urn

TAG = "alf-identity:"
_NAME = re.compile(r"[a-z0-9_-]{1,40}")
_EPOCH = "1970-01-01T00:00:00Z"


def chunks_of(state: State, namespace: str, *, pure: bool = False) -> Iterator[JsonObject]:
    """Yield one chunk for each non-empty text of the identity, ordered by name."""
    document = _document(state)
    prose = document.get("prose")
    for name, text in sorted(prose.items()) if isinstance(prose, dict) else ():
        if isinstance(text, str) and text.strip() and _NAME.fullmatch(name):
            yield _chunk(name, text, _moment(document), namespace, pure=pure)


def _chunk(name: str, text: str, moment: str, namespace: str, *, pure: bool) -> JsonObject:
    chunk: JsonObject = {
        "id": urn.mint_urn(namespace, f"identity-{name}"),
        "content": text,
        "content_hash": checksum.hash_content(text),
        "memory_type": "identity",
        "is_pinned": False,
        "created_at": moment,
        "tags": [TAG + name],
    }
    return (
        chunk if pure else {**chunk, aimem_mapping.OURS: {"source": {"runtime": "aimem", "origin": f"identity:{name}"}}}
    )


def _moment(document: JsonObject) -> str:
    try:
        return chunks.format_utc(str(document.get("updated_at") or _EPOCH))
    except ValueError:
        return _EPOCH


def _document(state: State) -> JsonObject:
    if state.entry(archive_layout.IDENTITY) is None:
        return {}
    try:
        found = json_codec.decode_json(state.body(archive_layout.IDENTITY))
    except (KeyError, ValueError):
        return {}
    return unwrap_document(archive_layout.IDENTITY, found) if isinstance(found, dict) else {}
