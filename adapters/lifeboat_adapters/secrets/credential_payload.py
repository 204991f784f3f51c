"""The content that is sealed for a credential.

    {"version": 1,
     "value": "...",                               what the runtime reads
     "files": {"raw/openclaw-home/openclaw.json":  by archive path, every file the secret was cut out of
        {"sha256": "...",                          of the whole original file, hexadecimal
         "literals": ["base64", ...]}}}            how it is spelled there, in the order of the cuts

The value, its spelling and the digest of a whole file would help to guess a short secret. So outside of the seal there
are only digests and sizes of cut bytes. A file counts as restored only when its bytes have the digest that every one of
its credentials carries.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from lifeboat_adapters.errors import BadPayload, SecretsError
from lifeboat_adapters.secrets.secret_cutting import CREDENTIAL, CutFile, fill_placeholders
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject

VERSION = 1


@dataclass(frozen=True, slots=True)
class SecretSpelling:
    """A secret in one file: `sha256` of the whole file (hex), `literals` in the order of the credential's cuts."""

    sha256: str
    literals: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class CredentialPayload:
    """The value of a secret, and its spelling in every file (by archive path) that it was cut out of."""

    value: str
    files: Mapping[str, SecretSpelling] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Encode the payload. Equal payloads give equal bytes, so that their fingerprint shows whether to seal again.

        Half a surrogate pair, which JSON5 can spell and JSON cannot, becomes `?` in `value`; the literal keeps it.
        """
        files = {path: _spelling_to_json(spelling) for path, spelling in self.files.items()}
        value = self.value.encode("utf-8", "replace").decode("utf-8")
        return json_codec.encode_canonical({"version": VERSION, "value": value, "files": files})


def decode_payload(data: bytes) -> CredentialPayload:
    """Decode a payload. Raises BadPayload for anything but version 1 of the shape above."""
    try:
        document = json_codec.decode_json(data)
        if document["version"] != VERSION or not isinstance(document["value"], str):
            raise ValueError("unknown version")
        files = {path: _spelling_from_json(spelling) for path, spelling in document["files"].items()}
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError):
        raise BadPayload("the encrypted credential has an unknown form (only version 1 is known)") from None
    return CredentialPayload(document["value"], files)


def secret_spellings(original: bytes, parts: CutFile) -> dict[str, SecretSpelling]:
    """Return the spelling of each credential in a file that was cut, by credential id."""
    digest = hashlib.sha256(original).hexdigest()
    literals: dict[str, list[bytes]] = {}
    for item, literal in zip(parts.cuts, parts.literals, strict=True):
        literals.setdefault(item[CREDENTIAL], []).append(literal)
    return {credential_id: SecretSpelling(digest, tuple(found)) for credential_id, found in literals.items()}


def restore_whole_file(
    path: str,
    data: bytes,
    cuts: list[JsonObject],
    payload_of: Callable[[str], CredentialPayload],
    *,
    is_whole: bool = True,
) -> bytes:
    """Return the original bytes of a cut file. With `is_whole` False a part of them was purged, so their digest
    differs.

    `payload_of(credential_id)` opens a credential. Raises CutMismatch, and SecretsError when a payload does not
    mention this file, or when the bytes are not those that were captured.
    """
    payloads = {each: payload_of(each) for each in {item[CREDENTIAL] for item in cuts if CREDENTIAL in item}}

    def literal_of(credential_id: str, nth: int) -> bytes:
        spelling = payloads[credential_id].files.get(path)
        if spelling is None or nth >= len(spelling.literals):
            raise SecretsError.WHOLE_FILE_MISMATCH(
                f"the encrypted credential {credential_id} does not contain the text that belongs in the file {path}"
            )
        return spelling.literals[nth]

    filled = fill_placeholders(data, cuts, literal_of)
    digest = hashlib.sha256(filled).hexdigest()
    if is_whole and any(payload.files[path].sha256 != digest for payload in payloads.values()):
        raise SecretsError.WHOLE_FILE_MISMATCH(
            f"the encrypted credentials belong to another version of the file {path}"
        )
    return filled


def _spelling_to_json(spelling: SecretSpelling) -> JsonObject:
    literals = [base64.b64encode(literal).decode("ascii") for literal in spelling.literals]
    return {"sha256": spelling.sha256, "literals": literals}


def _spelling_from_json(document: JsonObject) -> SecretSpelling:
    literals = tuple(base64.b64decode(literal, validate=True) for literal in document["literals"])
    return SecretSpelling(str(document["sha256"]), literals)
