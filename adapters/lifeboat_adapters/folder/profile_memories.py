"""Divide the files of a profile into memories, and make files of memories again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import yaml

from lifeboat_adapters.contract import MemorySection
from lifeboat_adapters.folder.folder_profile import Division, FolderProfile, MemoryRule
from lifeboat_adapters.nested_values import get_nested
from lifeboat_adapters.notes import memory_annotations, note_joining, note_names, note_splitting
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject

_BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]")
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(.{0,20000}?\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_YAML = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_MOST_TAGS = 50


def split_profile_file(profile: FolderProfile, name: str, text: str) -> list[MemorySection] | None:
    """Return the memories in a file of the workspace, None for a file that no rule of the profile names."""
    rule = profile.memory_rule(name)
    if rule is None:
        return None
    base = _fields_of_file(rule, name)
    if rule.divide is Division.SEPARATOR:
        return _split_at_separator(rule, base, text)
    if rule.divide is Division.FILE:
        return [MemorySection(text, fields=_fields(rule, base, text))] if text else []
    starts = _BULLET if rule.divide is Division.BULLETS else None
    return note_splitting.split_stretches(
        text,
        lambda plain: note_splitting.divide_at_headings(plain, starts=starts),
        lambda content: _fields(rule, base, content),
    )


def join_profile_file(profile: FolderProfile, name: str, memories: Sequence[tuple[str, str]]) -> str:
    """Return the text of a file with these memories, each an id and a text."""
    rule = profile.memory_rule(name)
    if rule is None or rule.divide is Division.FILE:
        return "\n".join(text for _, text in memories)
    if rule.divide is Division.SEPARATOR:
        # A separator within a memory would make two memories of it.
        within = f"{rule.separator[:-1]} {rule.separator[-1:]}"
        return rule.separator.join(text.replace(rule.separator, within) for _, text in memories)
    return note_joining.join_note(
        name, memories, native=True, split=lambda named, text: split_profile_file(profile, named, text)
    )


def _split_at_separator(rule: MemoryRule, base: JsonObject, text: str) -> list[MemorySection]:
    *first, last = text.split(rule.separator)
    pieces = [(entry + rule.separator, entry) for entry in first] + ([(last, last)] if last else [])
    return [
        MemorySection(content, fields=_fields(rule, base, entry), memory=entry if entry.strip() else "")
        for content, entry in pieces
    ]


def _fields_of_file(rule: MemoryRule, name: str) -> JsonObject:
    """Return the fields that all memories of a file have in common."""
    fields: JsonObject = {
        "memory_type": rule.memory_type,
        "namespace": note_splitting.PRIMARY_PRINCIPAL_NAMESPACE if rule.about_user else "default",
        "source": {"origin": "memory_file", "extraction_method": "agent_written"},
    }
    day = note_names.day_in_note_name(name)
    if day is not None:
        fields |= {"category": "daily_log", "temporal": {"observed_at": times.day_text(day)}}
    elif "/" in name:
        fields["category"] = name.split("/")[-2]
    return fields


def _fields(rule: MemoryRule, base: JsonObject, content: str) -> JsonObject:
    """Return the fields of one memory: those of its file, its tags, and what its front matter says."""
    fields = dict(base)
    confidence, tags = memory_annotations.find_confidence_and_tags(content)
    if confidence is not None:
        fields["confidence"] = confidence
    matter = read_front_matter(content) if rule.divide is Division.FILE else {}
    listed = matter.get("tags")
    tags = [*tags, *(str(tag) for tag in listed if isinstance(tag, str))] if isinstance(listed, list) else tags
    if tags:
        fields["tags"] = list(dict.fromkeys(tags))[:_MOST_TAGS]
    if rule.type_field:
        value = get_nested(matter, *rule.type_field.split("."))
        fields["memory_type"] = rule.types.get(str(value), rule.memory_type)
    return fields


def find_front_matter_end(text: str) -> int:
    """Return where the text below the front matter begins, 0 without front matter."""
    found = _FRONT_MATTER.match(text)
    return 0 if found is None else found.end()


def read_front_matter(text: str) -> dict[str, Any]:
    """Return the YAML mapping at the top of a text, {} without one or when it does not parse."""
    found = _FRONT_MATTER.match(text)
    if found is None:
        return {}
    try:
        values = yaml.load(found[1], Loader=_YAML)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
