"""Whom the agent serves, from USER.md (ALF §3.3). It knows one human; every other principal is carried."""

from __future__ import annotations

import re

from lifeboat_adapters.contract import Derivation, DerivationContext, Files
from lifeboat_adapters.persona import overlay, reading, shapes, synthesis
from lifeboat_adapters.persona.documents import text_of
from lifeboat_alf.json_shapes import as_object, objects_in
from lifeboat_alf.json_types import JsonObject

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


def derivation(runtime: str, user: str) -> Derivation:
    """The principals of a runtime's agent; `user` is the archive path of its USER.md."""

    def derive(files: Files, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
        return principals(runtime, text_of(files, user), previous)

    return Derivation("principals", lambda path: path == user, derive)


def principals(runtime: str, text: str, previous: JsonObject | None) -> JsonObject | None:
    """The principals document; profiles without ids, versions and times of their own."""
    every = objects_in((previous or {}).get("principals"))
    at = next((place for place, one in enumerate(every) if one.get("principal_type") == "human"), None)
    if not text.strip() and at is None:
        return previous
    primary: JsonObject = {"principal_type": "human", "agent_id": None} if at is None else every[at]
    updated = {**primary, "profile": profile(runtime, text, as_object(primary.get("profile")))}
    others = every if at is None else every[:at] + every[at + 1 :]
    return {**(previous or {}), "principals": [updated, *others]}


def profile(runtime: str, text: str, before: JsonObject) -> JsonObject:
    """The primary human's profile: what USER.md says over what it cannot say."""
    if before and synthesis.is_own(text):
        return before
    prose = {"user_profile": text} if text.strip() else {}
    fresh = overlay.without_empty({"structured": structured(text), "prose": prose})
    former = str(shapes.profile(before).get("prose", {}).get("user_profile") or "")
    former = former or (synthesis.user_profile(before) if synthesis.was_own(text) else "")
    said = overlay.leaves({"structured": overlay.without_empty(structured(former))})
    merged = overlay.document(runtime, before, fresh, said=overlay.read_paths(runtime, before).union(said))
    return (
        merged
        if before
        else {**merged, "structured": {**as_object(merged.get("structured")), "principal_type": "human"}}
    )


def structured(text: str) -> JsonObject:
    """Fields of ALF §3.3.3 that USER.md gives as `Key: value`, or as lists under their heading."""
    said = reading.pairs(text)
    return {
        "name": said.get("name") or _name_in_title(text),
        "timezone": said.get("timezone") or said.get("time zone") or _zone(text),
        "locale": _locale(said.get("locale") or said.get("language") or ""),
        "communication_preferences": _communication(reading.pairs(reading.under(text, _COMMUNICATION))),
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
    said = reading.pairs(reading.under(text, _WORK))
    return {
        "role": said.get("role") or said.get("title") or said.get("job"),
        "company": said.get("company") or said.get("employer"),
        "projects": reading.listed(said.get("projects", "")) or _items(text, _PROJECTS),
    }


def _items(text: str, titles: re.Pattern[str]) -> list[str]:
    return [reading.plain(item) for item in reading.items(reading.under(text, titles))]


def _relationship(item: str) -> JsonObject | None:
    """`Jonas (brother): keeps the boat`."""
    found = _RELATION.fullmatch(item)
    if found is None:
        return None
    return overlay.without_empty({"name": found[1].strip(), "relation": found[2].strip(), "notes": found[3]})


def _custom(text: str) -> JsonObject:
    """Other `Key: value` lines on top, before the first section: pronouns, how to call them, notes."""
    parts = reading.headed(text)
    said = reading.pairs(parts[0].text)
    if not _COMMENT.sub("", parts[0].text).strip() and len(parts) > 1 and not _SECTIONS.search(parts[1].title):
        said |= reading.pairs(parts[1].text)
    return {key.replace(" ", "_"): value for key, value in said.items() if key not in _READ_ELSEWHERE}


def _name_in_title(text: str) -> str | None:
    """`# Alex` on top is a name; `# USER.md - About your human` is not."""
    title = next((line.strip("# \t\r\n") for line in text.splitlines() if line.startswith("# ")), "")
    words = title.lower()
    return title if title and len(title) <= 40 and not any(word in words for word in (".md", "user", "about")) else None


def _zone(text: str) -> str | None:
    lines = (line.strip("-* \t\r") for line in reading.under(text, _TIMEZONE).splitlines())
    return next((line for line in lines if _ZONE.fullmatch(line)), None)


def _locale(text: str) -> str | None:
    return (
        text.replace("_", "-") if _LOCALE.fullmatch(text) and (len(text) <= 3 or "-" in text or "_" in text) else None
    )
