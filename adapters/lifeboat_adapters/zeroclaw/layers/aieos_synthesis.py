"""Make an AIEOS document for an identity that came without one (ALF §3.2.1).

No model is used: the same identity gives the same document. The document carries a digest of the rest under `MARK`. So
capture recognises it and does not attribute its text to the agent.
"""

from __future__ import annotations

import hashlib

from lifeboat_adapters.zeroclaw.layers.aieos import to_aieos
from lifeboat_adapters.zeroclaw.layers.aieos_values import is_text
from lifeboat_adapters.zeroclaw.layers.json_pointers import GONE, Pointer, get_at_pointer, put_at_pointer
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject

MARK = "@lifeboat"
"""ZeroClaw ignores keys that begin with `@`."""
_STANDARD = {"protocol": "AIEOS", "version": "1.1.0"}
_OCCUPATION: Pointer = ("history", "occupation")


def make_aieos(identity: JsonObject) -> JsonObject:
    """Return the document of an identity, with all fields that AIEOS has and the role as an occupation."""
    structured = identity.get("structured")
    known = structured if isinstance(structured, dict) else {}
    found = {key: value for key, value in to_aieos(known).items() if key != MARK}
    role = known.get("role")
    if is_text(role) and get_at_pointer(found, _OCCUPATION) is GONE:
        put_at_pointer(found, _OCCUPATION, role)
    document = {"standard": _STANDARD, **found}
    return {MARK: {"made_from": "the agent's structured profile", "digest": _digest(document)}, **document}


def aieos_as_text(document: JsonObject) -> bytes:
    """Return a document as the text of a file."""
    return json_codec.encode_pretty(document) + b"\n"


def is_unedited_aieos(document: JsonObject) -> bool:
    """Return whether a document was made here and not edited since."""
    rest = {key: value for key, value in document.items() if key != MARK}
    return bool(get_at_pointer(document, (MARK, "digest")) == _digest(rest))


def _digest(document: JsonObject) -> str:
    return hashlib.sha256(json_codec.encode_canonical(document)).hexdigest()[:16]
