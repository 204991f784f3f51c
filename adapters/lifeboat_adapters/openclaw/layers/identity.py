"""Who the agent is, from SOUL, IDENTITY, AGENTS and the checklists (ALF §2.1, §3.2)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from lifeboat_adapters.contract import Derivation, DerivationContext, Files
from lifeboat_adapters.openclaw import config, paths
from lifeboat_adapters.openclaw.documents import Only, Texts, config_of, text_of
from lifeboat_adapters.openclaw.layers import capabilities, heartbeat, overlay, reading, subagents, synthesis

JsonObject = dict[str, Any]

_PROSE = {"soul": paths.SOUL, "operating_instructions": paths.AGENTS, "identity_profile": paths.IDENTITY}
_SKILL = re.compile(rf"(?:{re.escape(paths.RAW)}|{re.escape(paths.HOME)})skills/(?:[^/]+/)*([^/]+)/SKILL\.md")
_CONFIG = paths.HOME + paths.CONFIG
_READ = frozenset(
    (
        *(paths.RAW + name for name in (*_PROSE.values(), *paths.CUSTOM_BLOCKS.values())),
        _CONFIG,
        paths.HELPERS,
        paths.CRON_JOBS,
        paths.CRON_SCRATCH,
    )
)
_HEARTBEAT = ("prose", "custom_blocks", "heartbeat_checklist")
_GOALS = re.compile(r"\b(goals?|objectives?|mission|motivations?)\b")
_TOOLS = re.compile(r"tools")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_YES_NO = {"yes": True, "true": True, "no": False, "false": False, "never": False}


def reads(path: str) -> bool:
    """Whether a file says something about who the agent is."""
    return path in _READ or _SKILL.fullmatch(path) is not None


def derive(files: Files, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    """The identity document, without id, version and time."""
    before = previous or {}
    own = {name for name, file in _PROSE.items() if synthesis.is_own(name, text_of(files, paths.RAW + file), before)}
    fresh = _fresh(files, context, own)
    if not fresh and previous is None:
        return None
    alone = set(overlay.leaves(_fresh(Only(files, paths.RAW), context, own)))
    outside = set(overlay.leaves(fresh)) - alone
    # What Lifeboat wrote from the document itself says nothing new, so it cannot say that something is gone either.
    said = frozenset() if own else _said(before, context, elsewhere=any(files.paths(paths.HOME)))
    if files.read(paths.CRON_JOBS) is None:
        said -= {_HEARTBEAT}
    return _named(overlay.document(before, fresh, said=said, elsewhere=outside), context.installation.name)


def _fresh(files: Files, context: DerivationContext, own: Collection[str]) -> JsonObject:
    return overlay.without_empty({"structured": structured(files, context, own), "prose": prose(files, own)})


DERIVATION = Derivation("identity", reads, derive)


def _named(document: JsonObject, name: str) -> JsonObject:
    """An agent always has a name; the installation knows one when neither files nor document do."""
    known = document.get("structured") or {}
    names = known.get("names") or {}
    if not isinstance(names, dict) or names.get("primary"):
        return document
    return {**document, "structured": {**known, "names": {**names, "primary": name}}}


def _said(document: JsonObject, context: DerivationContext, *, elsewhere: bool) -> frozenset[overlay.Path]:
    """What the files said: as remembered, and as the prose says that was theirs. What came from the state folder
    counts only where there is one."""
    prose = document.get("prose") or {}
    former = {paths.RAW + file: str(prose.get(name) or "").encode() for name, file in _PROSE.items()}
    told = overlay.leaves({"structured": overlay.without_empty(structured(Texts(former), context))})
    outside = overlay.read_paths(document, elsewhere=True)
    return overlay.read_paths(document).union(told, outside) if elsewhere else overlay.read_paths(document) | set(told)


def structured(files: Files, context: DerivationContext, own: Collection[str] = ()) -> JsonObject:
    """What the files say in shapes that need no guessing; empty where they say nothing. Files in `own` are left out."""
    profile = "" if "identity_profile" in own else text_of(files, paths.RAW + paths.IDENTITY)
    instructions = "" if "operating_instructions" in own else text_of(files, paths.RAW + paths.AGENTS)
    values = config_of(files)
    native_id = context.installation.native_id
    said = reading.pairs(profile)
    return {
        "names": names_of(said, values, native_id),
        "role": said.get("role"),
        "goals": list(reading.items(reading.under(profile, _GOALS))),
        "linguistics": linguistics_of(said),
        "capabilities": _capabilities(files, profile, instructions),
        "sub_agents": subagents.roster(values, native_id, instructions, files.read(paths.HELPERS) or b""),
    }


def names_of(said: dict[str, str], values: JsonObject, native_id: str) -> JsonObject:
    """The configured name counts before that of IDENTITY.md, as it does in OpenClaw itself."""
    own = config.agent(values, native_id)
    configured = config.text(own.values, "identity", "name") if own else None
    return {"primary": configured or said.get("name"), "nickname": said.get("nickname"), "full": said.get("full name")}


def linguistics_of(said: dict[str, str]) -> JsonObject:
    """The voice, where it is given in numbers and lists."""
    language = said.get("language", "")
    return {
        "formality_level": _share(said.get("formality")),
        "verbosity": _share(said.get("verbosity")),
        "humor_level": _share(said.get("humor") or said.get("humour")),
        "slang_usage": _YES_NO.get(said.get("slang", "").lower()),
        "preferred_language": language if _LANGUAGE.fullmatch(language) else None,
        "idiolect": {
            "catchphrases": reading.listed(said.get("catchphrases", "")),
            "verbal_tics": reading.listed(said.get("verbal tics", "")),
            "avoided_words": reading.listed(said.get("avoid") or said.get("avoided words") or ""),
        },
    }


def _share(text: str | None) -> float | None:
    """A number between 0 and 1; other words are prose."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _capabilities(files: Files, profile: str, instructions: str) -> list[JsonObject]:
    noted = [*capabilities.from_notes(profile), *capabilities.from_notes(instructions)]
    return capabilities.once([*noted, *(capabilities.from_skill(*skill) for skill in skills(files))])


def skills(files: Files) -> Iterator[tuple[str, str]]:
    """The skills of the agent, each with the name of its folder and the text of its SKILL.md."""
    found = (path for prefix in (paths.RAW, paths.HOME) for path in files.paths(f"{prefix}skills/"))
    for path in sorted(found):
        match = _SKILL.fullmatch(path)
        if match is not None:
            yield match[1], text_of(files, path)


def prose(files: Files, own: Collection[str] = ()) -> JsonObject:
    """The files as they stand, but for those in `own`."""
    texts = {name: text_of(files, paths.RAW + file) for name, file in _PROSE.items() if name not in own}
    blocks = {name: text_of(files, paths.RAW + file) for name, file in paths.CUSTOM_BLOCKS.items()}
    blocks["tools_guidance"] = blocks["tools_guidance"] or tools_section(texts.get("operating_instructions", ""))
    blocks["heartbeat_checklist"] = blocks["heartbeat_checklist"] or heartbeat.checklist(files)
    return {
        **{name: text for name, text in texts.items() if text.strip()},
        "custom_blocks": {name: text for name, text in blocks.items() if text.strip()},
    }


def tools_section(agents_md: str) -> str:
    """`## Tools` of AGENTS.md: where 2026.9 keeps what TOOLS.md was."""
    return reading.section(agents_md, _TOOLS)
