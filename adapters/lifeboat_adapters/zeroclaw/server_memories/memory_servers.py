"""Determine the server of an agent's memories from ZeroClaw's configuration. Addresses and keys are secrets and never
appear in messages."""

from __future__ import annotations

from dataclasses import dataclass, field

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError, SecretsError
from lifeboat_adapters.memory_stores import VectorModel
from lifeboat_adapters.zeroclaw import zeroclaw_config
from lifeboat_adapters.zeroclaw.credentials import secret_encryption
from lifeboat_alf.common.json_types import JsonObject

CONNECT_SECONDS, STATEMENT_SECONDS = 5, 60
FIX = "zeroclaw doctor"
_DEFAULT_COLLECTION = "zeroclaw_memories"
_DEFAULT_SCHEMA, _DEFAULT_TABLE = "public", "memories"
_EARLY = {zeroclaw_config.POSTGRES: ("storage", "provider", "config"), zeroclaw_config.QDRANT: ("memory", "qdrant")}


@dataclass(frozen=True, slots=True)
class MemoryServer:
    """The address of a store. `place` is (schema, table) or (collection,). `model` is the model with which the runtime
    computes vectors, None when it computes none."""

    kind: str
    address: str = field(repr=False)
    place: tuple[str, ...]
    api_key: str | None = field(default=None, repr=False)
    model: VectorModel | None = None


def memory_server_of(installation: Installation, values: JsonObject, kind: str) -> MemoryServer:
    """Return the server of an agent. Raises RuntimeDatabaseError when the configuration cannot be read or does not name
    it."""
    table = _table(values, installation.native_id, kind)
    key = _key(installation)
    model = _model(values)
    if kind == zeroclaw_config.POSTGRES:
        address = _readable(zeroclaw_config.get_nested_text(table, "db_url"), key, "db_url")
        place = (
            zeroclaw_config.get_nested_text(table, "schema") or _DEFAULT_SCHEMA,
            zeroclaw_config.get_nested_text(table, "table") or _DEFAULT_TABLE,
        )
        return MemoryServer(kind, address, place, None, model)
    address = _readable(zeroclaw_config.get_nested_text(table, "url"), key, "url")
    written = zeroclaw_config.get_nested_text(table, "api_key")
    api_key = None if written is None else _readable(written, key, "api_key")
    return MemoryServer(
        kind, address, (zeroclaw_config.get_nested_text(table, "collection") or _DEFAULT_COLLECTION,), api_key, model
    )


def _table(values: JsonObject, alias: str, kind: str) -> JsonObject:
    """Return the part of the configuration that describes the server, {} when there is none."""
    found = None
    if zeroclaw_config.schema_version_of(values) >= zeroclaw_config.CURRENT_SCHEMA:
        every = zeroclaw_config.get_nested(values, "storage", kind)
        found = _named(every, values, alias, kind) if isinstance(every, dict) else None
    else:
        found = zeroclaw_config.get_nested(values, *_EARLY[kind])
    return found if isinstance(found, dict) else {}


def _named(every: JsonObject, values: JsonObject, alias: str, kind: str) -> JsonObject | None:
    """Return the entry that the agent or the installation names, otherwise `default`, otherwise the only one."""
    written = (
        zeroclaw_config.get_nested_text(values, "agents", alias, "memory", "backend"),
        zeroclaw_config.get_nested_text(values, "memory", "backend"),
    )
    parts = [name.partition(".") for name in written if name]
    names = [server for backend, _, server in parts if backend.lower() == kind and server]
    found: JsonObject | None = every.get([*names, "default"][0])
    return next(iter(every.values())) if found is None and not names and len(every) == 1 else found


def _key(installation: Installation) -> bytes | None:
    try:
        return None if installation.config is None else secret_encryption.read_key(installation.config.parent)
    except SecretsError as error:
        raise RuntimeDatabaseError(str(error), fix=FIX) from None


def _readable(written: str | None, key: bytes | None, name: str) -> str:
    if written is None:
        raise RuntimeDatabaseError(
            f"the configuration has no value for {name}, so Lifeboat does not know which server stores the memories",
            fix=FIX,
        )
    if secret_encryption.is_reference(written):
        raise RuntimeDatabaseError(
            f"{name} of the memory server is stored in 1Password, which Lifeboat does not read", fix=FIX
        )
    try:
        return secret_encryption.decrypt_secret(written, key)
    except SecretsError as error:
        raise RuntimeDatabaseError(f"{name} of the memory server cannot be decrypted: {error}", fix=FIX) from None


def _model(values: JsonObject) -> VectorModel | None:
    """Return the model that computes vectors. A server does not record the model of its vectors; ZeroClaw assumes this
    one."""
    provider = zeroclaw_config.get_nested_text(values, "memory", "embedding_provider")
    if provider in (None, "none"):
        return None
    model = zeroclaw_config.get_nested_text(values, "memory", "embedding_model") or "text-embedding-3-small"
    dimensions = zeroclaw_config.get_nested(values, "memory", "embedding_dimensions")
    return VectorModel(f"{provider}/{model}", dimensions if isinstance(dimensions, int) and dimensions > 0 else 1536)
