"""Find which credentials the wrapped keys in an archive, delta or remote can open. Needs no secret."""

from __future__ import annotations

import binascii
from collections.abc import Iterable

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys.pairs.agent_pair import pair_id
from lifeboat_keys.pairs.strict_base64 import from_base64


def find_unopened(credentials: Iterable[JsonObject], keys: JsonObject | None) -> list[str]:
    """Return the labels of the credentials that none of the pairs in `keys` (`lifeboat/keys.json`) opens.

    Credentials of other programs name no recipient and are skipped. Never raises; a malformed pair opens nothing.
    """
    return [str(each.get("label") or each.get("id")) for each in select_unopened(credentials, keys)]


def select_unopened(credentials: Iterable[JsonObject], keys: JsonObject | None) -> list[JsonObject]:
    """Return the credentials that none of the pairs opens."""
    pairs = _pair_ids(keys)
    return [each for each in credentials if (recipient := _recipient(each)) is not None and recipient not in pairs]


def user_of(credential: JsonObject) -> str | None:
    """Return the id of the user's key for which a credential was sealed, None where it names none."""
    return _encrypted_for(credential, "key_id")


def _recipient(credential: JsonObject) -> str | None:
    return _encrypted_for(credential, "recipient")


def _encrypted_for(credential: JsonObject, field: str) -> str | None:
    encryption = credential.get("encryption")
    found = encryption.get(field) if isinstance(encryption, dict) else None
    return found if isinstance(found, str) else None


def _pair_ids(keys: JsonObject | None) -> set[str]:
    listed = (keys or {}).get("pairs")
    publics = (pair.get("public") for pair in listed if isinstance(pair, dict)) if isinstance(listed, list) else ()
    return {pair for public in publics if isinstance(public, str) and (pair := _pair_id(public))}


def _pair_id(public: str) -> str:
    try:
        return pair_id(from_base64(public))
    except (binascii.Error, ValueError):
        return ""
