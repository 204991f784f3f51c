from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters import json5_editing
from lifeboat_adapters.additive_merging import ValueChange

KEY = "sk-fake-0123456789abcdef"


def values(data: bytes) -> Any:
    return json5_editing.parse_json5_object(data)


def test_comments_order_and_layout_stay_around_a_new_member() -> None:
    found = b"""{
  // who answers
  gateway: { mode: 'local' }, // only here
  models: {
    providers: {
      one: { baseUrl: "https://one.example.com" } // the first
    },
  },
}
"""
    changed = json5_editing.edit_json5(found, [ValueChange(("models", "providers", "two"), {"apiKey": KEY})])
    assert (
        changed.data.decode()
        == f"""{{
  // who answers
  gateway: {{ mode: 'local' }}, // only here
  models: {{
    providers: {{
      one: {{ baseUrl: "https://one.example.com" }}, // the first
      "two": {{
        "apiKey": "{KEY}"
      }}
    }},
  }},
}}
"""
    )
    assert not changed.rewritten


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("{}", '{ "b": 1 }'),
        ("{ a: 1 }", '{ a: 1, "b": 1 }'),
        ("{ a: 1, }", '{ a: 1, "b": 1, }'),
        ("{\r\n  a: 1\r\n}", '{\r\n  a: 1,\r\n  "b": 1\r\n}'),
        ("{\n\ta: 1, /* more */ }", '{\n\ta: 1, /* more */ \n\t"b": 1\n\t}'),
        ("\ufeff{ a: 1 }", '\ufeff{ a: 1, "b": 1 }'),
    ],
)
def test_a_member_is_added_in_the_style_of_its_object(found: str, expected: str) -> None:
    assert json5_editing.edit_json5(found.encode(), [ValueChange(("b",), 1)]).data.decode() == expected


def test_an_item_is_added_to_a_list() -> None:
    changed = json5_editing.edit_json5(b'{ a: ["x"] }', [ValueChange(("a", 1), "y")])
    assert changed.data == b'{ a: ["x", "y"] }'


def test_a_value_is_replaced_and_its_key_stays_as_spelled() -> None:
    changed = json5_editing.edit_json5(
        b"{ 'a' /* old */ : 'x', b: {c: 1} }", [ValueChange(("a",), "y"), ValueChange(("b",), 2)]
    )
    assert changed.data == b"""{ 'a' /* old */ : "y", b: 2 }"""


def test_a_member_is_removed_with_its_line() -> None:
    changed = json5_editing.edit_json5(b"{\n  a: 1,\n  b: 2,\n  c: 3\n}\n", [ValueChange(("b",), remove=True)])
    assert changed.data == b"{\n  a: 1,\n  c: 3\n}\n"


def test_a_document_whose_key_stands_twice_is_written_anew_and_that_is_said() -> None:
    changed = json5_editing.edit_json5(b"{ a: { b: 1 }, a: 2 } // old", [ValueChange(("a",), remove=True)])
    assert changed.rewritten
    assert json.loads(changed.data) == {}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)


@given(OBJECTS, OBJECTS, st.sampled_from([None, 2, "\t"]))
def test_any_addition_leaves_a_document_with_exactly_that_more(found: Any, added: Any, indent: Any) -> None:
    data = json.dumps(found, indent=indent, ensure_ascii=False).encode()
    changes = [ValueChange((key,), value) for key, value in added.items() if key not in found]
    changed = json5_editing.edit_json5(data, changes)
    assert values(changed.data) == added | found
    assert not changed.rewritten


@given(OBJECTS, st.data())
def test_any_removal_leaves_the_rest(found: Any, data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from(sorted(found)))) if found else set()
    text = json.dumps(found, indent=data.draw(st.sampled_from([None, 2])), ensure_ascii=False).encode()
    changed = json5_editing.edit_json5(text, [ValueChange((key,), remove=True) for key in gone])
    assert values(changed.data) == {key: value for key, value in found.items() if key not in gone}
