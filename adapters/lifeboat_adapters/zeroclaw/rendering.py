"""Files of a ZeroClaw agent from its structured layers, where raw has none or what they say has changed (ALF §6.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lifeboat_adapters.contract import Rendered
from lifeboat_adapters.merging import Change
from lifeboat_adapters.notes.rendering import MERGED, STRUCTURED, memory_files
from lifeboat_adapters.persona import rendering
from lifeboat_adapters.persona.documents import StateFiles, text_of
from lifeboat_adapters.purposes import DEFAULT, PROVIDERS, name_of
from lifeboat_adapters.zeroclaw import config, paths
from lifeboat_adapters.zeroclaw.layers import aieos_synthesis, documents, hints
from lifeboat_adapters.zeroclaw.layers import identity as layers
from lifeboat_adapters.zeroclaw.layers.aieos_merging import merged
from lifeboat_adapters.zeroclaw.layers.aieos_text import rewritten
from lifeboat_adapters.zeroclaw.layers.documents import Aieos
from lifeboat_adapters.zeroclaw.memories import notes
from lifeboat_adapters.zeroclaw.restore import installing, toml_text
from lifeboat_adapters.zeroclaw.restore.provider_names import provider_name
from lifeboat_alf import layout
from lifeboat_alf.json_shapes import as_object
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.state import State

AIEOS_FILE = "identity.json"
_PROSE = ("soul", "identity_profile", "operating_instructions")
_PROFILES = ("risk_profile", "runtime_profile")


def render(state: State) -> Iterator[Rendered]:
    """Files under `raw/zeroclaw/` and `raw/zeroclaw-home/`. A file that a raw entry already gives is left out, and so
    are memories where they are rows."""
    files = StateFiles(state)
    identity = rendering.document(state, layout.IDENTITY)
    values = documents.config_of(files)
    source = _source(state, files, values)
    yield from _persona(state, files, identity, source)
    if values and config.backend(values, _configured_alias(state, values)) == config.MARKDOWN:
        primary = rendering.primary_human(state)
        has_profile = bool(primary.get("profile"))
        yield from memory_files(
            state, paths.RAW, str(primary.get("id", "")), has_profile=has_profile, split=notes.split
        )
    edited = _edited(state, files, identity, source)
    if edited is not None and source is not None and source.path:
        yield Rendered(source.path, edited, MERGED if source.document else STRUCTURED)
    if values is None:
        return
    if files.read(documents.CONFIG) is None:
        yield Rendered(documents.CONFIG, toml_text.written(fresh_config(state, source)), STRUCTURED)
    elif edited is not None and source is not None and not source.path:
        yield Rendered(documents.CONFIG, _with_inline(state, files, values, edited), MERGED)


def _configured_alias(state: State, values: JsonObject) -> str:
    """What the agent is called in the configuration of an archive."""
    alias = installing.source_alias(state)
    known = [agent.alias for agent in config.agents(values)]
    return alias if alias in known or not known else known[0]


def _source(state: State, files: StateFiles, values: JsonObject | None) -> Aieos | None:
    """The AIEOS document that the agent has, or is to have."""
    if values is None:
        return None
    if files.read(documents.CONFIG) is not None:
        return documents.aieos_of(files, values, _configured_alias(state, values))
    head = rendering.document(state, layout.MANIFEST)
    was_used = config.text(head, "adapter_hints", paths.RUNTIME, "identity_format") == documents.AIEOS
    identity = rendering.document(state, layout.IDENTITY)
    prose = as_object(identity.get("prose"))
    is_structured = bool(identity.get("structured")) and not any(str(prose.get(name) or "").strip() for name in _PROSE)
    return documents.aieos_at(files, paths.RAW + AIEOS_FILE) if was_used or is_structured else None


def _persona(state: State, files: StateFiles, identity: JsonObject, source: Aieos | None) -> Iterator[Rendered]:
    """Markdown. An agent that lives by its AIEOS document gets no prose that is made of the same."""
    made = set(_PROSE)
    if source is not None:
        helpers = as_object(identity.get("structured")).get("sub_agents")
        made = {"operating_instructions"} if helpers and files.read(documents.CONFIG) is None else set()
    texts = rendering.files(layers.PERSONA, identity, rendering.primary_human(state), files, made=made)
    for name, text in texts.items():
        path = paths.RAW + name
        if text.strip() and text_of(files, path) != text:
            yield Rendered(path, text.encode("utf-8", "replace"), STRUCTURED)


def _edited(state: State, files: StateFiles, identity: JsonObject, source: Aieos | None) -> bytes | None:
    """The AIEOS document with what changed in the identity since its files were read; None when nothing did."""
    now = as_object(identity.get("structured"))
    if source is None or not now or (source.path and not source.path.startswith(paths.RAW)):
        return None
    if source.document is None:
        is_missing = source.text is None and bool(source.path)
        return aieos_synthesis.text(aieos_synthesis.made(identity)) if is_missing else None
    if aieos_synthesis.is_own(source.document):
        wanted = aieos_synthesis.made(identity)
    else:
        alias = _configured_alias(state, documents.config_of(files) or {})
        before = layers.said(files, alias, source)["structured"]
        wanted = merged(source.document, before, now)
    return None if wanted == source.document else rewritten(source.text or b"", source.document, wanted)


def _with_inline(state: State, files: StateFiles, values: JsonObject, document: bytes) -> bytes:
    """The configuration with another document in it."""
    table = ("agents", _configured_alias(state, values)) if config.schema(values) >= config.CURRENT_SCHEMA else ()
    change = Change((*table, "identity", "aieos_inline"), document.decode())
    return toml_text.change(files.read(documents.CONFIG) or b"", [change]).data


def fresh_config(state: State, source: Aieos | None) -> JsonObject:
    """A small configuration for an agent that comes from another runtime: model, identity, and memory settings that
    it had in ZeroClaw. Without profiles ZeroClaw shows an agent and runs no turn of it."""
    head = rendering.document(state, layout.MANIFEST)
    agent: JsonObject = {"enabled": True} | dict.fromkeys(_PROFILES, DEFAULT)
    values: JsonObject = {"schema_version": config.CURRENT_SCHEMA} | {f"{kind}s": {DEFAULT: {}} for kind in _PROFILES}
    model = _model(head)
    if model is not None:
        type_, alias, name = model
        values["providers"] = {"models": {type_: {alias: {"model": name}}}}
        agent["model_provider"] = f"{type_}.{alias}"
    if source is not None:
        agent["identity"] = {"format": documents.AIEOS, "aieos_path": source.path.removeprefix(paths.RAW)}
    return values | {"agents": {installing.source_alias(state): agent}, "memory": _memory(head)}


def _model(head: JsonObject) -> tuple[str, str, str] | None:
    """Type and alias of the provider, and the model's name there; None where the provider is not known."""
    model = config.text(head, "runtime_hints", "last_model")
    provider = config.text(head, "runtime_hints", "provider") or (model or "").rpartition("/")[0].partition("/")[0]
    if not model or not provider:
        return None
    type_, alias, _ = provider_name(provider)
    if type_ not in PROVIDERS:
        type_, alias = "custom", name_of(provider) or DEFAULT
    return type_, alias, model.removeprefix(f"{provider}/")


def _memory(head: JsonObject) -> JsonObject:
    """`[memory]` with the search weights and the embedding that the agent had."""
    own = _table(head, "adapter_hints", paths.RUNTIME)
    embedding = _table(own, "embedding")
    told = {f"embedding_{key}": embedding[key] for key in hints.EMBEDDING if isinstance(embedding.get(key), str | int)}
    plain = {**_table(own, "memory"), **{key: own.get(key) for key in (*hints.WEIGHTS, "auto_save")}}
    settings = {key: value for key, value in plain.items() if isinstance(value, bool | int | float)}
    return {"backend": config.SQLITE, **settings, **told}


def _table(values: Any, *keys: str) -> JsonObject:
    found = config.get(values, *keys)
    return found if isinstance(found, dict) else {}
