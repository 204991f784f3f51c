"""Names in a head: of the agent, its runtime, and the machine that wrote last. They are sealed with the log's key."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.remotes.sealed.log_head import LogHead
from lifeboat_core.remotes.sealed.log_key import LogCipher
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_vault.errors import RemoteDamaged

_KIND = "names"


class LogNames(msgspec.Struct, frozen=True):
    """`machine` is the user's name for the machine `machine_of` (the id of a device)."""

    name: str = ""
    runtime: str = ""
    machine: str = ""
    machine_of: str = ""


def seal_names(names: LogNames, key: LogCipher, *, plain: bool) -> str | JsonObject:
    document: JsonObject = msgspec.to_builtins(names)
    return document if plain else to_base64(key.seal(_KIND, json_codec.encode_json(document)))


def open_names(head: LogHead, key: LogCipher | None) -> LogNames:
    """Return the names, empty ones while the key is away. Raises RemoteDamaged."""
    try:
        if isinstance(head.names, dict):
            return msgspec.convert(head.names, LogNames)
        if key is None:
            return LogNames()
        return msgspec.json.decode(key.open(_KIND, from_base64(head.names)), type=LogNames)
    except ValueError as error:  # errors of msgspec are ValueErrors
        raise RemoteDamaged(f"the names in the head of the log cannot be read: {error}") from None
