"""AIEOS documents become structured fields and the same documents again (ALF §3.2.6)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.zeroclaw.layers.aieos import from_aieos, to_aieos
from lifeboat_adapters.zeroclaw.layers.aieos_merging import merge_aieos
from lifeboat_adapters.zeroclaw.layers.aieos_text import rewrite_aieos_text
from support.adapters.zeroclaw_derived import NOVA, text_of

# Documents in the shape of AIEOS, with rubbish in it ------------------------------------------------------------------

LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-1, 2) | st.sampled_from(["", " ", "x", "Nova"])
ANY = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def part(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional={name: field | ANY for name, field in fields.items()})


WORDS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=4) | st.lists(LEAVES, max_size=3)
ITEM = part(name=LEAVES, description=LEAVES, priority=LEAVES, uri=LEAVES, portability=LEAVES, host_requirements=LEAVES)
ITEMS = st.lists(st.sampled_from(["a", "b"]) | ITEM, max_size=3)
OCEAN = part(openness=LEAVES, neuroticism=LEAVES, other=LEAVES)
SECTIONS: dict[str, st.SearchStrategy[Any]] = {
    "psychology": part(
        neural_matrix=st.dictionaries(st.text(max_size=3), LEAVES, max_size=3),
        ocean=OCEAN,
        mbti=LEAVES,
        traits=part(ocean=OCEAN, mbti=LEAVES),
        moral_compass=part(alignment=LEAVES, core_values=WORDS),
    ),
    "linguistics": part(
        formality=LEAVES,
        catchphrases=WORDS,
        forbidden_words=WORDS,
        style=LEAVES,
        text_style=part(formality_level=LEAVES, verbosity_level=LEAVES, slang_usage=LEAVES, style_descriptors=WORDS),
        idiolect=part(catchphrases=WORDS, forbidden_words=WORDS, hesitation_markers=WORDS, verbal_tics=WORDS),
    ),
    "motivations": part(
        core_drive=LEAVES,
        short_term_goals=WORDS,
        long_term_goals=WORDS,
        goals=part(short_term=WORDS, long_term=WORDS),
    ),
    "capabilities": part(skills=ITEMS, tools=ITEMS),
}
NAMES = part(first=LEAVES, last=LEAVES, nickname=LEAVES, full=LEAVES)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "identity": part(names=NAMES, bio=ANY, **SECTIONS) | ANY,
        "@alf": ANY,
        "@lifeboat": ANY,
        "physicality": ANY,
        **{name: section | ANY for name, section in SECTIONS.items()},
    },
)


def spelled(value: Any) -> str:
    """Return a value in which 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


@given(DOCUMENTS, st.sampled_from(["", "ada", "Nova"]))
def test_a_document_comes_back_as_it_was(document: Any, name: str) -> None:
    assert spelled(to_aieos(from_aieos(document, name))) == spelled(document)


@given(DOCUMENTS)
def test_reading_a_document_does_not_touch_it(document: Any) -> None:
    before = copy.deepcopy(document)
    structured = from_aieos(document)
    structured.clear()
    assert spelled(document) == spelled(before)


@given(ANY)
def test_structured_fields_of_any_shape_make_a_document(rubbish: Any) -> None:
    fields = ("names", "goals", "psychology", "linguistics", "capabilities", "aieos_extensions")
    assert isinstance(to_aieos(dict.fromkeys(fields, rubbish)), dict)


# What is promoted -----------------------------------------------------------------------------------------------------


def test_what_alf_has_fields_for_is_promoted() -> None:
    found = from_aieos(NOVA)
    assert found["names"] == {"primary": "Nova", "nickname": "N"}
    assert found["psychology"]["neural_matrix"] == {"creativity": 0.9, "logic": 0.8}
    assert found["psychology"]["personality_traits"] == {
        "framework": "OCEAN",
        "scores": {"openness": 0.9, "conscientiousness": 0.75, "extraversion": 0.6, "neuroticism": 0.2},
    }
    assert found["linguistics"] == {
        "formality_level": 0.4,
        "slang_usage": False,
        "idiolect": {"catchphrases": ["noted", "tide waits for nobody"], "avoided_words": ["honestly"]},
    }
    assert found["goals"] == ["Bring every boat home", "Learn the harbour", "Chart the coast", "Rest"]


