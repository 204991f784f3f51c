"""The keep-out filter: what it recognises of removed text, and what it leaves alone."""

from __future__ import annotations

import codecs
import contextlib
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.secrets import value_prints
from lifeboat_adapters.secrets.entropy import is_guessable
from lifeboat_adapters.secrets.value_prints import _PRIME, ValuePrint, ValuePrints, letters_of, may_search_everywhere
from lifeboat_alf.common import json_codec
from lifeboat_alf.redaction.redactions import ByteEdit, apply_edits
from lifeboat_core.purge.keep_out_derivation import DerivedFilter
from lifeboat_core.purge.keep_out_filter import KeepOutFilter, KeepOutMarks, KeepOutSieve, UncertainBinary

MARKS = KeepOutMarks(bytes(range(32)))
PATH = "raw/openclaw/MEMORY.md"
LINE = b"The passport number is C01X00T47."
BODY = b"# Memory\n\n## Travel\n\n%s\n\n## Food\n\nRice.\n" % LINE


def sieve(
    path: str = PATH, body: bytes = BODY, *cuts: bytes, stays: bytes = b"", keeps_weak: bool = False, **options: bool
) -> KeepOutSieve:
    """Return the filter of a file from which parts were removed."""
    derived = DerivedFilter(MARKS, keeps_weak=keeps_weak)
    derived.entry(path, body, tuple(ByteEdit(body.index(cut), len(cut)) for cut in cuts))
    made = derived.finish([("other.md", stays.split(b"\n"))])
    return KeepOutSieve(
        KeepOutFilter.of_json(json_codec.decode_json(json_codec.encode_json(made.to_json()))), MARKS, **options
    )


def cut(found: KeepOutSieve, path: str, body: bytes) -> bytes:
    return apply_edits(body, found.file(path, body))


WHOLE = sieve(PATH, BODY, LINE + b"\n")
PART = sieve(PATH, BODY, b"C01X00T47", keeps_weak=True)


def test_the_body_that_was_cut_becomes_what_stands_in_its_place() -> None:
    assert cut(WHOLE, PATH, BODY) == BODY.replace(LINE + b"\n", b"")


@pytest.mark.parametrize("around", [b"%s\n", b"before\n%s\nafter\n", b"  %s \r\nafter", b"%s", b"\t%s\n\n\n"])
def test_a_line_is_known_anywhere(around: bytes) -> None:
    assert b"C01X00T47" not in cut(WHOLE, "raw/openclaw/notes.md", around % LINE)


def test_what_stands_beside_it_stays() -> None:
    assert cut(WHOLE, "artifacts/notes.txt", b"before\n%s\nafter\n" % LINE) == b"before\nafter\n"


def test_of_a_line_that_lost_a_part_the_rest_stays() -> None:
    assert cut(PART, "raw/openclaw/notes.md", b"  %s\nafter\n" % LINE) == b"  The passport number is .\nafter\n"


def test_a_line_is_known_however_its_characters_are_composed() -> None:
    line = "Das Café heißt Zürich."
    found = sieve(PATH, f"{line}\n".encode(), f"{line}\n".encode())
    assert cut(found, "raw/openclaw/x.md", "Das Cafe\u0301 heißt Zu\u0308rich.\nx\n".encode()) == b"x\n"


def test_a_short_line_is_known_in_its_file() -> None:
    found = sieve(PATH, b"pin\n483920\nend\n", b"483920\n", keeps_weak=True)
    assert cut(found, PATH, b"new\n483920\n") == b"new\n"


def test_a_short_line_of_another_file_stays() -> None:
    found = sieve(PATH, b"pin\nno.\nend\n", b"no.\n", keeps_weak=True)
    assert cut(found, "raw/openclaw/other.md", b"new\nno.\n") == b"new\nno.\n"


def test_a_line_that_stands_elsewhere_too_goes_only_between_its_neighbours() -> None:
    body = b"# A\nthe same words again\nsecret text of mine\n"
    found = sieve(
        PATH, body, b"the same words again\nsecret text of mine\n", stays=b"the same words again", keeps_weak=True
    )
    assert cut(found, "raw/openclaw/other.md", b"# B\nthe same words again\n") == b"# B\nthe same words again\n"
    assert cut(found, PATH, body + b"new\n") == b"# A\nnew\n"


def test_blank_lines_stay() -> None:
    assert cut(WHOLE, "raw/openclaw/notes.md", b"a\n\n\nb\n") == b"a\n\n\nb\n"


