"""Render persona files from the structured layers of an agent (ALF §6.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from lifeboat_adapters.contract import AgentFiles
from lifeboat_adapters.persona import document_shapes, prose_synthesis
from lifeboat_adapters.persona.persona_identity import PROSE, PersonaLayout
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import unwrap_document
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State

USER = "USER.md"


def decode_document(state: State, path: str) -> JsonObject:
    """Return a document of the state, {} when it has none."""
    if state.entry(path) is None:
        return {}
    return unwrap_document(path, json_codec.decode_json(state.body(path)))


def find_primary_human(state: State) -> JsonObject:
    """Return the first human among the principals, {} without one."""
    listed = decode_document(state, archive_layout.PRINCIPALS).get("principals")
    principals = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return next((one for one in principals if one.get("principal_type") == "human"), {})


def make_persona_files(
    persona: PersonaLayout,
    identity: JsonObject,
    primary: JsonObject,
    raw: AgentFiles,
    *,
    held: Collection[str] = (),
    made: Collection[str] = frozenset(PROSE),
) -> dict[str, str]:
    """Return the texts of persona files by name, "" for empty ones.

    A block that is part of one of the texts in `held` gets no separate file. Prose in `made` that the agent lacks is
    made from its structured fields.
    """
    return {**_identity_files(persona, identity, raw, held, made), USER: _user_file(primary)}


def _identity_files(
    persona: PersonaLayout, identity: JsonObject, raw: AgentFiles, held: Collection[str], made: Collection[str]
) -> dict[str, str]:
    """Return SOUL, IDENTITY and AGENTS from prose, and from structured fields where prose is missing."""
    identity = document_shapes.well_formed_identity(identity)
    prose = identity.get("prose") or {}
    files = persona.prose
    texts = {file: str(prose.get(name) or "") for name, file in files.items()}
    wanted = {*_made_up_for(persona, identity, texts), *(n for n in persona.own(raw) if not texts[files[n]].strip())}
    texts |= {files[name]: prose_synthesis.MAKERS[name](identity) for name in files if name in wanted and name in made}
    instructions = texts.get(files.get("operating_instructions", ""), "")
    blocks = prose.get("custom_blocks") or {}
    for name, file in persona.blocks.items():
        block = str(blocks.get(name) or "")
        if not any(block and block in text for text in (instructions, *held)):
            texts[file] = block
    return texts


def _made_up_for(persona: PersonaLayout, identity: JsonObject, texts: dict[str, str]) -> Iterator[str]:
    """Yield which prose has to be made: all of it when there is none, otherwise only where structured
    fields say more."""
    structured = identity.get("structured") or {}
    absent = [name for name, file in persona.prose.items() if not texts[file].strip()]
    if len(absent) == len(persona.prose):
        yield from absent if identity else ()
        return
    if "soul" in absent and (structured.get("psychology") or structured.get("linguistics")):
        yield "soul"  # without SOUL.md a runtime writes a default character
    if "identity_profile" in absent and (structured.get("role") or structured.get("goals")):
        yield "identity_profile"
    if "operating_instructions" in absent and structured.get("sub_agents"):
        yield "operating_instructions"


def _user_file(primary: JsonObject) -> str:
    profile = document_shapes.well_formed_profile(primary.get("profile"))
    text = str((profile.get("prose") or {}).get("user_profile") or "")
    if not text.strip() and profile.get("structured"):
        return prose_synthesis.compose_user_profile(profile)
    return text
