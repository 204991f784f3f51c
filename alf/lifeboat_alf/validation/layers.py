"""The documents beside the memory: identity, principals, credentials, artifacts."""

from __future__ import annotations

from typing import Any

import msgspec

from lifeboat_alf import layout, types
from lifeboat_alf.validation import shapes
from lifeboat_alf.validation.findings import Validation
from lifeboat_alf.validation.shapes import Place

JsonObject = dict[str, Any]

KINDS: dict[str, tuple[str, type[msgspec.Struct]]] = {
    "identity": (layout.IDENTITY, types.Identity),
    "principals": (layout.PRINCIPALS, types.Principals),
    "credentials": (layout.CREDENTIALS, types.Credentials),
    "attachments": (layout.ATTACHMENTS, types.Attachments),
}
"""{layer: (its usual path, the type of its document)}."""


def check(found: Validation, name: str, document: JsonObject, entry: str) -> bool:
    """The shape of one layer, and ids that stand twice in it."""
    if not shapes.check(found, document, KINDS[name][1], Place(entry)):
        return False
    listed = [item["id"] for item in document.get(name, [])] if name != "identity" else []
    for twice in sorted({item for item in listed if listed.count(item) > 1}):
        found.error("duplicate_id", f"the id {twice} stands twice", entry)
    return True


def check_capabilities(found: Validation, identity: JsonObject, credentials: JsonObject, entry: str) -> None:
    """Capabilities name credentials that are there (ALF §3.2.6); a missing one is said."""
    known = {item["id"] for item in credentials.get("credentials", [])}
    structured = identity.get("structured", {})
    owners = [structured, *structured.get("sub_agents", [])]
    for capability in (capability for owner in owners for capability in owner.get("capabilities", [])):
        for missing in sorted(set(capability.get("credential_ids", [])) - known):
            found.warn("dangling", f"the capability {capability['name']!r} names the credential {missing}", entry)


def check_attachment(found: Validation, item: JsonObject, digests: dict[str, str], sizes: dict[str, int]) -> None:
    """An artifact of the index against its bytes."""
    path, entry = item["archive_path"], layout.ATTACHMENTS
    if path is None:
        return
    if path not in digests:
        found.error("missing_entry", f"{path} is listed as included and is not there", entry)
        return
    if sizes[path] != item["size_bytes"]:
        found.error("wrong_fact", f"{path} has {sizes[path]} bytes, {item['size_bytes']} are listed", entry)
    if item["hash"]["algorithm"] == "sha256" and digests[path] != item["hash"]["value"].lower():
        found.error("checksum", f"{path} is not what its hash says", entry)


def check_references(found: Validation, document: JsonObject, known: set[str]) -> None:
    """Memories that an artifact names (ALF §3.1.9)."""
    for item in document["attachments"]:
        for missing in sorted(set(item.get("referenced_by", [])) - known):
            found.warn("dangling", f"{item['filename']} names the record {missing}", layout.ATTACHMENTS)


def inventory(document: JsonObject) -> dict[str, int]:
    """The figures of an artifact index as the manifest gives them."""
    sizes = [(item["archive_path"] is not None, item["size_bytes"]) for item in document["attachments"]]
    included = [size for here, size in sizes if here]
    referenced = [size for here, size in sizes if not here]
    return {
        "count": len(sizes),
        "included_count": len(included),
        "included_size_bytes": sum(included),
        "referenced_count": len(referenced),
        "referenced_size_bytes": sum(referenced),
    }
