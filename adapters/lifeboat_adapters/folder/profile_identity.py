"""Derive identity and principals of a profile's agent from its persona files."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

from lifeboat_adapters.contract import AgentFiles, Derivation, DerivationContext
from lifeboat_adapters.folder.folder_profile import FolderProfile
from lifeboat_adapters.persona import persona_identity, persona_principals
from lifeboat_adapters.persona.persona_identity import PersonaLayout
from lifeboat_alf.common.json_types import JsonObject


def persona_layout(profile: FolderProfile) -> PersonaLayout:
    """Return where the runtime keeps the identity of its agent."""
    skills = (f"{profile.raw}{profile.persona.skills.rstrip('/')}/",) if profile.persona.skills else ()
    return PersonaLayout(
        profile.name, profile.raw, profile.raw_home, profile.persona.blocks, skills, profile.persona_files()
    )


def make_derivations(profile: FolderProfile) -> Sequence[Derivation]:
    """Return the derivations of identity and principals, each only if the profile names files for it."""
    layout = persona_layout(profile)

    def derive(files: AgentFiles, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
        def fresh(files: AgentFiles, own: Collection[str]) -> JsonObject:
            read = persona_identity.read_prose_files(layout, files, own)
            texts = {name: "" if _is_seed(profile, text) else text for name, text in read.items()}
            skills = layout.every_skill(files)
            profile_text, instructions = texts.get("identity_profile", ""), texts.get("operating_instructions", "")
            return {
                "structured": persona_identity.read_structured_identity(profile_text, instructions, skills),
                "prose": persona_identity.make_identity_prose(layout, files, texts),
            }

        return persona_identity.make_identity_document(layout, files, previous, fresh, name=context.installation.name)

    found = [Derivation("identity", layout.reads, derive)] if layout.files or layout.skills else []
    if profile.persona.user:
        found.append(persona_principals.make_principals_derivation(profile.name, profile.raw + profile.persona.user))
    return found


def _is_seed(profile: FolderProfile, text: str) -> bool:
    """Return whether a text is the one with which the runtime created the file."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() in profile.persona.seeds
