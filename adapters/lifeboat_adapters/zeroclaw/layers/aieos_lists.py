"""Convert goals and capabilities: single lists in ALF that are several lists in AIEOS (ALF §3.2.6)."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from lifeboat_adapters.zeroclaw.layers.aieos_values import is_text, is_texts, places_of_field
from lifeboat_adapters.zeroclaw.layers.json_pointers import (
    GONE,
    Pointer,
    get_at_pointer,
    put_at_pointer,
    take_at_pointer,
)
from lifeboat_alf.common.json_types import JsonObject

Segment = tuple[Pointer, int]
"""The list that goals came from, and their number."""

_DRIVE: Pointer = ("motivations", "core_drive")
_SHORT: Pointer = ("motivations", "goals", "short_term")
_LONG: Pointer = ("motivations", "goals", "long_term")
_GOALS = (
    places_of_field(_DRIVE),
    places_of_field(("motivations", "short_term_goals"), _SHORT),
    places_of_field(("motivations", "long_term_goals"), _LONG),
)
_HOMES = (_DRIVE, _SHORT, _LONG)
_SKILLS: Pointer = ("capabilities", "skills")
_TOOLS: Pointer = ("capabilities", "tools")
_CAPABILITIES = (places_of_field(_SKILLS), places_of_field(_TOOLS))
_PORTABILITY = ("intrinsic", "host_dependent")
REMEMBERED = "aieos"
"""The key of a capability for its place and its item in an AIEOS document: {at, item}."""


def promote_goals(rest: JsonObject, structured: JsonObject) -> JsonObject:
    """Move the core drive and the goals into `structured`. Return the memory of their places."""
    goals: list[str] = []
    segments = []
    for places in _GOALS:
        place = next((place for place in places if _are_goals(place, get_at_pointer(rest, place))), None)
        if place is not None:
            taken = take_at_pointer(rest, place)
            found = [taken] if _is_drive(place) else taken
            goals += found
            segments.append([list(place), len(found)])
    structured |= {"goals": goals} if goals else {}
    return {"goals": segments} if segments else {}


def _is_drive(place: Pointer) -> bool:
    return place[-1] == _DRIVE[-1]


def _are_goals(place: Pointer, value: Any) -> bool:
    return is_text(value) if _is_drive(place) else is_texts(value)


def put_goals(document: JsonObject, structured: JsonObject, memory: Any) -> None:
    """Put goals back at their places. Goals without a place become long-term goals."""
    goals = structured.get("goals")
    left = [goal for goal in goals if is_text(goal)] if isinstance(goals, list) else []
    for place, count in goal_segments(memory):
        here, left = left[:count], left[count:]
        if here:
            put_at_pointer(document, place, here[0] if _is_drive(place) else here)
    if left:
        place = next((place for place, _ in goal_segments(memory) if place in _GOALS[2]), _LONG)
        there = get_at_pointer(document, place)
        put_at_pointer(document, place, [*there, *left] if isinstance(there, list) else left)


def goal_segments(memory: Any) -> list[Segment]:
    """Return the well-formed part of a memory of goals."""
    known = {place for places in _GOALS for place in places}
    found = []
    for item in memory if isinstance(memory, list) else []:
        if isinstance(item, list) and len(item) == 2 and isinstance(item[0], list) and isinstance(item[1], int):
            place = tuple(map(str, item[0]))
            if place in known and item[1] > 0:
                found.append((place, 1 if _is_drive(place) else item[1]))
    return found


def align_goal_places(before: list[Any], memory: Any, now: list[Any]) -> list[Any]:
    """Return the memory of places for changed goals. A goal that replaces another takes its place; a new goal goes with
    the one before it. Reading the document again gives the same order."""
    known = [place for place, count in goal_segments(memory) for _ in range(count)][: len(before)]
    ranks = [_rank(place) for place in known] + [len(_GOALS) - 1] * (len(before) - len(known))
    new: list[int] = []
    for tag, start, end, to_start, to_end in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        kept = ranks[start:end] if tag in ("equal", "replace") else []
        for number in range(to_end - to_start):
            last = new[-1] if new else -1
            wanted = kept[number] if number < len(kept) else last
            new.append(max(wanted, last, 1 if last == 0 or (not new and not kept) else 0))
    at = {_rank(place): place for place in reversed(known)}
    return [[list(at.get(rank, _HOMES[rank])), new.count(rank)] for rank in sorted(set(new))]


def _rank(place: Pointer) -> int:
    return next(number for number, places in enumerate(_GOALS) if place in places)


def promote_capabilities(rest: JsonObject, structured: JsonObject) -> None:
    """Move skills and tools into `structured`. A skill is the agent's own; a tool is provided by its host."""
    found: list[JsonObject] = []
    for places in _CAPABILITIES:
        place = next((place for place in places if _are_capabilities(get_at_pointer(rest, place))), None)
        if place is not None:
            found += [_capability(place, item) for item in take_at_pointer(rest, place)]
    structured |= {"capabilities": found} if found else {}


