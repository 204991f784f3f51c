"""Convert AIEOS v1.1 documents to `identity.structured` and back (ALF §3.2.6).

Values that ALF promotes are moved from the document into fields of their own. All other values stay at their place in
`aieos_extensions`. So do values that a promoted field cannot hold: a score outside 0..1, or a list with an item that is
not text. Documents spell some fields in two ways, and the reference adapter nests in `identity` what others keep beside
it. The original place of a value is remembered under `MEMORY` in the extensions, so that the conversion back gives the
same document.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from lifeboat_adapters.zeroclaw.layers import aieos_lists as lists
from lifeboat_adapters.zeroclaw.layers.aieos_values import MEMORY, is_share, is_text, is_texts, places_of_field
from lifeboat_adapters.zeroclaw.layers.json_pointers import Pointer, get_at_pointer, put_at_pointer, take_at_pointer
from lifeboat_alf.common.json_types import JsonObject

EXTENSIONS = "aieos_extensions"
OCEAN = ("openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism")


class PromotedField(NamedTuple):
    """A promoted field. `places` are its places in documents, with the one that ZeroClaw prefers first. `home` is its
    place in AIEOS v1.1, where a new value goes."""

    alf: Pointer
    places: tuple[Pointer, ...]
    home: Pointer
    fits: Callable[[Any], bool]

    @property
    def name(self) -> str:
        return ".".join(self.alf)


class PromotedScores(NamedTuple):
    """A promoted object of scores. `keys` are the allowed keys, None for any."""

    alf: Pointer
    places: tuple[Pointer, ...]
    home: Pointer
    keys: tuple[str, ...] | None

    @property
    def name(self) -> str:
        return ".".join(self.alf)

    def found(self, value: Any) -> Iterator[str]:
        """Return the scores in a value that can be promoted."""
        keys = value if isinstance(value, dict) else ()
        return (key for key in keys if is_share(value[key]) and (self.keys is None or key in self.keys))


def _field(alf: str, fits: Callable[[Any], bool], home: str, *others: str) -> PromotedField:
    places = tuple(tuple(place.split(".")) for place in (*others, home))
    return PromotedField(tuple(alf.split(".")), places_of_field(*places), places[-1], fits)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


FIELDS = (
    _field("names.nickname", is_text, "identity.names.nickname"),
    _field("names.full", is_text, "identity.names.full"),
    _field("linguistics.formality_level", is_share, "linguistics.text_style.formality_level", "linguistics.formality"),
    _field("linguistics.verbosity", is_share, "linguistics.text_style.verbosity_level", "linguistics.verbosity"),
    _field("linguistics.humor_level", is_share, "linguistics.text_style.humor_level"),
    _field("linguistics.slang_usage", _is_flag, "linguistics.text_style.slang_usage"),
    _field("linguistics.preferred_language", is_text, "linguistics.text_style.preferred_language"),
    _field(
        "linguistics.idiolect.catchphrases", is_texts, "linguistics.idiolect.catchphrases", "linguistics.catchphrases"
    ),
    _field(
        "linguistics.idiolect.verbal_tics",
        is_texts,
        "linguistics.idiolect.verbal_tics",
        "linguistics.idiolect.hesitation_markers",
    ),
    _field(
        "linguistics.idiolect.avoided_words",
        is_texts,
        "linguistics.idiolect.forbidden_words",
        "linguistics.forbidden_words",
    ),
)
MATRIX, TRAITS = ("psychology", "neural_matrix"), ("psychology", "personality_traits")
SCORES = (
    PromotedScores(MATRIX, places_of_field(MATRIX), MATRIX, None),
    PromotedScores(
        (*TRAITS, "scores"),
        places_of_field(("psychology", "ocean"), ("psychology", "traits", "ocean")),
        ("psychology", "traits", "ocean"),
        OCEAN,
    ),
)
MIRRORED = (
    _field("psychology.mbti", is_text, "psychology.traits.mbti", "psychology.mbti"),
    _field("psychology.moral_alignment", is_text, "psychology.moral_compass.alignment"),
)
"""Fields that stay in the extensions, which have the authoritative value, and are copied to `psychology`."""

PRIMARY: Pointer = ("names", "primary")
_FIRST: Pointer = ("identity", "names", "first")


def from_aieos(document: JsonObject, name: str = "") -> JsonObject:
    """Return `identity.structured` of a document. `name` is the agent's primary name when the document has none."""
    rest = copy.deepcopy(document)
    structured: JsonObject = {}
    memory: JsonObject = {}
    if MEMORY in rest:
        memory["own"] = rest.pop(MEMORY)
    at: JsonObject = {}
    for field in FIELDS:
        _promote(rest, structured, field, at)
    for scores in SCORES:
        _promote_scores(rest, structured, scores, at)
    memory |= _promote_name(rest, structured, name, at)
    for mirrored in MIRRORED:
        found = next((value for place in mirrored.places if is_text(value := get_at_pointer(rest, place))), None)
        if found is not None:
            put_at_pointer(structured, mirrored.alf, found)
    memory |= lists.promote_goals(rest, structured)
    lists.promote_capabilities(rest, structured)
    memory |= {"at": at} if at else {}
    rest |= {MEMORY: memory} if memory else {}
    return structured | ({EXTENSIONS: rest} if rest else {})


