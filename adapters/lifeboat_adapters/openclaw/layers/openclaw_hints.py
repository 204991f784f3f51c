"""Derive the models that the agent ran on, and the manifest fields about its runtime (ALF §3.2.5, §4.2)."""

from __future__ import annotations

from lifeboat_adapters.contract import AgentFiles, Derivation, DerivationContext
from lifeboat_adapters.openclaw import openclaw_config, openclaw_paths
from lifeboat_adapters.openclaw.layers import openclaw_identity, subagents
from lifeboat_adapters.openclaw.openclaw_config import captured_config_of
from lifeboat_adapters.persona import identity_overlay, markdown_fields, model_hints
from lifeboat_adapters.persona.derivation_files import read_file_text
from lifeboat_alf.common.json_types import JsonObject

_CONFIG = openclaw_paths.HOME + openclaw_paths.CONFIG


def is_config_file_path(path: str) -> bool:
    """Return whether a path is the configuration."""
    return path == _CONFIG


def derive_openclaw_hints(
    files: AgentFiles, previous: JsonObject | None, context: DerivationContext
) -> JsonObject | None:
    """Return the hints with the configured model, None when none is configured."""
    values = captured_config_of(files)
    model = subagents.configured_model_of(
        values, openclaw_config.find_openclaw_agent(values, context.installation.native_id)
    )
    if model is None:
        return previous
    provider = model.partition("/")[0] if "/" in model else None
    return model_hints.update_model_hints(
        previous, model, {"provider": provider, "context_window": _window(values, model)}
    )


def _window(values: JsonObject, model: str) -> int | None:
    """Return the context window of a model from the entry of its provider, None when it is not there."""
    provider, _, name = model.partition("/")
    offered = openclaw_config.get_nested(values, "models", "providers", provider, "models")
    for entry in offered if isinstance(offered, list) else []:
        window = openclaw_config.get_nested(entry, "contextWindow")
        if openclaw_config.get_nested(entry, "id") == name and isinstance(window, int) and not isinstance(window, bool):
            return window
    return None


def reads_manifest(path: str) -> bool:
    """Return whether the manifest fields depend on a file."""
    return path in (_CONFIG, openclaw_paths.RAW + openclaw_paths.IDENTITY)


def derive_openclaw_manifest(
    files: AgentFiles, previous: JsonObject | None, context: DerivationContext
) -> JsonObject | None:
    """Return the agent's name, the version of the runtime, and the layout."""
    values = captured_config_of(files)
    said = markdown_fields.key_value_pairs(read_file_text(files, openclaw_paths.RAW + openclaw_paths.IDENTITY))
    found = context.installation
    agent = {
        "name": openclaw_identity.configured_name(values, found.native_id) or said.get("name") or found.name,
        "source_runtime_version": openclaw_config.get_nested_text(values, "meta", "lastTouchedVersion")
        or found.version,
    }
    search = openclaw_config.get_nested(values, "memory", "search") or openclaw_config.get_nested(
        values, "memorySearch"
    )
    own = {
        "agent_id": found.native_id,
        "layout": found.layout,
        "memory_slot": openclaw_config.get_nested_text(values, "plugins", "slots", "memory"),
        "memory_search": {
            "provider": openclaw_config.get_nested_text(search, "provider"),
            "model": openclaw_config.get_nested_text(search, "model"),
        },
    }
    return identity_overlay.without_empty({"agent": agent, "adapter_hints": {openclaw_paths.RUNTIME: own}})


DERIVATIONS = (
    Derivation("runtime_hints", is_config_file_path, derive_openclaw_hints),
    Derivation("manifest", reads_manifest, derive_openclaw_manifest),
)
