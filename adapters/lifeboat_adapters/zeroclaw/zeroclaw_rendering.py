"""Render files of a ZeroClaw agent from its structured layers, where raw files are missing or their values have changed
(ALF §6.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lifeboat_adapters.additive_merging import ValueChange
from lifeboat_adapters.contract import RenderedFile
from lifeboat_adapters.credential_purposes import DEFAULT, PROVIDERS, config_name_of
from lifeboat_adapters.notes.note_rendering import MERGED, STRUCTURED, render_notes
from lifeboat_adapters.persona import persona_files
from lifeboat_adapters.persona.derivation_files import StateFiles, read_file_text
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.layers import aieos_documents, aieos_synthesis, zeroclaw_hints
from lifeboat_adapters.zeroclaw.layers import zeroclaw_identity as layers
from lifeboat_adapters.zeroclaw.layers.aieos_documents import AieosDocument
from lifeboat_adapters.zeroclaw.layers.aieos_merging import merge_aieos
from lifeboat_adapters.zeroclaw.layers.aieos_text import rewrite_aieos_text
from lifeboat_adapters.zeroclaw.memories import zeroclaw_notes
from lifeboat_adapters.zeroclaw.restore import toml_editing, zeroclaw_installation
from lifeboat_adapters.zeroclaw.restore.provider_names import provider_name
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State

AIEOS_FILE = "identity.json"
_PROSE = ("soul", "identity_profile", "operating_instructions")
_PROFILES = ("risk_profile", "runtime_profile")


def render_zeroclaw_files(state: State) -> Iterator[RenderedFile]:
    """Yield files under `raw/zeroclaw/` and `raw/zeroclaw-home/`. Files that a raw entry already provides are left out,
    and so are memories that are rows."""
    files = StateFiles(state)
    identity = persona_files.decode_document(state, archive_layout.IDENTITY)
    values = aieos_documents.captured_zeroclaw_config(files)
    source = _source(state, files, values)
    yield from _persona(state, files, identity, source)
    if (
        values
        and zeroclaw_config.configured_backend(values, _configured_alias(state, values)) == zeroclaw_config.MARKDOWN
    ):
        primary = persona_files.find_primary_human(state)
        has_profile = bool(primary.get("profile"))
        yield from render_notes(
            state,
            zeroclaw_paths.RAW,
            str(primary.get("id", "")),
            has_profile=has_profile,
            split=zeroclaw_notes.split_zeroclaw_note,
        )
    edited = _edited(state, files, identity, source)
    if edited is not None and source is not None and source.path:
        yield RenderedFile(source.path, edited, MERGED if source.document else STRUCTURED)
    if values is None:
        return
    if files.read(aieos_documents.CONFIG) is None:
        yield RenderedFile(
            aieos_documents.CONFIG, toml_editing.format_toml(make_fresh_config(state, source)), STRUCTURED
        )
    elif edited is not None and source is not None and not source.path:
        yield RenderedFile(aieos_documents.CONFIG, _with_inline(state, files, values, edited), MERGED)


def _configured_alias(state: State, values: JsonObject) -> str:
    """Return the name of the agent in the configuration of an archive."""
    alias = zeroclaw_installation.source_alias(state)
    known = [agent.alias for agent in zeroclaw_config.list_zeroclaw_agents(values)]
    return alias if alias in known or not known else known[0]


def _source(state: State, files: StateFiles, values: JsonObject | None) -> AieosDocument | None:
    """Return the AIEOS document that the agent has, or will have."""
    if values is None:
        return None
    if files.read(aieos_documents.CONFIG) is not None:
        return aieos_documents.find_agent_aieos(files, values, _configured_alias(state, values))
    head = persona_files.decode_document(state, archive_layout.MANIFEST)
    was_used = (
        zeroclaw_config.get_nested_text(head, "adapter_hints", zeroclaw_paths.RUNTIME, "identity_format")
        == aieos_documents.AIEOS
    )
    identity = persona_files.decode_document(state, archive_layout.IDENTITY)
    prose = as_object(identity.get("prose"))
    is_structured = bool(identity.get("structured")) and not any(str(prose.get(name) or "").strip() for name in _PROSE)
    return aieos_documents.read_aieos_at(files, zeroclaw_paths.RAW + AIEOS_FILE) if was_used or is_structured else None


def _persona(
    state: State, files: StateFiles, identity: JsonObject, source: AieosDocument | None
) -> Iterator[RenderedFile]:
    """Return the Markdown files. An agent that follows an AIEOS document gets no prose made from the same fields."""
    made = set(_PROSE)
    if source is not None:
        helpers = as_object(identity.get("structured")).get("sub_agents")
        made = {"operating_instructions"} if helpers and files.read(aieos_documents.CONFIG) is None else set()
    texts = persona_files.make_persona_files(
        layers.PERSONA, identity, persona_files.find_primary_human(state), files, made=made
    )
    for name, text in texts.items():
        path = zeroclaw_paths.RAW + name
        if text.strip() and read_file_text(files, path) != text:
            yield RenderedFile(path, text.encode("utf-8", "replace"), STRUCTURED)


def _edited(state: State, files: StateFiles, identity: JsonObject, source: AieosDocument | None) -> bytes | None:
    """Return the AIEOS document with the changes of the identity since its files were read, None when there
    are none."""
    now = as_object(identity.get("structured"))
    if source is None or not now or (source.path and not source.path.startswith(zeroclaw_paths.RAW)):
        return None
    if source.document is None:
        is_missing = source.text is None and bool(source.path)
        return aieos_synthesis.aieos_as_text(aieos_synthesis.make_aieos(identity)) if is_missing else None
    if aieos_synthesis.is_unedited_aieos(source.document):
        wanted = aieos_synthesis.make_aieos(identity)
    else:
        alias = _configured_alias(state, aieos_documents.captured_zeroclaw_config(files) or {})
        before = layers.read_zeroclaw_identity(files, alias, source)["structured"]
        wanted = merge_aieos(source.document, before, now)
    return None if wanted == source.document else rewrite_aieos_text(source.text or b"", source.document, wanted)


def _with_inline(state: State, files: StateFiles, values: JsonObject, document: bytes) -> bytes:
    """Return the configuration with another document in it."""
    table = (
        ("agents", _configured_alias(state, values))
        if zeroclaw_config.schema_version_of(values) >= zeroclaw_config.CURRENT_SCHEMA
        else ()
    )
    change = ValueChange((*table, "identity", "aieos_inline"), document.decode())
    return toml_editing.edit_toml(files.read(aieos_documents.CONFIG) or b"", [change]).data


def make_fresh_config(state: State, source: AieosDocument | None) -> JsonObject:
    """Return a small configuration for an agent that comes from another runtime: model, identity, and the memory
    settings that it had in ZeroClaw. ZeroClaw runs no agent without profiles, so they are included."""
    head = persona_files.decode_document(state, archive_layout.MANIFEST)
    agent: JsonObject = {"enabled": True} | dict.fromkeys(_PROFILES, DEFAULT)
    values: JsonObject = {"schema_version": zeroclaw_config.CURRENT_SCHEMA} | {
        f"{kind}s": {DEFAULT: {}} for kind in _PROFILES
    }
    model = _model(head)
    if model is not None:
        type_, alias, name = model
        values["providers"] = {"models": {type_: {alias: {"model": name}}}}
        agent["model_provider"] = f"{type_}.{alias}"
    if source is not None:
        agent["identity"] = {
            "format": aieos_documents.AIEOS,
            "aieos_path": source.path.removeprefix(zeroclaw_paths.RAW),
        }
    return values | {"agents": {zeroclaw_installation.source_alias(state): agent}, "memory": _memory(head)}


def _model(head: JsonObject) -> tuple[str, str, str] | None:
    """Type and alias of the provider, and the model's name there; None where the provider is not known."""
    model = zeroclaw_config.get_nested_text(head, "runtime_hints", "last_model")
    provider = (
        zeroclaw_config.get_nested_text(head, "runtime_hints", "provider")
        or (model or "").rpartition("/")[0].partition("/")[0]
    )
    if not model or not provider:
        return None
    type_, alias, _ = provider_name(provider)
    if type_ not in PROVIDERS:
        type_, alias = "custom", config_name_of(provider) or DEFAULT
    return type_, alias, model.removeprefix(f"{provider}/")


def _memory(head: JsonObject) -> JsonObject:
    """`[memory]` with the search weights and the embedding that the agent had."""
    own = _table(head, "adapter_hints", zeroclaw_paths.RUNTIME)
    embedding = _table(own, "embedding")
    told = {
        f"embedding_{key}": embedding[key]
        for key in zeroclaw_hints.EMBEDDING
        if isinstance(embedding.get(key), str | int)
    }
    plain = {**_table(own, "memory"), **{key: own.get(key) for key in (*zeroclaw_hints.WEIGHTS, "auto_save")}}
    settings = {key: value for key, value in plain.items() if isinstance(value, bool | int | float)}
    return {"backend": zeroclaw_config.SQLITE, **settings, **told}


def _table(values: Any, *keys: str) -> JsonObject:
    found = zeroclaw_config.get_nested(values, *keys)
    return found if isinstance(found, dict) else {}
