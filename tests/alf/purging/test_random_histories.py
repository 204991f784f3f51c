"""After the purge of any history nothing contains the search term, and everything else is unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.common import json_codec
from lifeboat_alf.memory import memory_records
from lifeboat_alf.purging.body_cuts import json_edits
from lifeboat_alf.purging.purge_items import CutPlan, PurgeItem
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction.redactions import apply_edits
from support.alf.purge_histories import History, after, said_in

canaries = st.text('ab"\\/\n é漢😀19', max_size=8).map(lambda middle: f"Zq{middle}9k")
"""Texts that nothing else in a history contains."""

_FILLERS = ("", "plain words", 'quoted "words" \\ and / more', "two\nlines", "é漢😀")
fillers = st.sampled_from(_FILLERS)


def _ascii(text: str) -> bytes:
    return json.dumps(text).encode()


def _every_letter(text: str) -> bytes:
    units = text.encode("utf-16-be")
    return b'"' + b"".join(b"\\u" + units[place : place + 2].hex().encode() for place in range(0, len(units), 2)) + b'"'


def _slashed(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).replace("/", "\\/").encode()


SPELLINGS: dict[str, Callable[[str], bytes]] = {
    "text": lambda text: b"# " + text.encode() + b"\n",
    "wide": lambda text: text.encode("utf-16"),
    "binary": lambda text: b"\0\1" + text.encode() + b"\0",
    "usual": lambda text: b'{"a":' + json_codec.encode_json(text) + b',"n":[1,{"b":"c"}]}',
    "ascii": lambda text: b'[{"a":' + _ascii(text) + b"}]",
    "slashed": lambda text: b'{"a": ' + _slashed(text) + b"}",
    "letters": lambda text: b'{"a": ' + _every_letter(text) + b"}",
    "key": lambda text: b"{" + json_codec.encode_json(text) + b":1}",
    "nested": lambda text: json_codec.encode_json({"a": json_codec.encode_json({"b": text}).decode()}),
    "nested ascii": lambda text: _ascii(json.dumps({"b": [text, "x"]})),
    "broken": lambda text: b'{"a": ' + json_codec.encode_json(text),
}
_PATHS = {"text": "raw/x/a.md", "wide": "raw/x/a.txt", "binary": "artifacts/a.bin"}
_JSON_PATHS = ("raw/x/a.json", "raw/x/s.jsonl", "raw/x-home/db/m/rows.jsonl", "identity.json", "raw/x/embedded.md")


@st.composite
def files(draw: st.DrawFn, text: str) -> tuple[str, bytes]:
    spelling = draw(st.sampled_from(sorted(SPELLINGS)))
    around = draw(fillers) + text + draw(fillers)
    path = _PATHS.get(spelling) or draw(st.sampled_from(_JSON_PATHS))
    body = SPELLINGS[spelling](around)
    if path.endswith(".jsonl"):
        body = b'{"before":1}\n' + body + b'\n{"after":[]}\n'
    return path, body


@dataclass
class Made:
    """A history, the records of one of its chains, and what contains the canary."""

    history: History
    canary: str
    planted: list[PurgeItem]
    clean: list[PurgeItem]


@st.composite
def histories(draw: st.DrawFn) -> Made:
    canary = draw(canaries)
    made = Made(History(), canary, [], [])
    for _ in range(draw(st.integers(0, 4))):
        made.planted.append(made.history.file(*draw(files(canary))))
    for _ in range(draw(st.integers(0, 3))):
        made.clean.append(made.history.file(*draw(files(""))))
    for number in range(draw(st.integers(0, 3))):
        made.clean.append(made.history.record(f"Something else, number {number}.", tags=[draw(fillers)]))
    previous: PurgeItem | None = None
    for number in range(draw(st.integers(0, 4))):
        fields: dict[str, Any] = {} if previous is None else {"supersedes": previous.record_id}
        if previous is not None and draw(st.booleans()):
            fields = {"id": previous.record_id}
        place = draw(st.sampled_from(["content", "tag", "entity", "source format", "nowhere"]))
        text = f"Version {number} of the chain: {canary if place == 'content' else 'nothing'}."
        fields |= {"tags": [canary]} if place == "tag" else {}
        fields |= {"entities": [{"name": canary, "type": "other"}]} if place == "entity" else {}
        fields |= {"raw_source_format": {"x": {canary: [canary]}}} if place == "source format" else {}
        previous = made.history.record(text, **fields)
        (made.clean if place == "nowhere" else made.planted).append(previous)
        if draw(st.booleans()):
            file = made.history.file("raw/x/MEMORY.md", f"# {text}\n".encode(), records=[previous.record_id or ""])
            made.planted.append(file)
    return made


def _saying(made: Made, plan: CutPlan, text: str) -> list[str]:
    """Return what still contains a text, decoded in every way."""
    return [
        item.path or item.record_id or ""
        for item in made.history.items
        if any(text in said for said in said_in(after(plan, item) or b""))
    ]


@settings(max_examples=120)
@given(made=histories(), passage=st.booleans(), only=st.booleans())
def test_nothing_says_the_canary_and_the_rest_is_byte_equal(made: Made, passage: bool, only: bool) -> None:
    plan = made.history.plan(text=made.canary, passage=passage, only=only)
    assert _saying(made, plan, made.canary) == []
    gone = set(plan.record_ids)
    for item in made.clean:
        if item.record_id not in gone:
            assert item.leaf.digest not in plan.leaves
    for item in made.history.items:
        if item.record_id is not None and (line := after(plan, item)) is not None:
            assert memory_records.parse_record(line)["id"] == item.record_id


@settings(max_examples=60)
@given(made=histories())
def test_json_that_parsed_still_parses(made: Made) -> None:
    plan = made.history.plan(text=made.canary)
    for item in made.history.items:
        left = after(plan, item)
        if item.path in ("raw/x/a.json", "identity.json") and left is not None and _parses(item.body()):
            assert _parses(left)


def _parses(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


@settings(max_examples=40)
@given(made=histories())
def test_a_plan_can_be_made_of_what_a_plan_left_and_finds_nothing(made: Made) -> None:
    plan = made.history.plan(text=made.canary, passage=True)
    left = History()
    for item in made.history.items:
        body = after(plan, item)
        if body is not None:
            left.items.append(item._replace(body=lambda body=body: body))
    assert left.plan(text=made.canary, passage=True).leaves == {}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\é😀1', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(
    value=values, spans=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=3), escaped=st.booleans()
)
def test_spans_anywhere_in_json_leave_json_or_nothing(value: Any, spans: list[tuple[int, int]], escaped: bool) -> None:
    data = json.dumps(value).encode() if escaped else json_codec.encode_json(value)
    edits = json_edits(data, sorted({(start, start + length) for start, length in spans}))
    if edits is not None:
        json.loads(apply_edits(data, edits))


@pytest.mark.parametrize("pattern", [r"Zq.*?9k", r"Zq[^9]*9k"])
def test_a_pattern_goes_like_a_text(pattern: str) -> None:
    history = History()
    for spelling, spelled in SPELLINGS.items():
        history.file(_PATHS.get(spelling) or "raw/x/a.json", spelled("x Zq cana/ry 9k y"))
    plan = history.plan(wanted=PurgeTerms(patterns=(re.compile(pattern),)))
    found = [said for item in history.items for said in said_in(after(plan, item) or b"") if "cana/ry" in said]
    assert found == []
