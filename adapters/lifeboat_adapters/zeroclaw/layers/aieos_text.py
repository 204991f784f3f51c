"""Edit single values in the text of a JSON document and keep everything around them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from lifeboat_adapters import json5_editing
from lifeboat_adapters.additive_merging import ValueChange
from lifeboat_adapters.secrets.parsed_leaves import Path

_BOM = b"\xef\xbb\xbf"
_INDENT = re.compile(r"\{\r?\n([ \t]+)")


def rewrite_aieos_text(text: bytes, before: Any, wanted: Any) -> bytes:
    """Return the text of a document with the `wanted` values. `before` are the parsed values of the text."""
    try:
        changed = json5_editing.edit_json5(text, list(_changes(before, wanted, ())))
        if not changed.rewritten and _is_same(json.loads(changed.data.removeprefix(_BOM)), wanted):
            return changed.data
    except (ValueError, KeyError, RecursionError):
        pass
    return _laid_out(text.decode("utf-8-sig", "replace"), wanted)


def _changes(before: Any, wanted: Any, path: Path) -> Iterator[ValueChange]:
    """Yield the changes that turn an object into the wanted one. A list changes as a whole."""
    for key in before:
        if key not in wanted:
            yield ValueChange((*path, key), remove=True)
        elif isinstance(before[key], dict) and isinstance(wanted[key], dict):
            yield from _changes(before[key], wanted[key], (*path, key))
        elif not _is_same(before[key], wanted[key]):
            yield ValueChange((*path, key), wanted[key])
    yield from (ValueChange((*path, key), value) for key, value in wanted.items() if key not in before)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are written alike: 1, 1.0 and true are not."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _laid_out(text: str, wanted: Any) -> bytes:
    indent = _INDENT.match(text)
    end = "\n" if text.endswith("\n") else ""
    return (json.dumps(wanted, indent=indent[1] if indent else None, ensure_ascii=False) + end).encode()
