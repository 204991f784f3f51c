"""Which model an agent runs on, from the configuration (ALF §3.2.5)."""

from __future__ import annotations

from typing import NamedTuple

from lifeboat_adapters.zeroclaw import config
from lifeboat_alf.json_types import JsonObject

_PROVIDER = ("default_provider", "default_model_provider", "model_provider")
_MODEL = ("default_model", "model")


class Model(NamedTuple):
    """`name` is `provider/model`, or the model alone where no provider is named."""

    provider: str | None
    name: str


def of_agent(values: JsonObject, alias: str) -> Model | None:
    """The model of an agent; None where none is configured."""
    if config.schema(values) >= config.CURRENT_SCHEMA:
        return _referred(values, config.text(values, "agents", alias, "model_provider"))
    return _named(_default(values, _PROVIDER), _default(values, _MODEL))


def _default(values: JsonObject, names: tuple[str, ...]) -> str | None:
    """A setting of an early configuration: on top, or in `[providers]` where schema 2 has it."""
    said = (config.text(table, name) for table in (values, config.get(values, "providers")) for name in names)
    return next((text for text in said if text), None)


def of_helper(values: JsonObject, name: str) -> str | None:
    """The model of an agent that another one hands work to."""
    table = config.get(values, "agents", name)
    if config.schema(values) >= config.CURRENT_SCHEMA:
        found = _referred(values, config.text(table, "model_provider"))
    else:
        found = _named(config.text(table, "provider"), config.text(table, "model"))
    return found.name if found else None


def _referred(values: JsonObject, reference: str | None) -> Model | None:
    """`<type>.<alias>` in `[providers.models]`."""
    kind, _, alias = (reference or "").partition(".")
    return _named(kind, config.text(values, "providers", "models", kind, alias, "model")) if kind and alias else None


def _named(provider: str | None, model: str | None) -> Model | None:
    if model is None:
        return None
    is_whole = provider is None or model.startswith(f"{provider}/")
    return Model(provider, model if is_whole else f"{provider}/{model}")
