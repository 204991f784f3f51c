"""Derive the identity of an agent from SOUL, IDENTITY, AGENTS and the files beside them (ALF §2.1, §3.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lifeboat_adapters.contract import AgentFiles
from lifeboat_adapters.persona import capabilities, identity_overlay, markdown_fields, prose_synthesis, subagent_roster
from lifeboat_adapters.persona.derivation_files import FilesUnderPrefix, read_file_text
from lifeboat_alf.common.json_shapes import as_object, as_text
from lifeboat_alf.common.json_types import JsonObject

SOUL, IDENTITY, AGENTS = "SOUL.md", "IDENTITY.md", "AGENTS.md"
PROSE = {"soul": SOUL, "operating_instructions": AGENTS, "identity_profile": IDENTITY}

_SKILL = re.compile(r"(?:[^/]+/)*([^/]+)/SKILL\.md")
_GOALS = re.compile(r"\b(goals?|objectives?|mission|motivations?)\b")
_TOOLS = re.compile(r"tools")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_YES_NO = {"yes": True, "true": True, "no": False, "false": False, "never": False}


@dataclass(frozen=True, slots=True)
class PersonaLayout:
    """Where a runtime keeps the identity of its agent: the archive prefixes of its workspace and
    state directory, the
    file of each block of `identity.prose.custom_blocks` (ALF §3.2.2), the archive prefixes of its skills, and the file
    of each prose field."""

    runtime: str
    raw: str
    home: str
    blocks: Mapping[str, str]
    skills: tuple[str, ...]
    prose: Mapping[str, str] = field(default_factory=lambda: PROSE)

    def reads(self, path: str) -> bool:
        """Return whether a file contributes to the identity."""
        return path in self.files or self.skill(path) is not None

    @property
    def files(self) -> frozenset[str]:
        return frozenset(self.raw + name for name in (*self.prose.values(), *self.blocks.values()))

    def skill(self, path: str) -> str | None:
        """Return the name of the folder of a SKILL.md, None for any other path."""
        below = (path.removeprefix(folder) for folder in self.skills if path.startswith(folder))
        return next((match[1] for name in below if (match := _SKILL.fullmatch(name))), None)

    def every_skill(self, files: AgentFiles) -> Iterator[tuple[str, str]]:
        """Return the skills of the agent: the name of each folder and the text of its SKILL.md."""
        for path in sorted(path for folder in self.skills for path in files.paths(folder)):
            name = self.skill(path)
            if name is not None:
                yield name, read_file_text(files, path)

    def own(self, files: AgentFiles) -> set[str]:
        """Return the prose files that Lifeboat wrote and that were not edited since."""
        return {
            name
            for name, file in self.prose.items()
            if prose_synthesis.is_unedited_synthesis(read_file_text(files, self.raw + file))
        }


Fresh = Callable[[AgentFiles, Collection[str]], JsonObject]
"""A function that returns `structured` and `prose` from files. It leaves out the prose files in the second argument."""


def make_identity_document(
    persona: PersonaLayout,
    files: AgentFiles,
    previous: JsonObject | None,
    fresh: Fresh,
    *,
    name: str,
    unsaid: Collection[identity_overlay.Path] = (),
) -> JsonObject | None:
    """Return the identity document, without id, version and time, from the current files.

    `unsaid` are fields whose files are missing now and therefore do not say that the fields were removed. `name` is
    used when neither files nor document name the agent.
    """
    before = previous or {}
    # Without an earlier document (a copied workspace), files that Lifeboat wrote are the only source.
    own = persona.own(files) if before else set()
    now = identity_overlay.without_empty(fresh(files, own))
    if not now and previous is None:
        return None
    alone = set(
        identity_overlay.field_paths(identity_overlay.without_empty(fresh(FilesUnderPrefix(files, persona.raw), own)))
    )
    outside = set(identity_overlay.field_paths(now)) - alone
    said = _said(persona, files, before, own)
    return _named(
        identity_overlay.overlay_document(persona.runtime, before, now, said=said - set(unsaid), elsewhere=outside),
        name,
    )


def _named(document: JsonObject, name: str) -> JsonObject:
    """Give the agent a name: that of the installation when neither files nor document have one."""
    known = as_object(document.get("structured"))
    names = known.get("names") or {}
    if not isinstance(names, dict) or names.get("primary"):
        return document
    return {**document, "structured": {**known, "names": {**names, "primary": name}}}


def _said(
    persona: PersonaLayout, files: AgentFiles, document: JsonObject, own: Collection[str]
) -> frozenset[identity_overlay.Path]:
    """Return the fields that the files said before: the remembered ones, and those in the remembered texts.

    Fields from the state directory count only when there is one. A file that Lifeboat wrote adds nothing. When there is
    such a file, the remembered fields alone do not show which fields were removed.
    """
    profile, instructions = (
        "" if name in own else _former(persona, files, document, name)
        for name in ("identity_profile", "operating_instructions")
    )
    told = frozenset(
        identity_overlay.field_paths(
            {"structured": identity_overlay.without_empty(read_structured_identity(profile, instructions))}
        )
    )
    if own:
        return told
    outside = (
        identity_overlay.paths_read_from_files(persona.runtime, document, elsewhere=True)
        if any(files.paths(persona.home))
        else ()
    )
    return identity_overlay.paths_read_from_files(persona.runtime, document).union(told, outside)


def _former(persona: PersonaLayout, files: AgentFiles, document: JsonObject, name: str) -> str:
    """Return the previous text of a prose file: the remembered one, or the one that Lifeboat wrote."""
    remembered = as_text(as_object(document.get("prose")).get(name))
    if name not in persona.prose:
        return ""
    is_made = not remembered and prose_synthesis.is_marked_as_synthesis(
        read_file_text(files, persona.raw + persona.prose[name])
    )
    return prose_synthesis.MAKERS[name](document) if is_made else remembered


def read_prose_files(persona: PersonaLayout, files: AgentFiles, own: Collection[str] = ()) -> dict[str, str]:
    """Return the prose files as they are, without those in `own`."""
    return {
        name: "" if name in own else read_file_text(files, persona.raw + file) for name, file in persona.prose.items()
    }


def read_structured_identity(profile: str, instructions: str, skills: Iterable[tuple[str, str]] = ()) -> JsonObject:
    """Return the fields that IDENTITY.md, AGENTS.md and skills give in unambiguous form."""
    said = markdown_fields.key_value_pairs(profile)
    noted = [*capabilities.capabilities_from_notes(profile), *capabilities.capabilities_from_notes(instructions)]
    return {
        "names": {"primary": said.get("name"), "nickname": said.get("nickname"), "full": said.get("full name")},
        "role": said.get("role"),
        "goals": list(markdown_fields.list_items(markdown_fields.text_under_headings(profile, _GOALS))),
        "linguistics": _linguistics(said),
        "capabilities": capabilities.deduplicate_by_name(
            [*noted, *(capabilities.capability_from_skill(*skill) for skill in skills)]
        ),
        "sub_agents": subagent_roster.subagents_from_notes(instructions),
    }


def _linguistics(said: dict[str, str]) -> JsonObject:
    """Return the voice of the agent where it is given in numbers and lists."""
    language = said.get("language", "")
    return {
        "formality_level": _share(said.get("formality")),
        "verbosity": _share(said.get("verbosity")),
        "humor_level": _share(said.get("humor") or said.get("humour")),
        "slang_usage": _YES_NO.get(said.get("slang", "").lower()),
        "preferred_language": language if _LANGUAGE.fullmatch(language) else None,
        "idiolect": {
            "catchphrases": markdown_fields.split_listed_value(said.get("catchphrases", "")),
            "verbal_tics": markdown_fields.split_listed_value(said.get("verbal tics", "")),
            "avoided_words": markdown_fields.split_listed_value(said.get("avoid") or said.get("avoided words") or ""),
        },
    }


def _share(text: str | None) -> float | None:
    """Return a number between 0 and 1, None for other words, which are prose."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def make_identity_prose(persona: PersonaLayout, files: AgentFiles, texts: Mapping[str, str]) -> JsonObject:
    """Return `identity.prose` from prose files (`texts`) and the files of custom blocks."""
    blocks = {name: read_file_text(files, persona.raw + file) for name, file in persona.blocks.items()}
    blocks["tools_guidance"] = blocks.get("tools_guidance") or tools_section(texts.get("operating_instructions", ""))
    return {
        **{name: text for name, text in texts.items() if text.strip()},
        "custom_blocks": {name: text for name, text in blocks.items() if text.strip()},
    }


def tools_section(agents_md: str) -> str:
    """Return the section `## Tools` of AGENTS.md, for a workspace without TOOLS.md."""
    return markdown_fields.find_titled_section(agents_md, _TOOLS)
