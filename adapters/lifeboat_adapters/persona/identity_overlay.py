"""Overlay a new document on the previous one: fields from files are replaced, fields that files cannot express stay.

A document may hold more than a runtime's files can: personality scores from another runtime, the lineage of a
sub-agent, unknown fields. So each document remembers (in `raw_source`) which of its fields were read from files. A
remembered field that the files do not contain any more is removed. All other fields stay.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from lifeboat_alf.common.json_types import JsonObject

Path = tuple[str, ...]

NAMED_LISTS: Mapping[Path, frozenset[str]] = {
    ("structured", "capabilities"): frozenset(("name", "description", "portability", "host_requirements")),
    ("structured", "sub_agents"): frozenset(("name", "description", "routing_hints", "model_hints", "status")),
    ("structured", "relationships"): frozenset(("name", "relation", "notes")),
}
"""Lists whose items are the same when their names are, and which of an item's fields the files can say."""

OPAQUE = "aieos_extensions"
"""A field that is kept unchanged with any content: another format's data beside ALF's fields."""

_INNER = "capabilities"
_READ, _ELSEWHERE = "read", "read_elsewhere"
_GONE = object()


def overlay_document(
    runtime: str,
    previous: JsonObject,
    fresh: JsonObject,
    *,
    said: Collection[Path] = (),
    elsewhere: Collection[Path] = (),
) -> JsonObject:
    """Return a whole document from its `fresh` structured and prose parts, or `previous` itself when they change
    nothing. It remembers under the name of the runtime which fields its files contain.

    Fields that were `said` before and are missing now are removed. `elsewhere` are fields of `fresh` from outside the
    workspace. They are remembered separately, because a workspace alone does not show that they were removed.
    """
    parts = ("structured", "prose")
    known = {key: previous[key] for key in parts if isinstance(previous.get(key), dict)}
    merged = overlay_fields(known, fresh, said)
    if previous and merged == known:
        return dict(previous)
    rest = {key: value for key, value in previous.items() if key not in parts}
    return {**rest, **merged, "source_format": runtime, "raw_source": _remember(runtime, previous, fresh, elsewhere)}


def overlay_fields(previous: JsonObject, fresh: JsonObject, read: Collection[Path], above: Path = ()) -> JsonObject:
    """Put `fresh` over the fields of `previous` that were not `read` from files before. Fields keep their order, new
    ones follow."""
    merged: JsonObject = {}
    for key in dict.fromkeys((*previous, *fresh)):
        path = (*above, key)
        value = _merged(previous.get(key, _GONE), fresh.get(key, _GONE), read, path)
        if value is not _GONE:
            merged[key] = value
    return merged


def _merged(old: Any, new: Any, read: Collection[Path], path: Path) -> Any:
    if new is _GONE:
        return _carried(old, read, path)
    if path in NAMED_LISTS:
        return _merged_items(old if isinstance(old, list) else [], new, read, path)
    if isinstance(old, dict) and isinstance(new, dict) and path[-1] != OPAQUE:
        return overlay_fields(old, new, read, path)
    return new


def _carried(old: Any, read: Collection[Path], path: Path) -> Any:
    """Return the part of a value that stays although the files do not contain it, _GONE when none does."""
    if path in read:
        return _GONE
    if path in NAMED_LISTS and isinstance(old, list) and old:
        return [item for key, item in _keyed(old) if (*path, key) not in read] or _GONE
    if isinstance(old, dict) and old and path[-1] != OPAQUE:
        return overlay_fields(old, {}, read, path) or _GONE
    return old


def _merged_items(old: list[Any], new: list[Any], read: Collection[Path], path: Path) -> list[Any]:
    """Return the items of the files, each with the fields that files cannot express, and items that were never in
    files. Known items keep their order, so that a file that is missing for a while changes nothing."""
    before = dict(_keyed(old))
    now = dict(_keyed(new))
    kept = [key for key in before if key in now or (*path, key) not in read]
    order = dict.fromkeys((*kept, *now))
    return [_with_rest(before.get(key), now[key], NAMED_LISTS[path]) if key in now else before[key] for key in order]