def test_a_string_of_json_loses_the_line() -> None:
    body = json_codec.encode_json({"text": f"a\n{LINE.decode()}\nb", "n": 1})
    assert json_codec.decode_json(cut(WHOLE, "raw/openclaw/log.jsonl", body)) == {"text": "a\nb", "n": 1}


def test_json_can_still_be_read() -> None:
    body = b'{\n  "a": "The passport number is C01X00T47.",\n  "b": 2\n}\n'
    found = sieve("raw/openclaw/x.json", body, b'  "a": "The passport number is C01X00T47.",\n')
    assert json_codec.decode_json(cut(found, "raw/openclaw/x.json", body.replace(b"2", b"3"))) == {"b": 3}


def test_a_binary_file_is_known_as_a_whole() -> None:
    body = b"\0\1" + LINE + b"\2"
    found = sieve("artifacts/x.bin", body, body)
    assert cut(found, "artifacts/x.bin", body) == b""
    with pytest.raises(UncertainBinary):
        cut(found, "artifacts/x.bin", body + b"\3")


def test_a_memory_that_is_gone_is_known_by_its_lines() -> None:
    derived = DerivedFilter(MARKS)
    derived.record(json_codec.encode_json({"content": "# Travel\n\nMy passport is at home.", "source": {}}), None)
    found = KeepOutSieve(derived.finish([]), MARKS)
    assert cut(found, PATH, b"x\nMy passport is at home.\n") == b"x\n"


def test_two_purges_are_done_one_after_the_other() -> None:
    derived = DerivedFilter(MARKS, sieve(PATH, BODY, LINE + b"\n").filter)
    left = BODY.replace(LINE + b"\n", b"")
    derived.entry(PATH, left, (ByteEdit(left.index(b"Rice.\n"), 6),))
    assert cut(KeepOutSieve(derived.finish([]), MARKS), PATH, BODY) == left.replace(b"Rice.\n", b"")


def test_another_key_knows_nothing() -> None:
    other = KeepOutSieve(WHOLE.filter, KeepOutMarks(bytes(32)))
    assert other.file(PATH, BODY) == ()


@pytest.mark.parametrize("text", [b"C01X00T47", b"passport", b"Travel"])
def test_a_filter_says_nothing_of_the_text(text: bytes) -> None:
    assert text not in json_codec.encode_json(WHOLE.filter.to_json())


PIECES = st.lists(st.sampled_from(["a", "é", "", "\t", "- milk", "## Head", "some longer line of words"]), max_size=12)


@given(pieces=PIECES, places=st.lists(st.integers(0, 200), min_size=2, max_size=6))
def test_any_body_becomes_what_stands_in_its_place_which_is_left_alone(pieces: list[str], places: list[int]) -> None:
    body = "\n".join(pieces).encode()
    ends = sorted({min(place, len(body)) for place in places})
    edits = tuple(ByteEdit(start, end - start) for start, end in pairwise(ends))[::2]
    derived = DerivedFilter(MARKS)
    derived.entry(PATH, body, edits)
    left = apply_edits(body, edits)
    found = KeepOutSieve(derived.finish([("MEMORY.md", left.split(b"\n"))]), MARKS)
    assert (cut(found, PATH, body), cut(found, PATH, left)) == (left, left)


# What can be guessed, and other words --------------------------------------------------------------------------------

VALUE = b"Juniper Quartz 7731 Harbour Lane 58"


def test_no_digest_of_a_short_text_is_kept() -> None:
    made = sieve(PATH, BODY, b"C01X00T47").filter
    assert (made.bodies, made.lines, made.values) == ({}, {}, {})


def test_no_digest_of_a_line_beside_a_short_text_is_kept() -> None:
    body = b"pin\n\n483920\n\nend of the notes about the door\n"
    made = sieve(PATH, body, b"\n483920\n\nend of the notes about the door", stays=b"end of the notes about the door")
    assert made.filter.lines == {}


def test_a_file_of_which_a_short_text_went_is_known_by_the_rest() -> None:
    found = sieve(PATH, BODY, b"C01X00T47")
    assert cut(found, PATH, BODY) == BODY.replace(b"C01X00T47", b"")


def test_a_file_that_changed_since_is_not_known_by_a_short_text() -> None:
    found = sieve(PATH, BODY, b"C01X00T47")
    assert cut(found, PATH, BODY + b"new\n") == BODY + b"new\n"


