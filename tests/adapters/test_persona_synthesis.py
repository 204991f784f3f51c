from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.persona import prose_synthesis

FULL: dict[str, Any] = {
    "structured": {
        "names": {"primary": "Nova"},
        "role": "pilot",
        "goals": ["Chart the coast"],
        "psychology": {
            "neural_matrix": {"logic": 0.8},
            "personality_traits": {"framework": "OCEAN", "scores": {"openness": 0.9}},
            "mbti": "ENTP",
            "moral_alignment": "Neutral Good",
        },
        "linguistics": {"idiolect": {"catchphrases": ["tide waits for nobody"]}},
        "aieos_extensions": {
            "@alf": {"name": "hidden"},
            "identity": {"bio": {"gender": "none"}, "origin": {"birthplace": {"city": "Bergen"}}},
            "psychology": {"traits": {"mbti": "ENTP"}, "moral_compass": {"core_values": ["candour", "care"]}},
            "history": {"origin_story": "Found in a lighthouse."},
            "interests": {"hobbies": ["knots"]},
        },
    }
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@pytest.mark.parametrize(
    "words",
    [
        *("# Nova", "pilot", "Chart the coast", "logic:** 0.8", "openness:** 0.9", "MBTI:** ENTP", "Neutral Good"),
        *("tide waits for nobody", "gender:** none", "Bergen", "candour, care", "Found in a lighthouse.", "knots"),
    ],
)
def test_a_soul_tells_everything_that_is_known_of_the_agent(words: str) -> None:
    assert words in prose_synthesis.compose_soul(FULL)


def test_a_soul_tells_nothing_twice_and_nothing_that_is_for_machines() -> None:
    text = prose_synthesis.compose_soul(FULL)
    assert (text.count("ENTP"), "hidden" in text) == (1, False)


@pytest.mark.parametrize("prose", sorted(prose_synthesis.MAKERS))
def test_a_text_that_was_made_is_known_again_without_what_it_was_made_of(prose: str) -> None:
    roster = [{"name": "Scout", "capabilities": [], "status": "active"}]
    text = prose_synthesis.MAKERS[prose](
        {"structured": {"name": "Mira", "names": {"primary": "A"}, "sub_agents": roster}}
    )
    assert prose_synthesis.is_unedited_synthesis(text)


@pytest.mark.parametrize("changed", ["\n- more\n", " "])
def test_a_text_that_was_edited_is_not_taken_for_one_that_was_made(changed: str) -> None:
    text = prose_synthesis.compose_soul(FULL) + changed
    assert (prose_synthesis.is_unedited_synthesis(text), prose_synthesis.is_marked_as_synthesis(text)) == (False, True)


@given(JSON)
def test_extensions_of_any_shape_can_be_told(extensions: Any) -> None:
    text = prose_synthesis.compose_soul(
        {"structured": {"aieos_extensions": {"history": extensions, "psychology": extensions}}}
    )
    assert prose_synthesis.is_unedited_synthesis(text)
