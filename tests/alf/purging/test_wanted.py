"""Search terms are found however a file spells them, and nowhere else."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import PurgeError
from lifeboat_alf.purging import bounded_patterns
from lifeboat_alf.purging.bounded_patterns import compile_pattern
from lifeboat_alf.purging.mask_match import mask_span
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.testing import sample_states

TEXT = 'Café "7/9"\nend'


def _found(wanted: PurgeTerms, path: str, body: bytes) -> list[bytes]:
    return [body[start:end] for start, end in wanted.spans(path, body)]


@pytest.mark.parametrize(
    ("path", "spelled"),
    [
        ("a.md", TEXT.encode()),
        ("a.md", unicodedata.normalize("NFD", TEXT).encode()),
        ("a.md", TEXT.replace("\n", "\r\n").encode()),
        ("a.md", json.dumps(TEXT)[1:-1].encode()),
        ("a.json", json_codec.encode_json(TEXT)[1:-1]),
        ("a.json", json.dumps(TEXT)[1:-1].encode()),
        ("a.json", json.dumps(TEXT)[1:-1].replace("/", "\\/").replace("\\u00e9", "\\u00E9").encode()),
        ("a.jsonl", b"".join(b"\\u%04x" % ord(letter) for letter in TEXT)),
        ("a.jsonl", json.dumps(json.dumps(TEXT))[3:-3].encode()),
        ("a.jsonl", json.dumps(json.dumps(json.dumps(TEXT)))[7:-7].encode()),
    ],
)
def test_a_text_is_found_in_every_spelling(path: str, spelled: bytes) -> None:
    body = b'{"a": "before ' + spelled + b' after"}'
    assert _found(PurgeTerms((f"  {TEXT}\n",)), path, body) == [spelled]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_text_in_utf_16_is_found(encoding: str) -> None:
    spelled = TEXT.encode(encoding)
    body = "\ufeffab ".encode(encoding) + spelled
    assert _found(PurgeTerms((TEXT,)), "a.txt", body) == [spelled]
    assert PurgeTerms((TEXT,)).spans("a.bin", b"\0\1" + spelled + b"\0")


def test_case_counts() -> None:
    assert PurgeTerms(("Robin",)).spans("a.md", b"robin ROBIN") == []


def test_places_that_touch_are_one_and_in_order() -> None:
    assert PurgeTerms(("ab", "cd")).spans("a.md", b"xcd abcd") == [(1, 3), (4, 8)]


@pytest.mark.parametrize("number", [1, 300])
def test_many_texts_are_found_like_one(number: int) -> None:
    texts = tuple(f"passport {each:04} of somebody" for each in range(number))
    body = b"x passport 0000 of somebody, passport 9999 of somebody"
    assert _found(PurgeTerms(texts), "a.md", body) == [b"passport 0000 of somebody"]


def test_a_pattern_sees_what_is_behind_escapes() -> None:
    wanted = PurgeTerms(patterns=(re.compile(r"pin: \d{4}"),))
    assert _found(wanted, "a.jsonl", b'{"a":"p\\u0069n: 12\\u003334"}') == [b"p\\u0069n: 12\\u00333"]


def test_a_pattern_is_found_behind_letters_of_several_bytes() -> None:
    assert _found(
        PurgeTerms(patterns=(re.compile("ä+"),)), "a.md", "漢😀 ää\nä\udcff".encode("utf-8", "surrogateescape")
    ) == [
        "ää".encode(),
        "ä".encode(),
    ]


def test_a_pattern_is_found_over_the_end_of_a_window() -> None:
    body = b"a" * 65_530 + b"12345678" + b"b" * 70_000 + b"12345678"
    assert PurgeTerms(patterns=(re.compile(r"\d{8}"),)).spans("a.md", body) == [(65_530, 65_538), (135_538, 135_546)]


@pytest.mark.parametrize("pattern", ["(a+)+b", "((a|b)*c)*", "(", "x*", "a" * 2000, r"(\w+\s?)+$", "(a|aa)+b"])
def test_a_pattern_that_finds_everything_or_never_ends_is_refused_without_its_words(pattern: str) -> None:
    with pytest.raises(PurgeError) as error:
        compile_pattern(pattern)
    assert pattern not in error.value.message


@pytest.mark.parametrize("pattern", [r"(?:\d{4} ){3}\d+", "pass(port|word): .*", r"\b[A-Z]{2}\d{2,30}\b"])
def test_a_pattern_that_people_write_is_taken(pattern: str) -> None:
    assert compile_pattern(pattern).pattern == pattern


def test_a_pattern_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_patterns, "PATIENCE", 0.1)
    wanted = PurgeTerms(patterns=(compile_pattern("x*x*x*x*x*x*y"),))
    with pytest.raises(PurgeError, match="takes too long"):
        wanted.spans("a.md", b"x" * 50_000)


def test_the_end_of_a_window_is_not_the_end_of_a_text() -> None:
    body = b"a" * (bounded_patterns.WINDOW - 4) + b"12345678"
    assert PurgeTerms(patterns=(re.compile(r"\d{4}$"),)).spans("a.md", body) == [(len(body) - 4, len(body))]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_text_is_refused(text: str) -> None:
    with pytest.raises(PurgeError):
        PurgeTerms((text,))


def test_nothing_wanted_is_false() -> None:
    assert not PurgeTerms()
    assert PurgeTerms(("a",)) and PurgeTerms(patterns=(re.compile("a"),))


# What is no memory ------------------------------------------------------------------------------------------------


def _line(**fields: object) -> bytes:
    return json_codec.encode_json(sample_states.make_record("Nothing of it.", **fields))


@pytest.mark.parametrize("text", ["content", "semantic", "openclaw", "2026", "memory_md", "agent", "0000-7000"])
def test_the_words_and_ids_and_times_of_the_format_are_no_match_in_a_record(text: str) -> None:
    assert PurgeTerms((text,)).spans("memory/partitions/2026-Q4.jsonl", _line()) == []


def test_digits_inside_vectors_and_sealed_payloads_are_no_match() -> None:
    line = _line(embeddings=[sample_states.make_embedding([0.482913, 4829.13])])
    assert PurgeTerms(("4829",)).spans("memory/partitions/2026-Q4.jsonl", line) == []
    sealed = sample_states.make_credentials()["credentials"][0]["encrypted_payload"]
    assert (
        PurgeTerms((sealed[4:9],)).spans("credentials.json", json_codec.encode_json(sample_states.make_credentials()))
        == []
    )
    assert PurgeTerms(("4829",)).spans("memory/embeddings/2026-Q4/0.bin", b"\04829") == []


def test_the_whole_of_an_id_can_be_looked_for() -> None:
    name = "019a0000-0000-7000-8000-00000000abcd"
    assert PurgeTerms((name,)).spans("a.json", json_codec.encode_json({"a": name})) == [(6, 42)]
    assert PurgeTerms(("abcd",)).spans("a.json", json_codec.encode_json({"a": name})) == []


def test_words_of_the_format_are_matches_in_files_of_others() -> None:
    assert PurgeTerms(("content",)).spans("raw/openclaw/a.json", b'{"content":1}') == [(2, 9)]


# Masks --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"), [("sk-live-9f", "····9f"), ("482913", "····"), ("", "····"), ("a text that ends\n\n", "····")]
)
def test_a_match_is_shown_by_its_last_two_characters_at_most(text: str, shown: str) -> None:
    assert mask_span(f"before {text} after", (7, 7 + len(text))) == shown