def test_skills_are_the_agents_own_and_tools_need_their_host() -> None:
    found = {item["name"]: item for item in from_aieos(NOVA)["capabilities"]}
    assert (found["writing"]["description"], found["writing"]["priority"]) == ("Writes logs", 2)
    portability = {name: item["portability"] for name, item in found.items()}
    assert portability == {
        "writing": "intrinsic",
        "maths": "intrinsic",
        "docker": "host_dependent",
        "charts": "host_dependent",
    }
    assert found["docker"]["host_requirements"] == "the tool docker"


@pytest.mark.parametrize(
    "place",
    [
        *(("identity", "bio"), ("identity", "origin"), ("physicality",), ("history",), ("interests",), ("metadata",)),
        *(("psychology", "traits", "mbti"), ("psychology", "moral_compass"), ("motivations", "fears")),
    ],
)
def test_everything_else_stays_where_it_stood_in_the_extensions(place: tuple[str, ...]) -> None:
    kept, document = from_aieos(NOVA)["aieos_extensions"], NOVA
    for key in place:
        kept, document = kept[key], document[key]
    assert kept == document


def test_what_is_promoted_is_not_in_the_extensions_too() -> None:
    kept = from_aieos(NOVA)["aieos_extensions"]
    assert "ocean" not in kept["psychology"]["traits"]
    assert "idiolect" not in kept["linguistics"]
    assert "capabilities" not in kept


def test_type_and_alignment_are_told_in_psychology_too() -> None:
    psychology = from_aieos(NOVA)["psychology"]
    assert (psychology["mbti"], psychology["moral_alignment"]) == ("ENTP", "Neutral Good")


def test_where_type_and_alignment_differ_the_extensions_are_right() -> None:
    found = from_aieos(NOVA)
    found["psychology"] |= {"mbti": "ISFJ", "moral_alignment": "Chaotic Evil"}
    assert to_aieos(found) == NOVA


def test_type_and_alignment_of_a_writer_without_extensions_are_written() -> None:
    made = to_aieos({"psychology": {"mbti": "ISFJ", "moral_alignment": "Lawful Good"}})
    assert made["psychology"] == {"traits": {"mbti": "ISFJ"}, "moral_compass": {"alignment": "Lawful Good"}}


@pytest.mark.parametrize("score", [1.7, -0.1, True, "0.5", None])
def test_a_score_that_is_no_share_stays_as_it_is_in_the_extensions(score: Any) -> None:
    found = from_aieos({"psychology": {"neural_matrix": {"logic": score, "empathy": 1}}})
    assert found["psychology"] == {"neural_matrix": {"empathy": 1}}
    assert found["aieos_extensions"] == {"psychology": {"neural_matrix": {"logic": score}}}


@pytest.mark.parametrize(
    ("names", "primary"),
    [
        ({"first": "Nova", "nickname": "N", "full": "Nova Brandt"}, "Nova"),
        ({"nickname": "N", "full": "Nova Brandt"}, "N"),
        ({"full": "Nova Brandt"}, "Nova Brandt"),
        ({"first": " ", "last": "Brandt"}, "ada"),
        ({}, "ada"),
    ],
)
def test_without_a_first_name_another_one_is_the_primary_one(names: dict[str, str], primary: str) -> None:
    assert from_aieos({"identity": {"names": names}}, "ada")["names"]["primary"] == primary


@pytest.mark.parametrize(
    ("document", "structured"),
    [
        ({"psychology": {"ocean": {"openness": 0.1}, "traits": {"ocean": {"openness": 0.9}}}}, 0.1),
        ({"psychology": {"ocean": [], "traits": {"ocean": {"openness": 0.9}}}}, 0.9),
        ({"identity": {"psychology": {"traits": {"ocean": {"openness": 0.3}}}}}, 0.3),
    ],
)
def test_of_two_spellings_that_one_counts_that_zeroclaw_prefers(document: Any, structured: float) -> None:
    assert from_aieos(document)["psychology"]["personality_traits"]["scores"] == {"openness": structured}


# Changes --------------------------------------------------------------------------------------------------------------


