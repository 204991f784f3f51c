"""Encode and decode key files: JSON with a kind, so that a file found anywhere can be identified."""

from __future__ import annotations

import os
from typing import Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys.errors import KeyDamaged
from lifeboat_keys.home.key_file_names import DEVICE_KEY, USER_KEY, USER_PUBLIC
from lifeboat_keys.pairs.device_key import SIGNATURE_BYTES, DeviceKey
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_keys.pairs.user_key import UserKey, UserPublic
from lifeboat_keys.recovery.bip39_words import SECRET_BYTES


def of_user_key(key: UserKey) -> JsonObject:
    return {"kind": "lifeboat user key", "version": 1, "key_id": key.key_id, "secret": to_base64(key.secret)}


def user_key(document: JsonObject, name: str = USER_KEY) -> UserKey:
    """Decode a user key. Raises KeyDamaged, also when the stated id does not match the key."""
    key = UserKey(secret_in(document, name))
    if document.get("key_id") != key.key_id:
        raise KeyDamaged(f"{name} states the id of one key, but contains another key")
    return key


def user_public(document: Any, name: str = USER_PUBLIC) -> UserPublic:
    """Decode a public user key. Raises KeyDamaged."""
    try:
        return UserPublic.from_json(document)
    except ValueError as error:
        raise KeyDamaged(f"{name}: {error}") from None


def of_device_key(device: DeviceKey) -> JsonObject:
    return {
        "kind": "lifeboat device key",
        "version": 1,
        "secret": to_base64(device.secret),
        "user": device.user.to_json(),
        "certificate": to_base64(device.certificate),
    }


def device_key(document: JsonObject) -> DeviceKey:
    """Decode a device key without checking its certificate. Raises KeyDamaged for the wrong shape."""
    user = user_public(document.get("user"), DEVICE_KEY)
    try:
        certificate = from_base64(document.get("certificate"), SIGNATURE_BYTES)
    except ValueError as error:
        raise KeyDamaged(f"{DEVICE_KEY}: {error}") from None
    return DeviceKey(secret_in(document, DEVICE_KEY), user, certificate)


def new_fingerprint_key() -> JsonObject:
    return {"kind": "lifeboat fingerprint key", "version": 1, "secret": to_base64(os.urandom(SECRET_BYTES))}


def secret_in(document: JsonObject, name: str) -> bytes:
    """Return the 32 secret bytes of a document. Raises KeyDamaged, naming the file."""
    try:
        return from_base64(document.get("secret"), SECRET_BYTES)
    except ValueError:
        raise KeyDamaged(f"{name} does not contain a key") from None