def _promote(rest: JsonObject, structured: JsonObject, field: PromotedField, at: JsonObject) -> None:
    place = next((place for place in field.places if field.fits(get_at_pointer(rest, place))), None)
    if place is None:
        return
    put_at_pointer(structured, field.alf, take_at_pointer(rest, place))
    if place != field.home:
        at[field.name] = list(place)


def _promote_scores(rest: JsonObject, structured: JsonObject, scores: PromotedScores, at: JsonObject) -> None:
    place = next((place for place in scores.places if any(scores.found(get_at_pointer(rest, place)))), None)
    if place is None:
        return
    if scores.alf[:-1] == TRAITS:
        put_at_pointer(structured, (*TRAITS, "framework"), "OCEAN")
    for key in list(scores.found(get_at_pointer(rest, place))):
        put_at_pointer(structured, (*scores.alf, key), take_at_pointer(rest, (*place, key)))
    if place != scores.home:
        at[scores.name] = list(place)


def _promote_name(rest: JsonObject, structured: JsonObject, name: str, at: JsonObject) -> JsonObject:
    """Promote the first name as the primary name. Without it another name is promoted, and no longer counts as an other
    name."""
    first, other = get_at_pointer(rest, _FIRST), _other_name(structured)
    if is_text(first):
        put_at_pointer(structured, PRIMARY, take_at_pointer(rest, _FIRST))
        if first == other:
            at["names.primary"] = list(_FIRST)
    elif other:
        put_at_pointer(structured, PRIMARY, other)
    elif name:
        put_at_pointer(structured, PRIMARY, name)
        return {"name": name}
    return {}


def _other_name(structured: JsonObject) -> str:
    nickname, full = get_at_pointer(structured, ("names", "nickname")), get_at_pointer(structured, ("names", "full"))
    return next((found for found in (nickname, full) if is_text(found)), "")


def to_aieos(structured: JsonObject) -> JsonObject:
    """Return the document that `from_aieos` read structured fields from, or a new document for fields of another
    runtime."""
    kept = structured.get(EXTENSIONS)
    document: JsonObject = copy.deepcopy(kept) if isinstance(kept, dict) else {}
    memory = document.pop(MEMORY, None)
    memory = memory if isinstance(memory, dict) else {}
    if "own" in memory:
        document[MEMORY] = memory["own"]
    at = memory.get("at") if isinstance(memory.get("at"), dict) else {}
    _put_name(document, structured, memory, at)
    for field in FIELDS:
        value = get_at_pointer(structured, field.alf)
        if field.fits(value):
            _put_back(document, _place(at, field), field.home, copy.deepcopy(value))
    for scores in SCORES:
        _put_scores(document, structured, scores, _place(at, scores))
    for mirrored in MIRRORED:
        value = get_at_pointer(structured, mirrored.alf)
        if is_text(value) and not any(is_text(get_at_pointer(document, place)) for place in mirrored.places):
            put_at_pointer(document, mirrored.home, value)
    lists.put_goals(document, structured, memory.get("goals"))
    lists.put_capabilities(document, structured)
    return document


def _place(at: Any, field: PromotedField | PromotedScores) -> Pointer:
    """Return the remembered place of a field if it is one of its possible places."""
    said = at.get(field.name)
    return next((place for place in field.places if list(place) == said), field.home)


def _put_back(document: JsonObject, place: Pointer, home: Pointer, value: Any) -> None:
    """Put a value back. It is left out when another value of the document is in the way."""
    if not put_at_pointer(document, place, value) and place != home:
        put_at_pointer(document, home, value)


def _put_scores(document: JsonObject, structured: JsonObject, scores: PromotedScores, place: Pointer) -> None:
    if scores.alf[:-1] == TRAITS and get_at_pointer(structured, (*TRAITS, "framework")) != "OCEAN":
        return
    found = get_at_pointer(structured, scores.alf)
    for key in scores.found(found):
        put_at_pointer(document, (*place, key), found[key])


def _put_name(document: JsonObject, structured: JsonObject, memory: JsonObject, at: Any) -> None:
    primary = get_at_pointer(structured, PRIMARY)
    other = _other_name(structured) or memory.get("name")
    if is_text(primary) and (primary != other or at.get("names.primary") == list(_FIRST)):
        put_at_pointer(document, _FIRST, primary)
