"""Encode and decode `keys.json`, the wrapped data keys of a tenant. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_vault.at_rest.keyed_sealer import KEY_BYTES
from lifeboat_vault.errors import VaultDamaged

KIND, VERSION = "lifeboat data keys", 1


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A data key wrapped by the source. `scope` is an agent's id, or "" for the tenant."""

    id: str
    scope: str
    created_at: str
    wrapped: bytes

    def wrapped_as(self, wrapped: bytes) -> Self:
        return replace(self, wrapped=wrapped)


@dataclass(frozen=True, slots=True)
class KeyDocument:
    """The document. `source` wraps all keys; `scope` says whether agents have their own keys. `keys` are sorted, oldest
    first."""

    tenant: str
    source: str
    scope: str
    keys: tuple[WrappedKey, ...] = ()

    def scopes(self) -> list[str]:
        return list(dict.fromkeys(each.scope for each in self.keys))

    def ids(self) -> list[str]:
        """Return the ids, oldest first."""
        return [each.id for each in self.keys]

    def current(self, scope: str) -> WrappedKey | None:
        """Return the newest key of a scope."""
        return next((each for each in reversed(self.keys) if each.scope == scope), None)

    def named(self, key_id: str) -> WrappedKey | None:
        return next((each for each in self.keys if each.id == key_id), None)

    def with_key(self, key: WrappedKey) -> Self:
        return replace(self, keys=(*self.keys, key))

    def without(self, ids: Collection[str]) -> Self:
        return replace(self, keys=tuple(each for each in self.keys if each.id not in ids))

    def moved(self, source: str, keys: list[WrappedKey]) -> Self:
        return replace(self, source=source, keys=tuple(keys))


def encode_key_document(document: KeyDocument) -> bytes:
    keys = [
        {"id": each.id, "scope": each.scope, "created_at": each.created_at, "wrapped": to_base64(each.wrapped)}
        for each in document.keys
    ]
    head = {"kind": KIND, "version": VERSION, "tenant": document.tenant, "source": document.source}
    return json_codec.encode_pretty({**head, "scope": document.scope, "keys": keys}) + b"\n"


def decode_key_document(data: bytes, name: str, tenant: str) -> KeyDocument:
    """Decode a document. Raises VaultDamaged for an invalid one, a newer version, or another tenant."""
    try:
        found = json_codec.decode_json(data)
        if (found["kind"], found["version"]) != (KIND, VERSION):
            raise ValueError(f"unknown version {found['version']}")
        keys = tuple(_key(each) for each in found["keys"])
        document = KeyDocument(str(found["tenant"]), str(found["source"]), str(found["scope"]), keys)
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, ValueError) as error:
        raise VaultDamaged(f"{name} contains no valid data keys: {error}") from None
    if document.tenant != tenant:
        raise VaultDamaged(
            f"{name} contains the data keys of the tenant {document.tenant}, but those of {tenant} are expected"
        )
    return document


def _key(found: JsonObject) -> WrappedKey:
    return WrappedKey(str(found["id"]), str(found["scope"]), str(found["created_at"]), from_base64(found["wrapped"]))


def pack_key_payload(key: bytes, wrapped: WrappedKey, tenant: str) -> bytes:
    """Return what the source wraps: the key together with its owner."""
    return json_codec.encode_canonical(
        {"tenant": tenant, "scope": wrapped.scope, "id": wrapped.id, "key": to_base64(key)}
    )


def unpack_key_payload(data: bytes, tenant: str, wrapped: WrappedKey) -> bytes:
    """Return the key in a payload. Raises VaultDamaged when it has another owner."""
    try:
        found = json_codec.decode_json(data)
        owner = (found["tenant"], found["scope"], found["id"])
        key = from_base64(found["key"], KEY_BYTES)
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, ValueError):
        raise VaultDamaged(f"the decrypted content of data key {wrapped.id} is not a key") from None
    if owner != (tenant, wrapped.scope, wrapped.id):
        raise VaultDamaged(f"the stored data of the data key {wrapped.id} contains another data key")
    return key