def _are_capabilities(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(is_text(item.get("name") if isinstance(item, dict) else item) for item in value)
    )


def _capability(place: Pointer, item: Any) -> JsonObject:
    fields = item if isinstance(item, dict) else {"name": item}
    found: JsonObject = {"name": fields["name"]}
    if is_text(fields.get("description")):
        found["description"] = fields["description"]
    if _is_rank(fields.get("priority")):
        found["priority"] = fields["priority"]
    said = fields.get("portability")
    is_tool = place[-1] == _TOOLS[-1]
    found["portability"] = said if said in _PORTABILITY else _PORTABILITY[is_tool]
    if found["portability"] == "host_dependent":
        needs = fields.get("host_requirements")
        found["host_requirements"] = needs if is_text(needs) else f"the tool {found['name']}"
    return found | {REMEMBERED: {"at": list(place), "item": item}}


def _is_rank(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def put_capabilities(document: JsonObject, structured: JsonObject) -> None:
    """Put capabilities back into their lists. New ones are placed by their portability."""
    by_place: dict[Pointer, list[Any]] = {}
    for place, item in _items(structured.get("capabilities")):
        by_place.setdefault(place, []).append(item)
    for place, items in by_place.items():
        there = get_at_pointer(document, place)
        put_at_pointer(document, place, [*there, *items] if isinstance(there, list) else items)


def _items(capabilities: Any) -> Iterator[tuple[Pointer, Any]]:
    for capability in capabilities if isinstance(capabilities, list) else []:
        if not isinstance(capability, dict) or not is_text(capability.get("name")):
            continue
        place, item = _remembered(capability.get(REMEMBERED))
        if item is GONE:
            place = _TOOLS if capability.get("portability") == "host_dependent" else _SKILLS
            told = ("name", "description", "priority", "host_requirements")
            fields = {key: capability[key] for key in told if key in capability}
            yield place, copy.deepcopy(fields) if len(fields) > 1 else capability["name"]
        else:
            yield place, _patched(item, capability)


def _remembered(memory: Any) -> tuple[Pointer, Any]:
    at = memory.get("at") if isinstance(memory, dict) else None
    place = next((place for places in _CAPABILITIES for place in places if list(place) == at), None)
    return (place, copy.deepcopy(memory.get("item", GONE))) if place is not None else (_SKILLS, GONE)


def _patched(item: Any, capability: JsonObject) -> Any:
    """Return an item of a document with the present name and description of the capability."""
    before = item if isinstance(item, dict) else {"name": item}
    now = {key: value for key in ("name", "description") if is_text(value := capability.get(key))}
    if all(now.get(key) == value for key in ("name", "description") if is_text(value := before.get(key))) and all(
        before.get(key) == value for key, value in now.items()
    ):
        return item
    gone = {"description"} if is_text(before.get("description")) and "description" not in now else set()
    fields = {key: value for key, value in {**before, **now}.items() if key not in gone}
    return fields if isinstance(item, dict) or len(fields) > 1 else fields["name"]
