"""What the agent ran on, and what the manifest says of its runtime (ALF §3.2.5, §4.2)."""

from __future__ import annotations

from lifeboat_adapters.contract import Derivation, DerivationContext, Files
from lifeboat_adapters.openclaw import config, paths
from lifeboat_adapters.openclaw.documents import config_of
from lifeboat_adapters.openclaw.layers import identity, subagents
from lifeboat_adapters.persona import hints, overlay, reading
from lifeboat_adapters.persona.documents import text_of
from lifeboat_alf.json_types import JsonObject

_CONFIG = paths.HOME + paths.CONFIG


def reads_config(path: str) -> bool:
    return path == _CONFIG


def runtime_hints(files: Files, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    """The configured model; nothing where none is configured."""
    values = config_of(files)
    model = subagents.model_of(values, config.agent(values, context.installation.native_id))
    if model is None:
        return previous
    provider = model.partition("/")[0] if "/" in model else None
    return hints.hints(previous, model, {"provider": provider, "context_window": _window(values, model)})


def _window(values: JsonObject, model: str) -> int | None:
    """The context window of a model, where its provider's entry says it."""
    provider, _, name = model.partition("/")
    offered = config.get(values, "models", "providers", provider, "models")
    for entry in offered if isinstance(offered, list) else []:
        window = config.get(entry, "contextWindow")
        if config.get(entry, "id") == name and isinstance(window, int) and not isinstance(window, bool):
            return window
    return None


def reads_manifest(path: str) -> bool:
    return path in (_CONFIG, paths.RAW + paths.IDENTITY)


def manifest(files: Files, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    """The agent's name and version of the runtime, and how it was laid out."""
    values = config_of(files)
    said = reading.pairs(text_of(files, paths.RAW + paths.IDENTITY))
    found = context.installation
    agent = {
        "name": identity.configured_name(values, found.native_id) or said.get("name") or found.name,
        "source_runtime_version": config.text(values, "meta", "lastTouchedVersion") or found.version,
    }
    search = config.get(values, "memory", "search") or config.get(values, "memorySearch")
    own = {
        "agent_id": found.native_id,
        "layout": found.layout,
        "memory_slot": config.text(values, "plugins", "slots", "memory"),
        "memory_search": {"provider": config.text(search, "provider"), "model": config.text(search, "model")},
    }
    return overlay.without_empty({"agent": agent, "adapter_hints": {paths.RUNTIME: own}})


DERIVATIONS = (
    Derivation("runtime_hints", reads_config, runtime_hints),
    Derivation("manifest", reads_manifest, manifest),
)
