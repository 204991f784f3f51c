"""Apply the changes of an identity to an AIEOS document, and change nothing else."""

from __future__ import annotations

import copy
from typing import Any

from lifeboat_adapters.zeroclaw.layers import aieos
from lifeboat_adapters.zeroclaw.layers import aieos_lists as lists
from lifeboat_adapters.zeroclaw.layers.aieos_values import MEMORY, is_text, is_texts
from lifeboat_adapters.zeroclaw.layers.json_pointers import GONE, get_at_pointer, put_at_pointer, take_at_pointer
from lifeboat_alf.common.json_types import JsonObject


def merge_aieos(document: JsonObject, before: JsonObject, now: JsonObject) -> JsonObject:
    """Return a document with the differences between the structured fields from its files (`before`) and those of
    `now`, or `document` itself when there are none. Keys keep their order."""
    memory = get_at_pointer(now, (aieos.EXTENSIONS, MEMORY, "name"))
    said = aieos.from_aieos(document, memory if is_text(memory) else "")
    wanted = _changed(said, before, now)
    return document if wanted == said else _in_order(document, aieos.to_aieos(wanted))


def _changed(said: JsonObject, before: JsonObject, now: JsonObject) -> JsonObject:
    wanted = copy.deepcopy(said)
    for field in aieos.FIELDS:
        _carry(wanted, before, now, field)
    for scores in aieos.SCORES:
        _carry_scores(wanted, before, now, scores)
    primary = get_at_pointer(now, aieos.PRIMARY)
    if is_text(primary) and primary != get_at_pointer(before, aieos.PRIMARY):
        put_at_pointer(wanted, aieos.PRIMARY, primary)
    _carry_rest(wanted, before, now)
    capabilities = _capabilities(wanted.get("capabilities"), before.get("capabilities"), now.get("capabilities"))
    wanted |= {"capabilities": capabilities} if capabilities or "capabilities" in wanted else {}
    return wanted


def _carry(wanted: JsonObject, before: JsonObject, now: JsonObject, field: aieos.PromotedField) -> None:
    value = get_at_pointer(now, field.alf)
    if value == get_at_pointer(before, field.alf):
        return
    if value is GONE:
        take_at_pointer(wanted, field.alf)
    elif field.fits(value):
        put_at_pointer(wanted, field.alf, copy.deepcopy(value))


def _carry_scores(wanted: JsonObject, before: JsonObject, now: JsonObject, scores: aieos.PromotedScores) -> None:
    old, new = get_at_pointer(before, scores.alf), get_at_pointer(now, scores.alf)
    old, new = (value if isinstance(value, dict) else {} for value in (old, new))
    if old == new or (
        scores.alf[:-1] == aieos.TRAITS and get_at_pointer(now, (*aieos.TRAITS, "framework")) != "OCEAN" and new
    ):
        return
    for key in old.keys() - new.keys():
        take_at_pointer(wanted, (*scores.alf, key))
    for key in scores.found(new):
        if new[key] != old.get(key, GONE):
            put_at_pointer(wanted, (*scores.alf, key), new[key])
    if scores.alf[:-1] == aieos.TRAITS and get_at_pointer(wanted, scores.alf) is not GONE:
        put_at_pointer(wanted, (*aieos.TRAITS, "framework"), "OCEAN")


def _carry_rest(wanted: JsonObject, before: JsonObject, now: JsonObject) -> None:
    """Apply the extensions and the goals. Changed extensions bring their own memory of places."""
    goals = now.get("goals") or []
    is_changed = goals != (before.get("goals") or []) and (is_texts(goals) or not goals)
    if _extensions(now) != _extensions(before):
        wanted |= {aieos.EXTENSIONS: copy.deepcopy(now.get(aieos.EXTENSIONS) or {})}
        wanted |= {"goals": list(goals)} if is_changed else {}
    elif is_changed:
        place = (aieos.EXTENSIONS, MEMORY, "goals")
        put_at_pointer(
            wanted, place, lists.align_goal_places(wanted.get("goals") or [], get_at_pointer(wanted, place), goals)
        )
        wanted |= {"goals": list(goals)}


def _extensions(structured: JsonObject) -> JsonObject:
    found = structured.get(aieos.EXTENSIONS)
    return {key: value for key, value in found.items() if key != MEMORY} if isinstance(found, dict) else {}


def _capabilities(said: Any, before: Any, now: Any) -> list[JsonObject]:
    """Return the document's capabilities with changed names and descriptions, without removed ones, and
    with new ones."""
    old, new = _by_name(before), _by_name(now)
    kept = []
    for key, item in _by_name(said).items():
        if key in new:
            kept.append(_with_changes(item, old.get(key, {}), new[key]))
        elif key not in old:
            kept.append(item)
    return kept + [item for key, item in new.items() if key not in old and key not in _by_name(said)]


def _with_changes(item: JsonObject, old: JsonObject, new: JsonObject) -> JsonObject:
    changed = {key for key in ("name", "description") if old.get(key) != new.get(key)}
    rest = {key: value for key, value in item.items() if key not in changed}
    return {**rest, **{key: new[key] for key in changed if key in new}}


def _by_name(items: Any) -> dict[str, JsonObject]:
    """Return capabilities by name; repeated names are numbered."""
    found: dict[str, JsonObject] = {}
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict) and is_text(item.get("name")):
            key, count = str(item["name"]).casefold(), 1
            while (f"{key} {count}" if count > 1 else key) in found:
                count += 1
            found[f"{key} {count}" if count > 1 else key] = item
    return found


def _in_order(like: Any, value: Any) -> Any:
    """Return a value whose objects have the order of keys of another one, with new keys last."""
    if not isinstance(like, dict) or not isinstance(value, dict):
        return value
    order = [key for key in like if key in value] + [key for key in value if key not in like]
    return {key: _in_order(like.get(key), value[key]) for key in order}