def _with_rest(old: Any, new: JsonObject, owned: frozenset[str]) -> JsonObject:
    """Return an item with the fields that the files cannot express or do not contain."""
    if not isinstance(old, dict):
        return new
    carried = {key: value for key, value in old.items() if key not in owned and not new.get(key)}
    return {**new, **carried} | _detailed(old.get(_INNER), new.get(_INNER))


def _detailed(old: Any, new: Any) -> JsonObject:
    """Return a sub-agent's capabilities as the files list them, each with its known details."""
    if not new or not isinstance(old, list):
        return {}
    known = dict(_keyed(old))
    return {_INNER: [{**known[key], **item} if isinstance(known.get(key), dict) else item for key, item in _keyed(new)]}


def _keyed(items: list[Any]) -> Iterator[tuple[str, Any]]:
    """Return items by name; repeated names are numbered, and items without a name are keyed by their content."""
    seen: dict[str, int] = {}
    for item in items:
        named = isinstance(item, dict) and isinstance(item.get("name"), str)
        key = str(item["name"]).casefold() if named else json.dumps(item, sort_keys=True)
        seen[key] = seen.get(key, 0) + 1
        yield key if seen[key] == 1 else f"{key} {seen[key]}", item


def paths_read_from_files(runtime: str, document: JsonObject, *, elsewhere: bool = False) -> frozenset[Path]:
    """Return which fields of a document came from files of the workspace, as it remembers; with `elsewhere`, those from
    outside."""
    remembered = raw_source_of_runtime(document, runtime).get(_ELSEWHERE if elsewhere else _READ)
    paths = remembered if isinstance(remembered, list) else []
    return frozenset(tuple(map(str, path)) for path in paths if isinstance(path, list))


def raw_source_of_runtime(document: JsonObject, runtime: str) -> JsonObject:
    """Return the part of a runtime in the `raw_source` of a document, empty when it has another shape."""
    own = raw_sources_of(document).get(runtime)
    return own if isinstance(own, dict) else {}


def raw_sources_of(document: JsonObject) -> JsonObject:
    """Return the `raw_source` of a document by runtime, empty when it has another shape."""
    found = document.get("raw_source")
    return found if isinstance(found, dict) else {}


def _remember(runtime: str, previous: JsonObject, fresh: JsonObject, elsewhere: Collection[Path]) -> JsonObject:
    """Return the `raw_source` that remembers the fields of `fresh` and their origin. Parts of other runtimes stay.
    Fields from elsewhere stay remembered while nothing can be read from there."""
    every = set(field_paths(fresh))
    outside = set(elsewhere) or paths_read_from_files(runtime, previous, elsewhere=True) - every
    own = {_READ: _listed(every - outside), **({_ELSEWHERE: _listed(outside)} if outside else {})}
    return {**raw_sources_of(previous), runtime: own}


def _listed(paths: Collection[Path]) -> list[list[str]]:
    return sorted(list(path) for path in paths)


def field_paths(value: JsonObject, above: Path = ()) -> Iterator[Path]:
    """Yield the paths of all fields of a document, and of the named items of its lists."""
    for key, item in value.items():
        path = (*above, key)
        if path in NAMED_LISTS and isinstance(item, list):
            yield from ((*path, name) for name, _ in _keyed(item))
        elif isinstance(item, dict) and key != OPAQUE:
            yield from field_paths(item, path)
        else:
            yield path


def without_empty(value: JsonObject) -> JsonObject:
    """Return nested objects without None, empty texts, empty lists and empty objects."""
    cleaned = {
        key: without_empty(item) if isinstance(item, dict) and key != OPAQUE else item for key, item in value.items()
    }
    return {key: item for key, item in cleaned.items() if item not in (None, "", [], {})}
