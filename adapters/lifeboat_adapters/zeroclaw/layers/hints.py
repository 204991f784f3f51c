"""What the agent ran on, and what the manifest says of its runtime (ALF §3.2.5, §4.2)."""

from __future__ import annotations

from lifeboat_adapters.contract import Derivation, DerivationContext, Files
from lifeboat_adapters.persona import hints, overlay, reading
from lifeboat_adapters.persona.documents import text_of
from lifeboat_adapters.zeroclaw import config, paths
from lifeboat_adapters.zeroclaw.layers import aieos, documents, identity, models
from lifeboat_alf.json_types import JsonObject

WEIGHTS = ("vector_weight", "keyword_weight")
EMBEDDING = ("provider", "model", "dimensions")


def reads_config(path: str) -> bool:
    return path == documents.CONFIG


def runtime_hints(files: Files, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    """The configured model; nothing where none is configured."""
    found = models.of_agent(documents.config_of(files) or {}, context.installation.native_id)
    return previous if found is None else hints.hints(previous, found.name, {"provider": found.provider})


def manifest(files: Files, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    """The agent's name and version of the runtime, how it was laid out, and the settings of its memory."""
    values = documents.config_of(files)
    if values is None:
        return None
    found = context.installation
    own = {
        "alias": found.native_id,
        "layout": found.layout,
        "identity_format": config.text(documents.identity_settings(values, found.native_id), "format"),
        **memory_settings(values, found.native_id),
    }
    name = name_of(files, values, found.native_id, str(found.workspace)) or found.name
    agent = {"name": name, "source_runtime_version": found.version}
    return overlay.without_empty({"agent": agent, "adapter_hints": {paths.RUNTIME: own}})


def name_of(files: Files, values: JsonObject, alias: str, workspace: str) -> str:
    """The name that the AIEOS document or IDENTITY.md gives the agent, "" when neither does."""
    source = documents.aieos_of(files, values, alias, workspace)
    document = source.document if source is not None and source.document is not None else {}
    named = aieos.from_aieos(document).get("names") or {}
    return str(named.get("primary") or reading.pairs(text_of(files, paths.RAW + paths.IDENTITY)).get("name") or "")


def memory_settings(values: JsonObject, alias: str) -> JsonObject:
    """Backend, search weights, embedding and the other settings of memory that are numbers or flags."""
    table = config.get(values, "memory")
    settings = table if isinstance(table, dict) else {}
    plain = {key: value for key, value in settings.items() if isinstance(value, bool | int | float)}
    top = (*WEIGHTS, "auto_save")
    embedding = {key: settings.get(f"embedding_{key}") for key in EMBEDDING}
    rest = {key: value for key, value in plain.items() if key not in top and not key.startswith("embedding_")}
    said = {key: value for key, value in embedding.items() if isinstance(value, str | int)}
    backend = config.backend(values, alias) if values else None
    return {"backend": backend, **{key: plain.get(key) for key in top}, "embedding": said, "memory": rest}


DERIVATIONS = (
    Derivation("runtime_hints", reads_config, runtime_hints),
    Derivation("manifest", identity.reads, manifest),
)
