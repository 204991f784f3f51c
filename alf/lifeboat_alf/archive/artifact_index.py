"""Convert artifacts between entries and the artifact index (ALF §3.1.9).

An entry's `meta.attachment` holds what cannot be derived from path, size and digest: id, media type, tier, the records
that refer to it, unknown fields, and every field that differs from its derived value.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.zip_container import check_name
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadDocument, UnsafeEntry
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import Entry

INCLUDED = 2
REFERENCED = 3

_SHA256 = re.compile(r"[0-9a-f]{64}")
_DERIVED = ("filename", "size_bytes", "hash", "source_path", "archive_path", "remote_ref")
_ENTRY_PATH = "entry_path"


@dataclass(frozen=True, slots=True)
class Attachment:
    """One object of the index. `included` says whether its bytes are an entry of the file under `path`."""

    path: str
    fields: JsonObject
    size: int
    sha256: str | None
    included: bool


def is_referenced(meta: JsonObject) -> bool:
    """Return whether an entry is a tier 3 artifact. No archive holds the bytes of those."""
    return bool(as_object(meta.get(entry_metas.ATTACHMENT)).get("tier") == REFERENCED)


def is_carried(entry: Entry, *, held: bool) -> bool:
    """Return whether every bundle with this entry carries its bytes. Tier 3 artifacts are never carried.

    `held` says whether the entry's state can read its bytes.
    """
    return held and not is_referenced(entry.meta)


def encode_artifact(entry: Entry, *, included: bool) -> JsonObject:
    """Return the index object of an artifact entry; `included` when its bytes are in the same file."""
    fields = entry.meta[entry_metas.ATTACHMENT]
    made = _derived(entry.path, entry.size, entry.sha256, included=included)
    made.update((key, value) for key, value in fields.items() if key != "tier")
    order = ["id", "filename", "media_type", *_DERIVED[1:], "referenced_by"]
    item = {key: made[key] for key in order if key in made} | made
    if fields.get("tier") != _tier(item):
        item["tier"] = fields.get("tier")
    if _path(item) != entry.path:
        item[_ENTRY_PATH] = entry.path
    return item


def decode_artifact(item: Any, present: Container[str], *, number: int) -> Attachment:
    """Read the `number`th object of an index. `present` are the entries of the file. Raises BadDocument."""
    if not isinstance(item, dict):
        raise BadDocument("each attachment in the list must be an object", entry=archive_layout.ATTACHMENTS, line=None)
    size = item.get("size_bytes", 0)
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise BadDocument(
            f"the size of attachment {number} must be a whole number of bytes", entry=archive_layout.ATTACHMENTS
        )
    path = item.get(_ENTRY_PATH) or _path(item)
    if not isinstance(path, str):
        raise BadDocument(f"the path of attachment {number} must be a string", entry=archive_layout.ATTACHMENTS)
    included = item.get("archive_path") == path and path in present
    sha256 = _sha256(item)
    derived = _derived(path, size, sha256, included=included)
    fields = {key: value for key, value in item.items() if key not in (*_DERIVED, _ENTRY_PATH)}
    fields |= {key: item[key] for key in _DERIVED if key in item and item[key] != derived[key]}
    if "remote_ref" not in item and derived["remote_ref"] is not None:
        fields["remote_ref"] = None
    fields.setdefault("tier", _tier(item))
    return Attachment(path, fields, size, sha256, included)


def _derived(path: str, size: int, sha256: str | None, *, included: bool) -> JsonObject:
    source = path.removeprefix(archive_layout.ARTIFACTS)
    return {
        "filename": source.rsplit("/", 1)[-1],
        "size_bytes": size,
        "hash": {"algorithm": "sha256", "value": sha256 or ""},
        "source_path": source,
        "archive_path": path if included else None,
        "remote_ref": None if included or sha256 is None else f"lifeboat:sha256:{sha256}",
    }


def _tier(item: JsonObject) -> int:
    return REFERENCED if item.get("archive_path") is None else INCLUDED


def _path(item: JsonObject) -> Any:
    """Return the entry path of an index object: its place in the archive, else its original path, else one made from
    its id."""
    if item.get("archive_path") is not None:
        return item["archive_path"]
    path = f"{archive_layout.ARTIFACTS}{item.get('source_path')}"
    try:
        check_name(path)
    except UnsafeEntry:
        return f"{archive_layout.ARTIFACTS}{item.get('id')}"
    return path


def _sha256(item: JsonObject) -> str | None:
    named = item.get("hash")
    if not isinstance(named, dict) or named.get("algorithm", "sha256") != "sha256":
        return None
    value = named.get("value")
    return value if isinstance(value, str) and _SHA256.fullmatch(value) else None
