"""Derive the identity of the agent from ZeroClaw's files, its AIEOS document and its configuration (ALF §2.1, §3.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from lifeboat_adapters.contract import AgentFiles, Derivation, DerivationContext, Installation
from lifeboat_adapters.persona import identity_overlay, persona_identity, subagent_roster
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.layers import aieos, aieos_documents, aieos_synthesis, configured_models
from lifeboat_adapters.zeroclaw.layers.aieos_documents import AieosDocument
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject

BLOCKS = {
    "tools_guidance": zeroclaw_paths.TOOLS,
    "heartbeat_checklist": zeroclaw_paths.HEARTBEAT,
    "bootstrap": zeroclaw_paths.BOOTSTRAP,
}
"""The file of each block of `identity.prose.custom_blocks`. BOOTSTRAP.md is used in conversations, so it is not the
checklist for starting (ALF §3.2.2)."""
PERSONA = persona_identity.PersonaLayout(
    zeroclaw_paths.RUNTIME,
    zeroclaw_paths.RAW,
    zeroclaw_paths.HOME,
    BLOCKS,
    (f"{zeroclaw_paths.RAW}skills/", f"{zeroclaw_paths.HOME}shared/skills/"),
)


def is_read_for_zeroclaw_identity(path: str) -> bool:
    """Return whether a file contributes to the identity. Any JSON file of the workspace may be AIEOS."""
    may_be_aieos = path.endswith(".json") and path.startswith((zeroclaw_paths.RAW, archive_layout.ARTIFACTS))
    return path == aieos_documents.CONFIG or may_be_aieos or PERSONA.reads(path)


def derive_zeroclaw_identity(
    files: AgentFiles, previous: JsonObject | None, context: DerivationContext
) -> JsonObject | None:
    """Return the identity document, without id, version and time."""
    installed = context.installation

    def fresh(files: AgentFiles, own: Collection[str]) -> JsonObject:
        source = _source(files, installed)
        is_told = source is not None and not (previous and _is_made(source))
        return read_zeroclaw_identity(
            files, installed.native_id, source if is_told else None, name=installed.name, own=own
        )

    unsaid = _unsaid(files, previous or {}, installed)
    found = persona_identity.make_identity_document(PERSONA, files, previous, fresh, name=installed.name, unsaid=unsaid)
    return None if found is None else _with_inline(found, previous or {}, files, installed)


DERIVATION = Derivation("identity", is_read_for_zeroclaw_identity, derive_zeroclaw_identity)


def read_zeroclaw_identity(
    files: AgentFiles, alias: str, source: AieosDocument | None, *, name: str = "", own: Collection[str] = ()
) -> JsonObject:
    """Return `structured` and `prose` from the present files, with an AIEOS document over them. Prose files in `own`
    are left out. `name` is used when no file names the agent."""
    texts = persona_identity.read_prose_files(PERSONA, files, own)
    values = aieos_documents.captured_zeroclaw_config(files) or {}
    told = persona_identity.read_structured_identity(
        texts["identity_profile"], texts["operating_instructions"], PERSONA.every_skill(files)
    )
    told["sub_agents"] = subagent_roster.merge_roster(list_delegates(values, alias), told["sub_agents"])
    if source is not None and source.document is not None:
        told = overlay_aieos(aieos.from_aieos(source.document, told["names"]["primary"] or name), told)
    return {"structured": told, "prose": persona_identity.make_identity_prose(PERSONA, files, texts)}


def overlay_aieos(document: JsonObject, told: JsonObject) -> JsonObject:
    """Put the fields of an AIEOS document over those from Markdown. An agent that has such a document follows it."""
    merged = identity_overlay.without_empty(told)
    own = document.get("capabilities") or []
    known = {str(item["name"]).casefold() for item in own}
    others = [item for item in told["capabilities"] if item["name"].casefold() not in known]
    return identity_overlay.overlay_fields(merged, {**document, "capabilities": [*own, *others]}, ())


def list_delegates(values: JsonObject, alias: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield the agents that an agent may delegate to, by alias: its `delegates`, in an early configuration
    all agents."""
    tables = zeroclaw_config.get_nested(values, "agents")
    known = tables if isinstance(tables, dict) else {}
    if zeroclaw_config.schema_version_of(values) < zeroclaw_config.CURRENT_SCHEMA:
        named: Any = list(known)
    else:
        named = zeroclaw_config.get_nested(known, alias, "delegates")
    for name in dict.fromkeys(each for each in named if isinstance(each, str)) if isinstance(named, list) else ():
        if name.strip() and (
            name != alias or zeroclaw_config.schema_version_of(values) < zeroclaw_config.CURRENT_SCHEMA
        ):
            yield name, subagent_roster.roster_entry(name, None, None, configured_models.model_of_helper(values, name))


def _unsaid(files: AgentFiles, previous: JsonObject, installed: Installation) -> Collection[identity_overlay.Path]:
    """Return fields whose source is missing now and therefore does not say that they were removed: a configuration or
    an AIEOS document that cannot be read, or a document that was made from them."""
    source = _source(files, installed)
    told = set(identity_overlay.field_paths({"structured": as_object(previous.get("structured"))}))
    if aieos_documents.captured_zeroclaw_config(files) is None or (
        source and source.text is not None and source.document is None
    ):
        return told
    if source and source.document is not None and _is_made(source):
        return told & set(identity_overlay.field_paths({"structured": aieos.from_aieos(source.document)}))
    return ()


def _source(files: AgentFiles, installed: Installation) -> AieosDocument | None:
    values = aieos_documents.captured_zeroclaw_config(files) or {}
    return aieos_documents.find_agent_aieos(files, values, installed.native_id, str(installed.workspace))


def _is_made(source: AieosDocument) -> bool:
    """Return whether a document was made from the structured fields, so that it adds nothing to them."""
    return source.document is not None and aieos_synthesis.is_unedited_aieos(source.document)


def _with_inline(document: JsonObject, previous: JsonObject, files: AgentFiles, installed: Installation) -> JsonObject:
    """Return the identity with an AIEOS document inside the configuration as its raw source, because no separate
    file holds it."""
    inline = _inline(previous, files, installed)
    own = identity_overlay.raw_source_of_runtime(document, zeroclaw_paths.RUNTIME)
    if own.get(aieos_documents.AIEOS) == inline:
        return document
    rest = {key: value for key, value in own.items() if key != aieos_documents.AIEOS}
    kept = rest if inline is None else {**rest, aieos_documents.AIEOS: inline}
    return {**document, "raw_source": {**identity_overlay.raw_sources_of(document), zeroclaw_paths.RUNTIME: kept}}


def _inline(previous: JsonObject, files: AgentFiles, installed: Installation) -> JsonObject | None:
    source = _source(files, installed)
    is_broken = source is not None and not source.path and source.document is None
    if (
        aieos_documents.captured_zeroclaw_config(files) is None
        or is_broken
        or not any(files.paths(zeroclaw_paths.HOME))
    ):
        return identity_overlay.raw_source_of_runtime(previous, zeroclaw_paths.RUNTIME).get(aieos_documents.AIEOS)
    return source.document if source is not None and not source.path else None