def test_a_line_of_a_table_is_known_by_the_rest() -> None:
    lines = b'{"id":1,"said":"calm"}\n{"id":2,"said":"my pin is 483920"}\n'
    found = sieve("raw/openclaw/x.jsonl", lines, b"483920")
    assert b"483920" not in cut(found, "raw/openclaw/x.jsonl", b'{"id":0}\n' + lines)


@pytest.mark.parametrize(
    "said",
    [
        b"I told you: %s, remember?\n" % VALUE,
        b"it is juniper-quartz, 7731\n  HARBOUR (lane 58).\n",
        b"see " + codecs.encode(b"well, %s it is, as you know" % VALUE, "base64").replace(b"\n", b"") + b"\n",
    ],
)
def test_a_long_value_is_known_in_other_words(said: bytes) -> None:
    found = sieve(PATH, b"The code is %s.\n" % VALUE, VALUE)
    made = cut(found, "raw/openclaw/other.md", b"first\n" + said + b"last\n")
    assert made.startswith(b"first\n") and made.endswith(b"last\n")
    assert sieve_finds_nothing(found, made)


def sieve_finds_nothing(found: KeepOutSieve, made: bytes) -> bool:
    found.met.clear()
    return found.file("raw/openclaw/other.md", made) == () and not found.met


def test_words_that_only_resemble_a_value_stay() -> None:
    found = sieve(PATH, b"The code is %s.\n" % VALUE, VALUE)
    other = b"Juniper quartz 7732 harbour lane 58; juniper, quartz.\n"
    assert cut(found, "raw/openclaw/other.md", other) == other


def test_a_value_that_stays_elsewhere_is_not_looked_for() -> None:
    found = sieve(PATH, b"The code is %s.\n" % VALUE, VALUE, stays=b"they say %s" % VALUE)
    assert found.filter.values == {}


def test_a_value_is_only_told_of_where_the_user_wants_no_cut() -> None:
    found = sieve(PATH, b"The code is %s.\n" % VALUE, VALUE, cuts_values=False)
    body = b"again: %s\n" % VALUE
    assert (cut(found, "raw/openclaw/other.md", body), found.met) == (body, [1])


def test_a_value_is_found_within_a_database_and_blanked() -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table fact(key text, said text)")
        connection.execute("insert into fact values ('note', ?)", (VALUE.decode() + "said",))
        body = connection.serialize()
    found = sieve(PATH, b"The code is %s.\n" % VALUE, VALUE)
    assert cut(found, "artifacts/own.db", body) == body.replace(VALUE, b" " * len(VALUE))


def test_a_binary_file_that_changed_and_lost_something_short_is_uncertain() -> None:
    body = b"\0\1 pin 483920 of the door \2"
    found = sieve("artifacts/x.bin", body, b"483920")
    assert cut(found, "artifacts/x.bin", body) == body.replace(b"483920", b"")
    assert cut(found, "artifacts/x.bin", body.replace(b"483920", b"")) == body.replace(b"483920", b"")
    with pytest.raises(UncertainBinary):
        cut(found, "artifacts/x.bin", body + b"\3")


def test_a_binary_file_that_holds_a_long_value_again_is_uncertain() -> None:
    found = sieve(PATH, b"The code is %s.\n" % VALUE, VALUE)
    with pytest.raises(UncertainBinary):
        cut(found, "artifacts/other.bin", b"\0\1 %s \2" % VALUE)


def test_a_filter_of_an_earlier_release_gives_up_what_is_short() -> None:
    former = {
        "version": 1,
        "bodies": {"a": [[3, 6]], "b": [[3, 60]]},
        "lines": {"c": [0, [3, 6]], "d": [0, [3, 60]], "e": None},
        **{"anywhere": [40], "placed": [6], "around": []},
    }
    made = KeepOutFilter.of_json(former)
    assert (set(made.bodies), set(made.lines)) == ({"b"}, {"d"})


def test_a_large_database_is_not_searched_at_every_place_for_values_of_many_lengths() -> None:
    known = {str(letters): ValuePrint(letters, 0) for letters in range(16, 116)}
    one = {"16": known["16"]}
    body = bytes(2 << 20)
    assert may_search_everywhere(body, one) and not may_search_everywhere(body, known)
    assert may_search_everywhere(body[: 1 << 20], known) and not may_search_everywhere(body * 9, one)