def differences(before: Any, after: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return {} if before == after else {path: after}
    keys = dict.fromkeys((*before, *after))
    found = (differences(before.get(key), after.get(key), f"{path}.{key}".strip(".")) for key in keys)
    return {name: value for each in found for name, value in each.items()}


def edited(document: Any, change: Any) -> Any:
    before = from_aieos(document)
    now = copy.deepcopy(before)
    change(now)
    return merge_aieos(document, before, now)


FLAT: dict[str, Any] = {
    "psychology": {"ocean": {"openness": 0.5}, "mbti": "INTJ"},
    "linguistics": {"formality": 0.3, "catchphrases": ["aye"], "style": "terse"},
    "motivations": {"core_drive": "sail", "short_term_goals": ["rest"]},
}


def test_an_identity_that_did_not_change_is_its_document() -> None:
    assert edited(NOVA, lambda now: None) is NOVA


@pytest.mark.parametrize(
    ("document", "change", "expected"),
    [
        (NOVA, lambda now: now["names"].update(nickname="No"), {"identity.names.nickname": "No"}),
        (NOVA, lambda now: now["names"].update(primary="Vega"), {"identity.names.first": "Vega"}),
        (FLAT, lambda now: now["linguistics"].update(formality_level=0.9), {"linguistics.formality": 0.9}),
        (FLAT, lambda now: now["linguistics"]["idiolect"]["catchphrases"].append("ahoy"),
         {"linguistics.catchphrases": ["aye", "ahoy"]}),
        (FLAT, lambda now: now["psychology"]["personality_traits"]["scores"].update(openness=0.1),
         {"psychology.ocean.openness": 0.1}),
        (FLAT, lambda now: now["goals"].append("read"), {"motivations.short_term_goals": ["rest", "read"]}),
        (NOVA, lambda now: now["goals"].remove("Rest"), {"motivations.goals.long_term": ["Chart the coast"]}),
        (NOVA, lambda now: now["linguistics"].pop("slang_usage"), {"linguistics.text_style.slang_usage": None}),
        (NOVA, lambda now: now["capabilities"].pop(1),
         {"capabilities.skills": NOVA["capabilities"]["skills"][:1]}),
        (NOVA, lambda now: now["capabilities"].append({"name": "sailing", "portability": "intrinsic"}),
         {"capabilities.skills": [*NOVA["capabilities"]["skills"], "sailing"]}),
        (NOVA, lambda now: now["aieos_extensions"]["history"].update(occupation="keeper"),
         {"history.occupation": "keeper"}),
    ],
)  # fmt: skip
def test_one_change_changes_one_place(document: Any, change: Any, expected: dict[str, Any]) -> None:
    assert differences(document, edited(document, change)) == expected


GOALS = st.lists(st.sampled_from([*from_aieos(NOVA)["goals"], "a", "b"]), max_size=6)


@given(GOALS)
def test_changed_goals_are_read_again_in_their_order(goals: list[str]) -> None:
    assert from_aieos(edited(NOVA, lambda now: now.update(goals=goals))).get("goals", []) == goals


@given(DOCUMENTS, DOCUMENTS)
def test_a_merged_document_is_merged(document: Any, other: Any) -> None:
    before, now = from_aieos(document), from_aieos(other)
    once = merge_aieos(document, before, now)
    assert merge_aieos(once, from_aieos(once), from_aieos(once)) is once


# Text -----------------------------------------------------------------------------------------------------------------


def test_the_text_around_a_changed_value_stays() -> None:
    text = '{\n    "a": ["x", "y"],   \n    "b": {"c": 1, "d": [1,2]},\n    "e": "é"\n}'
    document = json.loads(text)
    wanted = {**document, "b": {"c": 2, "d": [1, 2]}}
    assert rewrite_aieos_text(text.encode(), document, wanted).decode() == text.replace('"c": 1', '"c": 2')


CHANGED = st.dictionaries(st.text(max_size=3), ANY, max_size=4)


@given(CHANGED, CHANGED, st.sampled_from([None, 2, 4, "\t"]), st.booleans())
def test_a_rewritten_text_is_json_that_says_what_is_wanted(before: Any, wanted: Any, indent: Any, ascii: bool) -> None:
    text = json.dumps(before, indent=indent, ensure_ascii=ascii).encode()
    assert spelled(json.loads(rewrite_aieos_text(text, before, wanted))) == spelled(wanted)


def test_a_document_with_one_change_differs_in_its_lines() -> None:
    text = text_of(NOVA)
    wanted = edited(NOVA, lambda now: now["psychology"]["neural_matrix"].update(logic=0.1))
    lines = rewrite_aieos_text(text.encode(), NOVA, wanted).decode().splitlines()
    assert [new for old, new in zip(text.splitlines(), lines, strict=True) if old != new] == ['      "logic": 0.1,']
