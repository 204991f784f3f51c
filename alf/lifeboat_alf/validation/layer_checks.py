"""Check the documents besides the memory: identity, principals, credentials, artifacts."""

from __future__ import annotations

import msgspec

from lifeboat_alf.archive import archive_layout, document_types
from lifeboat_alf.archive.archive_documents import credentials_in_clear, is_wrapped, unwrap_document
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.validation import shape_checks
from lifeboat_alf.validation.shape_checks import DocumentPlace
from lifeboat_alf.validation.validation_findings import Validation

KINDS: dict[str, tuple[str, type[msgspec.Struct]]] = {
    "identity": (archive_layout.IDENTITY, document_types.Identity),
    "principals": (archive_layout.PRINCIPALS, document_types.Principals),
    "credentials": (archive_layout.CREDENTIALS, document_types.Credentials),
    "attachments": (archive_layout.ATTACHMENTS, document_types.Attachments),
}
"""{layer: (its usual path, the type of its document)}."""


def without_outer_object(found: Validation, path: str, document: JsonObject, entry: str) -> JsonObject:
    """Return the document in the shape of the schemas, with a warning for an outer object as in ALF §3.2.2."""
    if is_wrapped(path, document):
        found.warn(
            "wrapped",
            "the document is inside an outer object; the text of the format's specification shows this "
            "object, but the schemas do not permit it",
            entry,
        )
    return unwrap_document(path, document)


def check_layer(found: Validation, name: str, document: JsonObject, entry: str) -> bool:
    """Check the shape of one layer, and that no id occurs twice."""
    if not shape_checks.check_shape(found, document, KINDS[name][1], DocumentPlace(entry)):
        return False
    listed = [item["id"] for item in document.get(name, [])] if name != "identity" else []
    for twice in sorted({item for item in listed if listed.count(item) > 1}):
        found.error("duplicate_id", f"two items have the id {twice}", entry)
    if name == "credentials":
        check_payloads(found, document, entry)
    return True


def check_owners(found: Validation, name: str, document: JsonObject, agent_id: str, entry: str) -> None:
    """Warn of documents of another agent, and of profiles of another principal (ALF §3.2, §3.3)."""
    parts: list[tuple[str, JsonObject]] = []
    if name == "identity":
        parts = [("the identity", document)]
    elif name == "credentials":
        parts = [(f"the credential {item['id']}", item) for item in document["credentials"]]
    elif name == "principals":
        parts = [(f"the profile {item['profile']['id']}", item["profile"]) for item in document["principals"]]
        for item in document["principals"]:
            owner = item["profile"]["principal_id"]
            if owner.lower() != item["id"].lower():
                message = f"the profile {item['profile']['id']} belongs to the principal {owner}, not to {item['id']}"
                found.warn("other_principal", message, entry)
    for what, part in parts:
        if part["agent_id"].lower() != agent_id.lower():
            found.warn("other_agent", f"{what} belongs to another agent, {part['agent_id']}", entry)


def check_payloads(found: Validation, document: JsonObject, entry: str) -> None:
    """Report credentials with an unencrypted payload (ALF §3.4.1)."""
    for credential_id in credentials_in_clear(document):
        found.error("credential_in_clear", f"the credential {credential_id} is not encrypted", entry)


def check_capabilities(found: Validation, identity: JsonObject, credentials: JsonObject, entry: str) -> None:
    """Report capabilities that name a missing credential (ALF §3.2.6)."""
    known = {item["id"] for item in credentials.get("credentials", [])}
    structured = identity.get("structured", {})
    owners = [structured, *structured.get("sub_agents", [])]
    for capability in (capability for owner in owners for capability in owner.get("capabilities", [])):
        for missing in sorted(set(capability.get("credential_ids", [])) - known):
            found.warn(
                "dangling",
                f"the capability {capability['name']!r} needs the credential {missing}, which is missing from the "
                "archive",
                entry,
            )


def check_attachment(found: Validation, item: JsonObject, digests: dict[str, str], sizes: dict[str, int]) -> None:
    """Check an artifact of the index against its bytes."""
    path, entry = item["archive_path"], archive_layout.ATTACHMENTS
    if path is None:
        return
    if path not in digests:
        found.error("missing_entry", f"the file {path} is listed as included, but is missing from the archive", entry)
        return
    if sizes[path] != item["size_bytes"]:
        found.error(
            "wrong_fact", f"the file {path} has {sizes[path]} bytes, but {item['size_bytes']} bytes are listed", entry
        )
    if item["hash"]["algorithm"] == "sha256" and digests[path] != item["hash"]["value"].lower():
        found.error("checksum", f"the content of {path} does not match the listed hash", entry)


def check_references(found: Validation, document: JsonObject, known: set[str]) -> None:
    """Report memories that an artifact names and that are missing (ALF §3.1.9)."""
    for item in document["attachments"]:
        for missing in sorted(set(item.get("referenced_by", [])) - known):
            found.warn(
                "dangling",
                f"the attachment {item['filename']} refers to the record {missing}, which is missing from the archive",
                archive_layout.ATTACHMENTS,
            )


def count_artifacts(document: JsonObject) -> dict[str, int]:
    """Return the manifest's figures of an artifact index."""
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
