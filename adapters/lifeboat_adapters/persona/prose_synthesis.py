"""Compose prose files from structured fields, for agents that come without prose (ALF §3.2.1, §6.2).

No model is used: the same fields give the same text on machines with the same programs. A composed file begins with a
comment that holds a digest of the rest. So capture recognises it and does not attribute the text to the agent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lifeboat_adapters.persona import capabilities, document_shapes
from lifeboat_alf.common.json_types import JsonObject

MARK = "<!-- Written by Lifeboat from the agent's structured profile"
_DIGITS = 16
_BACKGROUND = {
    "identity": "Background",
    "history": "History",
    "interests": "Interests",
    "physicality": "Appearance",
}
"""Objects of an AIEOS profile that ALF has no fields for, and the titles of their sections."""


def compose_soul(document: JsonObject) -> str:
    """Compose SOUL.md from role, goals, character and voice."""
    structured = document_shapes.well_formed_identity(document).get("structured") or {}
    rest = structured.get("aieos_extensions")
    more = {key: _flat(value) for key, value in rest.items()} if isinstance(rest, dict) else {}
    return _text(
        f"# {_name(structured)}",
        _paragraph(structured.get("role")),
        _section("Goals", _bullets(structured.get("goals") or []) + _pairs(more.get("motivations", {}))),
        _section("Character", _pairs(_character(structured, more.get("psychology", {})))),
        _section("Voice", _pairs(_voice(structured) | more.get("linguistics", {}))),
        *(_section(title, _pairs(more.get(key, {}))) for key, title in _BACKGROUND.items()),
    )


def _character(structured: JsonObject, more: JsonObject) -> JsonObject:
    psychology = structured.get("psychology") or {}
    traits = psychology.get("personality_traits") or {}
    told = {**(psychology.get("neural_matrix") or {}), **(traits.get("scores") or {})}
    types = {"MBTI": psychology.get("mbti"), "moral alignment": psychology.get("moral_alignment")}
    known = {key for key, value in more.items() if value in types.values()}
    return {**told, **types, **{key: value for key, value in more.items() if key not in known}}


def _flat(value: Any, above: str = "") -> JsonObject:
    """Return nested values by the words that lead to them, with lists of plain values joined."""
    if isinstance(value, dict):
        inner = (_flat(item, f"{above} {key}".strip()) for key, item in value.items() if not key.startswith("@"))
        return {key: item for each in inner for key, item in each.items()}
    if isinstance(value, list):
        value = ", ".join(str(item) for item in value if isinstance(item, str | int | float))
    return {above.replace("_", " "): value}


def compose_identity_profile(document: JsonObject) -> str:
    """Compose IDENTITY.md in the shape that `markdown_fields` parses."""
    structured = document_shapes.well_formed_identity(document).get("structured") or {}
    names = structured.get("names") or {}
    facts = {
        "Name": names.get("primary"),
        "Nickname": names.get("nickname"),
        "Full name": names.get("full"),
        "Role": structured.get("role"),
    }
    return _text(
        "# IDENTITY.md",
        _pairs(facts),
        _section("Goals", _bullets(structured.get("goals") or [])),
        _section("Voice", _pairs(_voice(structured))),
        _section("Capabilities", _bullets(map(_capability, structured.get("capabilities") or []))),
    )


def compose_operating_instructions(document: JsonObject) -> str:
    """Compose AGENTS.md from the roster, "" when there is none."""
    helpers = (document_shapes.well_formed_identity(document).get("structured") or {}).get("sub_agents") or []
    rows = [_row(helper) for helper in helpers if helper.get("name")]
    if not rows:
        return ""
    table = "| Agent | Description | Use for | Capabilities | Model | Status |\n|---|---|---|---|---|---|\n" + "".join(
        rows
    )
    return _text("# AGENTS.md", _section("Sub-agents", table))


def compose_user_profile(document: JsonObject) -> str:
    """Compose USER.md in the shape that `markdown_fields` parses."""
    structured = document_shapes.well_formed_profile(document).get("structured") or {}
    facts = {"Name": structured.get("name"), "Timezone": structured.get("timezone"), "Locale": structured.get("locale")}
    custom = {_title(key): value for key, value in (structured.get("custom_fields") or {}).items()}
    wishes = {_title(key): value for key, value in (structured.get("communication_preferences") or {}).items()}
    work = structured.get("work_context") or {}
    projects = ", ".join(work.get("projects") or [])
    return _text(
        "# USER.md",
        _pairs({**facts, **custom}),
        _section("Communication", _pairs(wishes)),
        _section("Work", _pairs({"Role": work.get("role"), "Company": work.get("company"), "Projects": projects})),
        _section("Relationships", _bullets(map(_relationship, structured.get("relationships") or []))),
    )


MAKERS: dict[str, Callable[[JsonObject], str]] = {
    "soul": compose_soul,
    "identity_profile": compose_identity_profile,
    "operating_instructions": compose_operating_instructions,
    "user_profile": compose_user_profile,
}


def is_unedited_synthesis(text: str) -> bool:
    """Return whether a text was composed here and not edited since."""
    return text == _marked(text.partition("\n")[2])


def is_marked_as_synthesis(text: str) -> bool:
    """Return whether a text was composed here and possibly edited since."""
    return text.startswith(MARK)


def _marked(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{MARK} ({digest}). -->\n{text}"


def _name(structured: JsonObject) -> str:
    names = structured.get("names") or {}
    return str(names.get("primary") or names.get("nickname") or names.get("full") or "Agent")


def _voice(structured: JsonObject) -> JsonObject:
    voice = structured.get("linguistics") or {}
    idiolect = voice.get("idiolect") or {}
    slang = voice.get("slang_usage")
    return {
        "Formality": voice.get("formality_level"),
        "Verbosity": voice.get("verbosity"),
        "Humor": voice.get("humor_level"),
        "Slang": None if slang is None else ("yes" if slang else "no"),
        "Language": voice.get("preferred_language"),
        "Catchphrases": "; ".join(idiolect.get("catchphrases") or []),
        "Verbal tics": "; ".join(idiolect.get("verbal_tics") or []),
        "Avoid": "; ".join(idiolect.get("avoided_words") or []),
    }


def _capability(item: JsonObject) -> str:
    needs = item.get("host_requirements") if item.get("portability") == "host_dependent" else None
    described = f"{item.get('name')}: {item['description']}" if item.get("description") else str(item.get("name"))
    return f"{described} (requires: {needs}{capabilities.inactive_note(item)})" if needs else described


def _row(helper: JsonObject) -> str:
    hints = helper.get("model_hints") or {}
    skills = "; ".join(str(skill.get("name")) for skill in helper.get("capabilities") or [])
    cells = (helper["name"], helper.get("description"), helper.get("routing_hints"), skills)
    return "| " + " | ".join(_cell(cell) for cell in (*cells, hints.get("last_model"), helper.get("status"))) + " |\n"


def _cell(value: Any) -> str:
    return " ".join(str(value or "").replace("|", "/").split())


def _relationship(item: JsonObject) -> str:
    relation = f" ({item['relation']})" if item.get("relation") else ""
    return f"{item.get('name', '')}{relation}" + (f": {item['notes']}" if item.get("notes") else "")


def _title(key: str) -> str:
    return key.replace("_", " ").capitalize()


def _text(*parts: str) -> str:
    return _marked("\n" + "\n".join(f"{part.rstrip()}\n" for part in parts if part))


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""


def _paragraph(value: Any) -> str:
    return str(value) if value else ""


def _pairs(values: JsonObject) -> str:
    return "".join(f"- **{key}:** {_line(value)}\n" for key, value in values.items() if value not in (None, "", [], {}))


def _bullets(values: Iterable[Any]) -> str:
    return "".join(_bullet_lines(values))


def _bullet_lines(values: Iterable[Any]) -> Iterator[str]:
    return (f"- {_line(value)}\n" for value in values)


def _line(value: Any) -> str:
    return " ".join(str(value).split())
