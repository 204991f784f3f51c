"""Derive the models that the agent ran on, and the manifest fields about its runtime (ALF §3.2.5, §4.2)."""

from __future__ import annotations

from lifeboat_adapters.contract import AgentFiles, Derivation, DerivationContext
from lifeboat_adapters.persona import identity_overlay, markdown_fields, model_hints
from lifeboat_adapters.persona.derivation_files import read_file_text
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.layers import aieos, aieos_documents, configured_models, zeroclaw_identity
from lifeboat_alf.common.json_types import JsonObject

WEIGHTS = ("vector_weight", "keyword_weight")
EMBEDDING = ("provider", "model", "dimensions")


def is_config_path(path: str) -> bool:
    """Return whether a path is the configuration."""
    return path == aieos_documents.CONFIG


def derive_zeroclaw_hints(
    files: AgentFiles, previous: JsonObject | None, context: DerivationContext
) -> JsonObject | None:
    """Return the hints with the configured model, None when none is configured."""
    found = configured_models.model_of_agent(
        aieos_documents.captured_zeroclaw_config(files) or {}, context.installation.native_id
    )
    return (
        previous
        if found is None
        else model_hints.update_model_hints(previous, found.name, {"provider": found.provider})
    )


def derive_zeroclaw_manifest(
    files: AgentFiles, previous: JsonObject | None, context: DerivationContext
) -> JsonObject | None:
    """Return the agent's name, the version of the runtime, the layout, and the settings of its memory."""
    values = aieos_documents.captured_zeroclaw_config(files)
    if values is None:
        return None
    found = context.installation
    own = {
        "alias": found.native_id,
        "layout": found.layout,
        "identity_format": zeroclaw_config.get_nested_text(
            aieos_documents.identity_settings(values, found.native_id), "format"
        ),
        **memory_settings(values, found.native_id),
    }
    name = find_agent_name(files, values, found.native_id, str(found.workspace)) or found.name
    agent = {"name": name, "source_runtime_version": found.version}
    return identity_overlay.without_empty({"agent": agent, "adapter_hints": {zeroclaw_paths.RUNTIME: own}})


def find_agent_name(files: AgentFiles, values: JsonObject, alias: str, workspace: str) -> str:
    """Return the name of the agent in the AIEOS document or IDENTITY.md, "" when neither has one."""
    source = aieos_documents.find_agent_aieos(files, values, alias, workspace)
    document = source.document if source is not None and source.document is not None else {}
    named = aieos.from_aieos(document).get("names") or {}
    return str(
        named.get("primary")
        or markdown_fields.key_value_pairs(read_file_text(files, zeroclaw_paths.RAW + zeroclaw_paths.IDENTITY)).get(
            "name"
        )
        or ""
    )


def memory_settings(values: JsonObject, alias: str) -> JsonObject:
    """Return backend, search weights, embedding, and the other memory settings that are numbers or flags."""
    table = zeroclaw_config.get_nested(values, "memory")
    settings = table if isinstance(table, dict) else {}
    plain = {key: value for key, value in settings.items() if isinstance(value, bool | int | float)}
    top = (*WEIGHTS, "auto_save")
    embedding = {key: settings.get(f"embedding_{key}") for key in EMBEDDING}
    rest = {key: value for key, value in plain.items() if key not in top and not key.startswith("embedding_")}
    said = {key: value for key, value in embedding.items() if isinstance(value, str | int)}
    backend = zeroclaw_config.configured_backend(values, alias) if values else None
    return {"backend": backend, **{key: plain.get(key) for key in top}, "embedding": said, "memory": rest}


DERIVATIONS = (
    Derivation("runtime_hints", is_config_path, derive_zeroclaw_hints),
    Derivation("manifest", zeroclaw_identity.is_read_for_zeroclaw_identity, derive_zeroclaw_manifest),
)
