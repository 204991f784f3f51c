"""JSON documents with parts replaced by values of any shape."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

RUBBISH: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 5, 0.5, "x", "", [], ["x"], [5], [None], {}, {"x": 5}, [{"id": 5}], [{"x": "y"}], {"x": ["y"]}]
)
"""Values that are valid nowhere or in few places of a document."""

Path = tuple[Any, ...]


def places(value: Any, above: Path = ()) -> Iterator[Path]:
    """Yield every place in a document except the document itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*above, key)
        yield from places(inner, (*above, key))


def replaced(document: Any, place: Path, value: Any) -> Any:
    """Return a copy of a document with another value in one place."""
    made = copy.deepcopy(document)
    inner = made
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return made


def spoiled(document: Any) -> st.SearchStrategy[Any]:
    """Draw a document with rubbish in one of its places."""
    found = list(places(document))
    return st.tuples(st.sampled_from(found), RUBBISH).map(lambda each: replaced(document, *each))
