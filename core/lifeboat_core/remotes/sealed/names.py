"""Names that stand in a head: of the agent, its runtime, and the machine that wrote last. Sealed with the log's key."""

from __future__ import annotations

import msgspec

from lifeboat_alf import codec
from lifeboat_alf.json_types import JsonObject
from lifeboat_core.remotes.sealed.head import Head
from lifeboat_core.remotes.sealed.log_key import Sealing
from lifeboat_keys.encodings import from_base64, to_base64
from lifeboat_vault.errors import RemoteDamaged

_KIND = "names"


class Names(msgspec.Struct, frozen=True):
    """`machine` is what its user calls the machine `machine_of` (the id of a device)."""

    name: str = ""
    runtime: str = ""
    machine: str = ""
    machine_of: str = ""


def sealed(names: Names, key: Sealing, *, plain: bool) -> str | JsonObject:
    document: JsonObject = msgspec.to_builtins(names)
    return document if plain else to_base64(key.seal(_KIND, codec.encode(document)))


def opened(head: Head, key: Sealing | None) -> Names:
    """No names where the key is away. Raises RemoteDamaged."""
    try:
        if isinstance(head.names, dict):
            return msgspec.convert(head.names, Names)
        if key is None:
            return Names()
        return msgspec.json.decode(key.open(_KIND, from_base64(head.names)), type=Names)
    except ValueError as error:  # msgspec's errors are among them
        raise RemoteDamaged(f"the names in the head of the log cannot be read: {error}") from None
