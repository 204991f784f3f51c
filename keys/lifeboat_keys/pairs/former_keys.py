"""Keep the keys that the user's key replaced.

Each former key is stored with its secret sealed to its successor. So the words of the current key give access to all of
them, and everything wrapped for an older key can be opened. The successor signs every entry, so that no other key can
be slipped in as trusted. The next rotation makes all entries again for the new key.

    {"user": UserPublic, "replaced_at": time, "compromised": bool, "secret": base64 (X25519 sealed box),
     "signature": base64 (Ed25519, of the successor)}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import nacl.exceptions
import nacl.public
import nacl.signing

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_keys.errors import KeyDamaged
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_keys.pairs.user_key import UserKey, UserPublic

FIELD = "former"
_SIGNATURE_BYTES = 64
_CONTEXT = b"lifeboat former key 1\n"


@dataclass(frozen=True, slots=True)
class FormerKey:
    """A key that was replaced. `sealed` is its secret, for its successor; `compromised` says that others may have
    it."""

    public: UserPublic
    replaced_at: str
    compromised: bool
    sealed: bytes
    signature: bytes

    def open(self, successor: UserKey) -> UserKey:
        """Return the key with its secret. Raises KeyDamaged."""
        try:
            key = UserKey(successor.open_box(self.sealed))
        except (nacl.exceptions.CryptoError, ValueError):
            raise KeyDamaged(f"your key cannot open your former key {self.public.key_id}") from None
        if key.public != self.public:
            raise KeyDamaged(f"the stored data for your former key {self.public.key_id} contains another key")
        return key

    def to_json(self) -> JsonObject:
        statement = _statement(self.public, self.replaced_at, self.sealed, compromised=self.compromised)
        return {**statement, "signature": to_base64(self.signature)}


def make_former_key(key: UserKey, successor: UserKey, replaced_at: str, *, compromised: bool) -> FormerKey:
    """Make the entry of a key for its successor."""
    sealed = nacl.public.SealedBox(nacl.public.PublicKey(successor.public.box)).encrypt(key.secret)
    statement = _statement(key.public, replaced_at, sealed, compromised=compromised)
    signature = successor.sign(_message(statement, successor.public))
    return FormerKey(key.public, replaced_at, compromised, sealed, signature)


def read_former_keys(documents: Any, successor: UserPublic) -> list[FormerKey]:
    """Decode a list of entries and check their signatures; None gives no entries.

    Raises KeyDamaged for the wrong shape, SignatureError for an entry that the current key did not sign.
    """
    try:
        return [_read_one(document, successor) for document in documents or ()]
    except (KeyError, TypeError, ValueError):
        raise KeyDamaged("the list of your former keys has an invalid format") from None


def merge_former_keys(own: list[FormerKey], came: list[FormerKey]) -> list[FormerKey]:
    """Merge both lists. A key that either one calls compromised stays compromised."""
    chosen = {one.public: one for one in own}
    for one in came:
        known = chosen.get(one.public)
        if known is None or (one.compromised and not known.compromised):
            chosen[one.public] = one
    return sorted(chosen.values(), key=lambda one: one.replaced_at)


def newly_compromised(own: list[FormerKey], came: list[FormerKey]) -> list[FormerKey]:
    """Return the keys that were trusted here and are now compromised."""
    safe = {one.public for one in own if not one.compromised}
    return [one for one in came if one.compromised and one.public in safe]


def _read_one(document: Any, successor: UserPublic) -> FormerKey:
    public = UserPublic.from_json(document["user"])
    replaced_at, compromised = document["replaced_at"], document["compromised"]
    if not isinstance(replaced_at, str) or not isinstance(compromised, bool):
        raise ValueError("expected a time and a Boolean value")
    sealed, signature = from_base64(document["secret"]), from_base64(document["signature"], _SIGNATURE_BYTES)
    message = _message(_statement(public, replaced_at, sealed, compromised=compromised), successor)
    try:
        nacl.signing.VerifyKey(successor.sign).verify(message, signature)
    except nacl.exceptions.CryptoError:
        raise SignatureError(
            f"your key did not sign the statement that {public.key_id} is a former key of yours"
        ) from None
    return FormerKey(public, replaced_at, compromised, sealed, signature)


def _statement(public: UserPublic, replaced_at: str, sealed: bytes, *, compromised: bool) -> JsonObject:
    return {
        "user": public.to_json(),
        "replaced_at": replaced_at,
        "compromised": compromised,
        "secret": to_base64(sealed),
    }


def _message(statement: JsonObject, successor: UserPublic) -> bytes:
    return _CONTEXT + json_codec.encode_canonical({**statement, "successor": successor.to_json()})
