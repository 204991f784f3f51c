"""A new document over the one before: what the files say replaces what they said, what they cannot say stays.

A document may carry more than a runtime's files hold: personality scores from another runtime, a sub-agent's lineage,
fields nobody here knows. So each document remembers (in `raw_source`) which of its fields were read from files. A
remembered field that the files no longer say is gone; any other field stays as it is.
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
"""A field that is taken as it stands, whatever is in it: what another format's document holds beside ALF's fields."""

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
    """A whole document from its `fresh` structured and prose parts; `previous` itself when they change nothing. It
    remembers under the name of the runtime what that one's files say.

    What was `said`, and is no longer, goes. `elsewhere` are fields of `fresh` that come from outside the workspace:
    they are remembered apart, because a workspace alone does not say that they are gone.
    """
    parts = ("structured", "prose")
    known = {key: previous[key] for key in parts if isinstance(previous.get(key), dict)}
    merged = overlay_fields(known, fresh, said)
    if previous and merged == known:
        return dict(previous)
    rest = {key: value for key, value in previous.items() if key not in parts}
    return {**rest, **merged, "source_format": runtime, "raw_source": _remember(runtime, previous, fresh, elsewhere)}


def overlay_fields(previous: JsonObject, fresh: JsonObject, read: Collection[Path], above: Path = ()) -> JsonObject:
    """`fresh` over what of `previous` was not `read` from files before. Fields keep their order, new ones follow."""
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
    """What stays of a value that the files do not say, _GONE when nothing does."""
    if path in read:
        return _GONE
    if path in NAMED_LISTS and isinstance(old, list) and old:
        return [item for key, item in _keyed(old) if (*path, key) not in read] or _GONE
    if isinstance(old, dict) and old and path[-1] != OPAQUE:
        return overlay_fields(old, {}, read, path) or _GONE
    return old


def _merged_items(old: list[Any], new: list[Any], read: Collection[Path], path: Path) -> list[Any]:
    """The files' items, each with what files cannot say of it, and items that never were in files. Known items keep
    their order, so that a file that is not there for a while changes nothing."""
    before = dict(_keyed(old))
    now = dict(_keyed(new))
    kept = [key for key in before if key in now or (*path, key) not in read]
    order = dict.fromkeys((*kept, *now))
    return [_with_rest(before.get(key), now[key], NAMED_LISTS[path]) if key in now else before[key] for key in order]


def _with_rest(old: Any, new: JsonObject, owned: frozenset[str]) -> JsonObject:
    """An item with the fields that the files cannot say of it, or do not."""
    if not isinstance(old, dict):
        return new
    carried = {key: value for key, value in old.items() if key not in owned and not new.get(key)}
    return {**new, **carried} | _detailed(old.get(_INNER), new.get(_INNER))


def _detailed(old: Any, new: Any) -> JsonObject:
    """A sub-agent's capabilities as the files list them, each with what was known of it."""
    if not new or not isinstance(old, list):
        return {}
    known = dict(_keyed(old))
    return {_INNER: [{**known[key], **item} if isinstance(known.get(key), dict) else item for key, item in _keyed(new)]}


def _keyed(items: list[Any]) -> Iterator[tuple[str, Any]]:
    """Items by name, a repeated name told apart by its count; what has no name, by all it says."""
    seen: dict[str, int] = {}
    for item in items:
        named = isinstance(item, dict) and isinstance(item.get("name"), str)
        key = str(item["name"]).casefold() if named else json.dumps(item, sort_keys=True)
        seen[key] = seen.get(key, 0) + 1
        yield key if seen[key] == 1 else f"{key} {seen[key]}", item


def paths_read_from_files(runtime: str, document: JsonObject, *, elsewhere: bool = False) -> frozenset[Path]:
    """Which fields of a document came from files of the workspace, as it remembers; with `elsewhere` from outside."""
    remembered = raw_source_of_runtime(document, runtime).get(_ELSEWHERE if elsewhere else _READ)
    paths = remembered if isinstance(remembered, list) else []
    return frozenset(tuple(map(str, path)) for path in paths if isinstance(path, list))


def raw_source_of_runtime(document: JsonObject, runtime: str) -> JsonObject:
    """What a runtime keeps in the `raw_source` of a document; empty where that is of another shape."""
    own = raw_sources_of(document).get(runtime)
    return own if isinstance(own, dict) else {}


def raw_sources_of(document: JsonObject) -> JsonObject:
    """The `raw_source` of a document by runtime; empty where it is of another shape."""
    found = document.get("raw_source")
    return found if isinstance(found, dict) else {}


def _remember(runtime: str, previous: JsonObject, fresh: JsonObject, elsewhere: Collection[Path]) -> JsonObject:
    """The `raw_source` that remembers what `fresh` says and from where; the parts of other runtimes stay. What is
    known to come from elsewhere is not forgotten while nothing from there can be read."""
    every = set(field_paths(fresh))
    outside = set(elsewhere) or paths_read_from_files(runtime, previous, elsewhere=True) - every
    own = {_READ: _listed(every - outside), **({_ELSEWHERE: _listed(outside)} if outside else {})}
    return {**raw_sources_of(previous), runtime: own}


def _listed(paths: Collection[Path]) -> list[list[str]]:
    return sorted(list(path) for path in paths)


def field_paths(value: JsonObject, above: Path = ()) -> Iterator[Path]:
    """The paths of all fields of a document, and of the named items of its lists."""
    for key, item in value.items():
        path = (*above, key)
        if path in NAMED_LISTS and isinstance(item, list):
            yield from ((*path, name) for name, _ in _keyed(item))
        elif isinstance(item, dict) and key != OPAQUE:
            yield from field_paths(item, path)
        else:
            yield path


def without_empty(value: JsonObject) -> JsonObject:
    """Nested objects without None, empty texts, empty lists and empty objects."""
    cleaned = {
        key: without_empty(item) if isinstance(item, dict) and key != OPAQUE else item for key, item in value.items()
    }
    return {key: item for key, item in cleaned.items() if item not in (None, "", [], {})}
