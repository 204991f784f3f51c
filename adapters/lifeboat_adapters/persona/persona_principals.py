"""Derive the principals that an agent serves from USER.md (ALF §3.3). The file describes one human; all other
principals are carried over."""

from __future__ import annotations

import re

from lifeboat_adapters.contract import AgentFiles, Derivation, DerivationContext
from lifeboat_adapters.persona import document_shapes, identity_overlay, markdown_fields, prose_synthesis
from lifeboat_adapters.persona.derivation_files import read_file_text
from lifeboat_alf.common.json_shapes import as_object, objects_in
from lifeboat_alf.common.json_types import JsonObject

_COMMUNICATION = re.compile(r"\b(communication|preferences|style|tone)\b")
_WORK = re.compile(r"\b(work|job|professional)\b")
_PROJECTS = re.compile(r"\bprojects?\b")
_RELATIONSHIPS = re.compile(r"\b(relationships?|people|family)\b")
_TIMEZONE = re.compile(r"time ?zone")
_LOCALE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
_ZONE = re.compile(r"[A-Za-z_]+(/[A-Za-z0-9_+-]+)+|UTC|GMT")
_RELATION = re.compile(r"([^(:]{1,60}?)\s*\(([^)]{1,60})\)\s*(?::\s*(.+))?")
_SECTIONS = re.compile("|".join(found.pattern for found in (_COMMUNICATION, _WORK, _PROJECTS, _RELATIONSHIPS)))
_COMMENT = re.compile(r"<!--[^\n]*?-->")
_READ_ELSEWHERE = frozenset(("name", "timezone", "time zone", "locale", "language"))


def make_principals_derivation(runtime: str, user: str) -> Derivation:
    """Return the derivation of a runtime's principals. `user` is the archive path of its USER.md."""

    def derive(files: AgentFiles, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
        return make_principals_document(runtime, read_file_text(files, user), previous)

    return Derivation("principals", lambda path: path == user, derive)


def make_principals_document(runtime: str, text: str, previous: JsonObject | None) -> JsonObject | None:
    """Return the principals document, with profiles that lack ids, versions and times of their own."""
    every = objects_in((previous or {}).get("principals"))
    at = next((place for place, one in enumerate(every) if one.get("principal_type") == "human"), None)
    if not text.strip() and at is None:
        return previous
    primary: JsonObject = {"principal_type": "human", "agent_id": None} if at is None else every[at]
    updated = {**primary, "profile": make_human_profile(runtime, text, as_object(primary.get("profile")))}
    others = every if at is None else every[:at] + every[at + 1 :]
    return {**(previous or {}), "principals": [updated, *others]}


def make_human_profile(runtime: str, text: str, before: JsonObject) -> JsonObject:
    """Return the profile of the primary human: the fields of USER.md over those that it cannot express."""
    if before and prose_synthesis.is_unedited_synthesis(text):
        return before
    prose = {"user_profile": text} if text.strip() else {}
    fresh = identity_overlay.without_empty({"structured": read_structured_profile(text), "prose": prose})
    former = str(document_shapes.well_formed_profile(before).get("prose", {}).get("user_profile") or "")
    former = former or (
        prose_synthesis.compose_user_profile(before) if prose_synthesis.is_marked_as_synthesis(text) else ""
    )
    said = identity_overlay.field_paths({"structured": identity_overlay.without_empty(read_structured_profile(former))})
    merged = identity_overlay.overlay_document(
        runtime, before, fresh, said=identity_overlay.paths_read_from_files(runtime, before).union(said)
    )
    return (
        merged
        if before
        else {**merged, "structured": {**as_object(merged.get("structured")), "principal_type": "human"}}
    )


def read_structured_profile(text: str) -> JsonObject:
    """Return the fields of ALF §3.3.3 that USER.md gives as `Key: value`, or as lists under their heading."""
    said = markdown_fields.key_value_pairs(text)
    return {
        "name": said.get("name") or _name_in_title(text),
        "timezone": said.get("timezone") or said.get("time zone") or _zone(text),
        "locale": _locale(said.get("locale") or said.get("language") or ""),
        "communication_preferences": _communication(
            markdown_fields.key_value_pairs(markdown_fields.text_under_headings(text, _COMMUNICATION))
        ),
        "work_context": _work(text),
        "relationships": [found for item in _items(text, _RELATIONSHIPS) if (found := _relationship(item))],
        "custom_fields": _custom(text),
    }


def _communication(said: dict[str, str]) -> JsonObject:
    return {
        "tone": said.get("tone"),
        "response_length": said.get("response length") or said.get("length"),
        "formatting": said.get("formatting") or said.get("format"),
    }


def _work(text: str) -> JsonObject:
    said = markdown_fields.key_value_pairs(markdown_fields.text_under_headings(text, _WORK))
    return {
        "role": said.get("role") or said.get("title") or said.get("job"),
        "company": said.get("company") or said.get("employer"),
        "projects": markdown_fields.split_listed_value(said.get("projects", "")) or _items(text, _PROJECTS),
    }


def _items(text: str, titles: re.Pattern[str]) -> list[str]:
    return [
        markdown_fields.strip_emphasis(item)
        for item in markdown_fields.list_items(markdown_fields.text_under_headings(text, titles))
    ]


def _relationship(item: str) -> JsonObject | None:
    """Parse a line like `Jonas (brother): keeps the boat`."""
    found = _RELATION.fullmatch(item)
    if found is None:
        return None
    return identity_overlay.without_empty({"name": found[1].strip(), "relation": found[2].strip(), "notes": found[3]})


def _custom(text: str) -> JsonObject:
    """Return other `Key: value` lines before the first section: pronouns, form of address, notes."""
    parts = markdown_fields.split_at_headings(text)
    said = markdown_fields.key_value_pairs(parts[0].text)
    if not _COMMENT.sub("", parts[0].text).strip() and len(parts) > 1 and not _SECTIONS.search(parts[1].title):
        said |= markdown_fields.key_value_pairs(parts[1].text)
    return {key.replace(" ", "_"): value for key, value in said.items() if key not in _READ_ELSEWHERE}


def _name_in_title(text: str) -> str | None:
    """Return the name in a title like `# Alex`. `# USER.md - About your human` contains none."""
    title = next((line.strip("# \t\r\n") for line in text.splitlines() if line.startswith("# ")), "")
    words = title.lower()
    return title if title and len(title) <= 40 and not any(word in words for word in (".md", "user", "about")) else None


def _zone(text: str) -> str | None:
    lines = (line.strip("-* \t\r") for line in markdown_fields.text_under_headings(text, _TIMEZONE).splitlines())
    return next((line for line in lines if _ZONE.fullmatch(line)), None)


def _locale(text: str) -> str | None:
    return (
        text.replace("_", "-") if _LOCALE.fullmatch(text) and (len(text) <= 3 or "-" in text or "_" in text) else None
    )
