from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.persona import identity_overlay

RUNTIME = "openclaw"
NAMES = st.sampled_from(["a", "b", "A"])
ITEMS = st.lists(st.fixed_dictionaries({"name": NAMES}, optional={"description": NAMES, "extra": NAMES}), max_size=4)
LEAVES = st.none() | st.integers(0, 3) | NAMES | ITEMS
VALUES = st.recursive(LEAVES, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=6)
PARTS = st.dictionaries(
    st.sampled_from(["structured", "prose"]),
    st.dictionaries(NAMES, VALUES, max_size=3) | st.fixed_dictionaries({"capabilities": ITEMS}),
)


@given(PARTS, PARTS)
def test_the_same_files_over_their_own_document_change_nothing(previous: Any, said: Any) -> None:
    fresh = identity_overlay.without_empty(said)
    before, given_ = copy.deepcopy(previous), copy.deepcopy(fresh)
    once = identity_overlay.overlay_document(RUNTIME, previous, fresh)
    assert identity_overlay.overlay_document(RUNTIME, once, fresh) == once
    assert (previous, fresh) == (before, given_)


@given(PARTS, PARTS)
def test_when_the_files_fall_silent_only_what_they_never_said_is_left(previous: Any, said: Any) -> None:
    fresh = identity_overlay.without_empty(said)
    once = identity_overlay.overlay_document(RUNTIME, {}, fresh)
    silent = identity_overlay.overlay_document(
        RUNTIME, once, {}, said=identity_overlay.paths_read_from_files(RUNTIME, once)
    )
    assert not any(silent.get(part) for part in ("structured", "prose"))


def test_a_field_that_became_an_object_is_replaced() -> None:
    before = {"structured": {"names": "Ada"}}
    assert identity_overlay.overlay_document(RUNTIME, before, {"structured": {"names": {"primary": "B"}}})[
        "structured"
    ] == {"names": {"primary": "B"}}


def test_two_items_of_one_name_stay_two() -> None:
    twice = {"structured": {"capabilities": [{"name": "a"}, {"name": "a", "description": "b"}]}}
    assert identity_overlay.overlay_document(RUNTIME, twice, twice)["structured"] == twice["structured"]
    assert identity_overlay.overlay_document(RUNTIME, twice, {})["structured"] == twice["structured"]