def test_the_places_of_many_hits_in_a_binary_file_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    prints, body = ValuePrints(MARKS.key), b"\0".join([VALUE + b"!"] * 50)
    mark, found = prints.of(VALUE)
    searched = Counter[bytes]()

    class Words:
        def finditer(self, data: bytes) -> Iterator[re.Match[bytes]]:
            searched[data] += 1
            return re.finditer(rb"\w+", data)

    monkeypatch.setattr(value_prints, "_WORD", Words())
    spans = prints.find(body, {mark: found}, everywhere=True)
    assert [body[start:end] for start, end in spans] == [VALUE] * 50
    assert searched[body] == 1


@given(
    st.lists(
        st.sampled_from([b"juniper", b"quartz", b"7731", b"harbour lane 58", b" ", b"\n", b".", b"x"]), max_size=30
    )
)
def test_both_searches_find_the_same_words(parts: list[bytes]) -> None:
    prints = ValuePrints(MARKS.key)
    mark, found = prints.of(VALUE)
    body = b" ".join(parts)
    by_word, anywhere = (prints.find(body, {mark: found}, everywhere=each) for each in (False, True))
    assert set(by_word) <= set(anywhere)
    assert bool(anywhere) == (letters_of(VALUE) in letters_of(body) and bool(anywhere))


# Many lengths -------------------------------------------------------------------------------------------------------

_LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789"


def drawn(count: int, seed: int) -> bytes:
    return bytes(random.Random(seed).choices(_LETTERS, k=count))


def test_values_of_a_thousand_lengths_are_searched_with_a_few() -> None:
    """The cost of a search is the text times the number of lengths that are compared."""
    prints = ValuePrints(MARKS.key)
    known = dict(prints.of(drawn(length, length)) for length in range(16, 1016))
    assert len({each.searched for each in known.values()}) <= 12
    assert may_search_everywhere(bytes(8 << 20), known)


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("chunk", [5, 64, 1 << 18])
def test_each_of_many_values_is_found_by_its_beginning(
    everywhere: bool, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(value_prints, "_CHUNK", chunk)
    prints = ValuePrints(MARKS.key)
    same = drawn(30, 0)  # some begin alike
    values = [drawn(length, length) for length in range(16, 90)] + [same + drawn(length, length) for length in (1, 9)]
    known = dict(map(prints.of, values))
    body = b"\n".join([b"before", *values, same, b"after"])
    found = prints.find(body, known, everywhere=everywhere)
    assert [body[start:end] for start, end in found] == values


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_beginning_alone_is_not_the_value(everywhere: bool) -> None:
    prints, value = ValuePrints(MARKS.key), drawn(60, 1)
    known = dict([prints.of(value)])
    for other in (value[:24] + b" x", value[:59], value[:24] + drawn(36, 2)):
        assert prints.find(b"is %s here" % other, known, everywhere=everywhere) == []


@pytest.mark.parametrize(
    "value",
    [
        b"the name of the harbour is Juniper and the code is 8f7a3c91d2e4b6",
        b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa0b9x8c7v6n5m4",
        b"my password is correct horse battery staple lighthouse",
        b"483920",
    ],
)
def test_no_sum_is_kept_of_a_beginning_that_can_be_guessed(value: bytes) -> None:
    _, made = ValuePrints(MARKS.key).of(value)
    beginning = letters_of(value)[: made.begin_letters].decode()
    assert not made.begin_letters or not is_guessable(beginning)
    assert bool(made.begin_rolled) == bool(made.begin_letters)


def test_the_rest_of_a_value_cannot_be_guessed_from_sums() -> None:
    """The sum of the whole is the sum of the beginning, shifted by the rest, plus that of the rest."""
    prints, begin, pin = ValuePrints(MARKS.key), drawn(24, 1), b"4839"
    _, made = prints.of(begin + pin)
    power = pow(prints._base, made.letters - made.begin_letters, _PRIME)
    rest = (made.rolled - made.begin_rolled * power) % _PRIME
    guesses = (begin[made.begin_letters :] + b"%04d" % number for number in range(10_000))
    assert made.begin_letters
    assert not any(prints._sums(guess)[-1] == rest for guess in guesses)


def test_a_print_of_an_earlier_release_is_found_by_its_whole_length() -> None:
    prints, value = ValuePrints(MARKS.key), drawn(60, 1)
    mark, made = prints.of(value)
    former = ValuePrint(made.letters, prints._sums(value)[-1])
    assert prints.find(b"is %s here" % value, {mark: former}, everywhere=False) == [(3, 63)]
