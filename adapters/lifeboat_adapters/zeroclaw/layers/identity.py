"""Who the agent is, from ZeroClaw's files, its AIEOS document and its configuration (ALF §2.1, §3.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from lifeboat_adapters.contract import Derivation, DerivationContext, Files, Installation
from lifeboat_adapters.persona import identity, overlay, roster
from lifeboat_adapters.zeroclaw import config, paths
from lifeboat_adapters.zeroclaw.layers import aieos, aieos_synthesis, documents, models
from lifeboat_adapters.zeroclaw.layers.documents import Aieos
from lifeboat_alf import layout
from lifeboat_alf.json_shapes import as_object
from lifeboat_alf.json_types import JsonObject

BLOCKS = {"tools_guidance": paths.TOOLS, "heartbeat_checklist": paths.HEARTBEAT, "bootstrap": paths.BOOTSTRAP}
"""Which file is which block of `identity.prose.custom_blocks`. BOOTSTRAP.md is read in conversations, so it is not the
checklist of a start (ALF §3.2.2)."""
PERSONA = identity.Persona(
    paths.RUNTIME, paths.RAW, paths.HOME, BLOCKS, (f"{paths.RAW}skills/", f"{paths.HOME}shared/skills/")
)


def reads(path: str) -> bool:
    """Whether a file says something about who the agent is. Any JSON file of the workspace may be AIEOS."""
    may_be_aieos = path.endswith(".json") and path.startswith((paths.RAW, layout.ARTIFACTS))
    return path == documents.CONFIG or may_be_aieos or PERSONA.reads(path)


def derive(files: Files, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    """The identity document, without id, version and time."""
    installed = context.installation

    def fresh(files: Files, own: Collection[str]) -> JsonObject:
        source = _source(files, installed)
        is_told = source is not None and not (previous and _is_made(source))
        return said(files, installed.native_id, source if is_told else None, name=installed.name, own=own)

    unsaid = _unsaid(files, previous or {}, installed)
    found = identity.document(PERSONA, files, previous, fresh, name=installed.name, unsaid=unsaid)
    return None if found is None else _with_inline(found, previous or {}, files, installed)


DERIVATION = Derivation("identity", reads, derive)


def said(files: Files, alias: str, source: Aieos | None, *, name: str = "", own: Collection[str] = ()) -> JsonObject:
    """What files say now, `structured` and `prose`, and an AIEOS document over them. Prose files in `own` are left
    out. `name` is the agent's where none of them knows it."""
    texts = identity.texts(PERSONA, files, own)
    values = documents.config_of(files) or {}
    told = identity.structured(texts["identity_profile"], texts["operating_instructions"], PERSONA.every_skill(files))
    told["sub_agents"] = roster.merged(helpers(values, alias), told["sub_agents"])
    if source is not None and source.document is not None:
        told = over(aieos.from_aieos(source.document, told["names"]["primary"] or name), told)
    return {"structured": told, "prose": identity.prose(PERSONA, files, texts)}


def over(document: JsonObject, told: JsonObject) -> JsonObject:
    """What an AIEOS document says over what Markdown says: an agent that has one lives by it."""
    merged = overlay.without_empty(told)
    own = document.get("capabilities") or []
    known = {str(item["name"]).casefold() for item in own}
    others = [item for item in told["capabilities"] if item["name"].casefold() not in known]
    return overlay.overlay(merged, {**document, "capabilities": [*own, *others]}, ())


def helpers(values: JsonObject, alias: str) -> Iterator[tuple[str, JsonObject]]:
    """The agents that an agent may hand work to, by alias: its `delegates`; in an early configuration all."""
    tables = config.get(values, "agents")
    known = tables if isinstance(tables, dict) else {}
    if config.schema(values) < config.CURRENT_SCHEMA:
        named: Any = list(known)
    else:
        named = config.get(known, alias, "delegates")
    for name in dict.fromkeys(each for each in named if isinstance(each, str)) if isinstance(named, list) else ():
        if name.strip() and (name != alias or config.schema(values) < config.CURRENT_SCHEMA):
            yield name, roster.helper(name, None, None, models.of_helper(values, name))


def _unsaid(files: Files, previous: JsonObject, installed: Installation) -> Collection[overlay.Path]:
    """Fields whose source is not there to say that they are gone: a configuration or an AIEOS document that cannot be
    read, or one that was made of them."""
    source = _source(files, installed)
    told = set(overlay.leaves({"structured": as_object(previous.get("structured"))}))
    if documents.config_of(files) is None or (source and source.text is not None and source.document is None):
        return told
    if source and source.document is not None and _is_made(source):
        return told & set(overlay.leaves({"structured": aieos.from_aieos(source.document)}))
    return ()


def _source(files: Files, installed: Installation) -> Aieos | None:
    values = documents.config_of(files) or {}
    return documents.aieos_of(files, values, installed.native_id, str(installed.workspace))


def _is_made(source: Aieos) -> bool:
    """Whether a document was made of the structured fields: it says nothing that they do not."""
    return source.document is not None and aieos_synthesis.is_own(source.document)


def _with_inline(document: JsonObject, previous: JsonObject, files: Files, installed: Installation) -> JsonObject:
    """The identity with an AIEOS document of the configuration as its raw source: no file of its own holds it."""
    inline = _inline(previous, files, installed)
    own = overlay.own_source(document, paths.RUNTIME)
    if own.get(documents.AIEOS) == inline:
        return document
    rest = {key: value for key, value in own.items() if key != documents.AIEOS}
    kept = rest if inline is None else {**rest, documents.AIEOS: inline}
    return {**document, "raw_source": {**overlay.sources(document), paths.RUNTIME: kept}}


def _inline(previous: JsonObject, files: Files, installed: Installation) -> JsonObject | None:
    source = _source(files, installed)
    is_broken = source is not None and not source.path and source.document is None
    if documents.config_of(files) is None or is_broken or not any(files.paths(paths.HOME)):
        return overlay.own_source(previous, paths.RUNTIME).get(documents.AIEOS)
    return source.document if source is not None and not source.path else None
