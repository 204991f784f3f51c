"""Determine the sequence of an archive from its signature document, else from its manifest."""

from __future__ import annotations

from typing import Any

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadDocument
from lifeboat_alf.states.agent_state import LEAF_BYTES, NUMBER_LIMIT, Sequence

_FIELDS: dict[str, type | tuple[type, ...]] = {
    "agent": str,
    "sequence": int,
    "base": (int, type(None)),
    "epoch": int,
    "time": str,
    "digest": str,
}
UNKNOWN_TIME = "1970-01-01T00:00:00.000Z"


def encode_sequence(sequence: Sequence) -> JsonObject:
    """Return `lifeboat/signature.json`: the sequence as signed, and the signature (null without one)."""
    named = {
        "agent": sequence.agent_id,
        "sequence": sequence.number,
        "base": sequence.base,
        "epoch": sequence.epoch,
        "time": sequence.time,
        "digest": sequence.digest.hex(),
    }
    return {"sequence": named, "signature": sequence.signature}


def decode_sequence(document: JsonObject, *, entry: str = archive_layout.SIGNATURE) -> Sequence:
    """Decode a document made by `encode_sequence`. Raises BadDocument."""
    named, signature = document.get("sequence"), document.get("signature")
    if not isinstance(named, dict) or not isinstance(signature, dict | None):
        raise BadDocument("the field `sequence` is missing or not valid", entry=entry)
    for key, kind in _FIELDS.items():
        if key not in named or not isinstance(named[key], kind) or isinstance(named[key], bool):
            raise BadDocument(f"the field {key} of the sequence is missing or not valid", entry=entry)
    if not all(0 <= (named[key] or 0) < NUMBER_LIMIT for key in ("sequence", "base", "epoch")):
        raise BadDocument("a number in the sequence is too large or negative", entry=entry)
    digest = _digest(named["digest"], entry)
    return Sequence(named["agent"], named["sequence"], named["base"], named["epoch"], named["time"], digest, signature)


def _digest(text: str, entry: str) -> bytes:
    try:
        digest = bytes.fromhex(text)
    except ValueError:
        digest = b""
    if len(digest) != LEAF_BYTES:
        raise BadDocument("the digest of the sequence is not a SHA-256 value", entry=entry)
    return digest


def read_sequence(manifest: JsonObject, document: JsonObject | None, warnings: list[str]) -> Sequence:
    """Return the sequence of a checked manifest. Raises BadDocument when the signature names another one."""
    agent_id, number = manifest["agent"]["id"], manifest.get("sync", {}).get("last_sequence", 0)
    if document is None:
        warnings.append("the archive has no signature")
        return Sequence(agent_id, number, None, 0, _time(manifest.get("created_at")), b"")
    sequence = decode_sequence(document)
    stated = (agent_id, number, manifest.get("created_at"))
    if (sequence.agent_id, sequence.number, sequence.time) != stated:
        raise BadDocument(
            "the signature belongs to a different state than the manifest", entry=archive_layout.SIGNATURE
        )
    return sequence


def _time(value: Any) -> str:
    return value if isinstance(value, str) else UNKNOWN_TIME
