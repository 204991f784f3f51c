"""A file can still be read after its matches are cut out."""

from __future__ import annotations

import json

import pytest

from lifeboat_alf.errors import PurgeError
from lifeboat_alf.purging.body_cuts import cut_body
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction.redactions import apply_edits

DATABASE = "raw/openclaw-home/db/main/rows.jsonl"


def _after(path: str, body: bytes, text: str, *, passage: bool = False) -> bytes:
    wanted = PurgeTerms((text,))
    made = cut_body(path, body, lambda data: wanted.spans(path, data), passage=passage)
    assert made is not None and made.body == apply_edits(body, made.edits)
    assert wanted.spans(path, made.body) == []
    return made.body


@pytest.mark.parametrize(
    ("path", "body", "left"),
    [
        ("a.md", b"a PIN b\n", b"a  b\n"),
        ("a.md", b"PPINPININ", b""),
        ("a.md", b"a" + b"\xff\xfePIN", b"a\xff\xfe"),
        ("a.json", b'{"a": "x PIN y", "b": [1]}', b'{"a": "x  y", "b": [1]}'),
        ("a.json", b'\xef\xbb\xbf{"a": "PIN"}', b'\xef\xbb\xbf{"a": ""}'),
        ("a.json", b'{"PIN": 1, "b": 2}', b'{"": 1, "b": 2}'),
        ("a.json", b'{"PIN": 1, "": 2}', b"{}"),
        ("a.json", b'{"a": "P\\u0049N\\n"}', b'{"a": "\\n"}'),
        ("a.json", b'{"a": "{\\"b\\":\\"PIN\\"}"}', b'{"a": "{\\"b\\":\\"\\"}"}'),
        ("a.json", b"{ a: 'PIN', }", b"{ a: '', }"),
        ("a.jsonl", b'{"a":"PIN"}\n{"b":1}\n', b'{"a":""}\n{"b":1}\n'),
        ("a.jsonl", b'{"PIN":1,"":2}\n{"b":1}\n', b'{"b":1}\n'),
        ("a.jsonl", b'{"b":1}\n{"PIN":1,"":2}', b'{"b":1}\n'),
        ("a.jsonl", b'{"b":"PIN"', b'{"b":""'),
        (DATABASE, b'{"a":"x PIN"}\n{"b":1}\n', b'{"b":1}\n'),
        ("a.bin", b"\0PIN", b""),
    ],
)
def test_a_match_is_taken_out(path: str, body: bytes, left: bytes) -> None:
    assert _after(path, body, "PIN") == left


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (b'{"a": 4829, "b": true}', b'{"a": null, "b": true}'),
        (b"[1, 48.2911]", b"[1, 48.2911]"),
        (b"[148290]", b"[null]"),
        (b"4829", b"null"),
    ],
)
def test_a_number_becomes_null(body: bytes, left: bytes) -> None:
    wanted = PurgeTerms(("4829",))
    made = cut_body("a.json", body, lambda data: wanted.spans("a.json", data))
    assert (body if made is None else made.body) == left


def test_with_a_passage_the_row_of_a_database_stays() -> None:
    assert _after(DATABASE, b'{"a":"x PIN"}\n{"b":1}\n', "PIN", passage=True) == b'{"a":"x "}\n{"b":1}\n'


def test_what_a_cut_brings_together_goes_too() -> None:
    body = b"1" * 5 + b"1234" * 3 + b"234" * 9
    assert b"1234" not in _after("a.md", body, "1234")


def test_a_match_over_several_strings_takes_what_they_say() -> None:
    body = b'{"first": "Robin", "last": "Example", "z": 1}'
    assert json.loads(_after("a.json", body, 'Robin", "last": "Example')) == {"first": "", "": "", "z": 1}


def test_what_is_only_structure_takes_the_document() -> None:
    assert _after("a.json", b'{"a": [ ], "b": 1}', "[ ]") == b"{}"


def test_what_everything_holds_cannot_be_taken_out() -> None:
    with pytest.raises(PurgeError, match="it also matches an empty file"):
        cut_body("a.json", b'{"a": 1}', lambda data: [(0, 1)])


def test_a_file_without_a_match_is_left_alone() -> None:
    assert cut_body("a.json", b'{"a": 1}', lambda data: []) is None
