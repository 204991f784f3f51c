"""Numbers and characters that no archive can hold: an instance that sends them is refused, or they are kept as text."""

from __future__ import annotations

import json

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_formats.aionforge import instance_export, nodes, text_form


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999", "9" * 400])
@pytest.mark.parametrize("name", ["trust_at_write", "ordinal", "version"])
def test_a_number_in_a_text_that_is_none_stays_text(name: str, number: str) -> None:
    found = text_form.parse_memories(f'<memory id="x" kind="note" {name}="{number}">A note.</memory>')
    made = [nodes.node_from_text(each) for each in found]
    (record,) = instance_export.records_of(made)
    assert json_codec.decode_json(json_codec.encode_canonical(record)) == record
    assert json.dumps(number) in json.dumps(record)


@pytest.mark.parametrize(
    "value", ["NaN", "-Infinity", "1e999", "1" * 400, '"\\ud800"', '["\\udc00"]', '{"\\ud800": 1}']
)
def test_data_that_is_no_json_is_refused(value: str) -> None:
    with pytest.raises(text_form.UnreadableAnswer):
        nodes.node_from_data(json.loads(f'{{"id": "x", "kind": "note", "more": {value}}}'))


@pytest.mark.parametrize("value", ["1e308", "18446744073709551615", "-9223372036854775808", '"\\ud83d\\ude00"'])
def test_data_at_the_limit_is_taken(value: str) -> None:
    node = nodes.node_from_data(json.loads(f'{{"id": "x", "kind": "note", "more": {value}}}'))
    assert node.fields["more"] == json.loads(value)
