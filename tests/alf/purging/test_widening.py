"""Matches are widened to their lines."""

from __future__ import annotations

import json

import pytest

from lifeboat_alf.purging.line_widening import widen_to_lines
from lifeboat_alf.purging.purge_terms import PurgeTerms
from support.alf.purge_histories import History, after

LINES = PurgeTerms(texts=("PIN",), whole_lines=True)


@pytest.fixture
def history() -> History:
    return History()


def left(path: str, body: bytes) -> bytes:
    for start, end in reversed(LINES.spans(path, body)):
        body = body[:start] + body[end:]
    return body


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"one\ntwo PIN 2\nthree\n", b"one\nthree\n"),
        (b"PIN", b""),
        (b"a\nPIN", b"a\n"),
        (b"PIN and PIN\nPIN\nb\r\n", b"b\r\n"),
        (b"nothing\n", b"nothing\n"),
    ],
)
def test_of_text_the_line_goes_with_its_break(body: bytes, wanted: bytes) -> None:
    assert left("notes/a.md", body) == wanted


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ('one\ntwo "PIN" 2\nthree', "one\nthree"),
        ("PIN 2", ""),
        ("C:\\new PIN\nb", "b"),
        ("a\n\nPIN", "a\n\n"),
    ],
)
def test_in_json_a_line_is_one_of_what_a_string_says(said: str, wanted: str) -> None:
    body = json.dumps({"id": 7, "content": said, "tags": ["other"]}).encode()
    assert json.loads(left("memory/x.jsonl", body)) == {"id": 7, "content": wanted, "tags": ["other"]}


def test_a_number_is_no_line() -> None:
    body = b'{"a": 4711, "b": "c"}'
    assert widen_to_lines("x.json", body, [(6, 10)]) == [(6, 10)]


def test_a_match_of_several_lines_takes_all_of_them() -> None:
    body = b"a\nb PI\nN c\nd\n"
    assert widen_to_lines("a.md", body, [(4, 8)]) == [(2, 11)]


def test_a_purge_of_lines_leaves_the_rest_of_memories_and_files(history: History) -> None:
    memory = history.record("Likes tea.\nThe number is X1234567 now.\nSings.")
    note = history.file("raw/openclaw/notes/a.md", b"before\nX1234567!\nafter\n")
    plan = history.plan(wanted=PurgeTerms(("X1234567",), whole_lines=True), passage=True)
    assert json.loads(after(plan, memory) or b"")["content"] == "Likes tea.\nSings."
    assert after(plan, note) == b"before\nafter\n"
