"""Read the configured model of an agent (ALF §3.2.5)."""

from __future__ import annotations

from typing import NamedTuple

from lifeboat_adapters.zeroclaw import zeroclaw_config
from lifeboat_alf.common.json_types import JsonObject

_PROVIDER = ("default_provider", "default_model_provider", "model_provider")
_MODEL = ("default_model", "model")


class ConfiguredModel(NamedTuple):
    """A configured model. `name` is `provider/model`, or the model alone when no provider is named."""

    provider: str | None
    name: str


def model_of_agent(values: JsonObject, alias: str) -> ConfiguredModel | None:
    """Return the model of an agent, None when none is configured."""
    if zeroclaw_config.schema_version_of(values) >= zeroclaw_config.CURRENT_SCHEMA:
        return _referred(values, zeroclaw_config.get_nested_text(values, "agents", alias, "model_provider"))
    return _named(_default(values, _PROVIDER), _default(values, _MODEL))


def _default(values: JsonObject, names: tuple[str, ...]) -> str | None:
    """Return a setting of an early configuration: from the top, or from `[providers]`, where schema 2 has it."""
    said = (
        zeroclaw_config.get_nested_text(table, name)
        for table in (values, zeroclaw_config.get_nested(values, "providers"))
        for name in names
    )
    return next((text for text in said if text), None)


def model_of_helper(values: JsonObject, name: str) -> str | None:
    """Return the model of an agent that another one delegates to."""
    table = zeroclaw_config.get_nested(values, "agents", name)
    if zeroclaw_config.schema_version_of(values) >= zeroclaw_config.CURRENT_SCHEMA:
        found = _referred(values, zeroclaw_config.get_nested_text(table, "model_provider"))
    else:
        found = _named(
            zeroclaw_config.get_nested_text(table, "provider"), zeroclaw_config.get_nested_text(table, "model")
        )
    return found.name if found else None


def _referred(values: JsonObject, reference: str | None) -> ConfiguredModel | None:
    """Return the model that `<type>.<alias>` refers to in `[providers.models]`."""
    kind, _, alias = (reference or "").partition(".")
    return (
        _named(kind, zeroclaw_config.get_nested_text(values, "providers", "models", kind, alias, "model"))
        if kind and alias
        else None
    )


def _named(provider: str | None, model: str | None) -> ConfiguredModel | None:
    if model is None:
        return None
    is_whole = provider is None or model.startswith(f"{provider}/")
    return ConfiguredModel(provider, model if is_whole else f"{provider}/{model}")
