"""Cutting and filling restores every byte and uses the list alone."""

from __future__ import annotations

from typing import Any

import pyjson5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.credential_types import FileSecret
from lifeboat_adapters.errors import CutMismatch
from lifeboat_adapters.secrets import dotenv_leaves, secret_cutting, secret_finder
from lifeboat_adapters.secrets.secret_cutting import CutSpan, cut_spans, fill_placeholders, join_spans, placeholder_for

_IDS = st.sampled_from(["one", "two", "three"])
_PIECES = st.one_of(st.binary(max_size=20), _IDS.map(placeholder_for), st.sampled_from([b'"', b"'", b"{{", b"}}"]))


@st.composite
def _cases(draw: st.DrawFn) -> tuple[bytes, list[CutSpan]]:
    """Bytes that contain planted placeholders beside real secrets."""
    data, spans = b"", []
    for credential in draw(st.lists(st.one_of(st.none(), _IDS), max_size=8)):
        piece = draw(_PIECES)
        if credential is not None:
            quote = draw(st.sampled_from([b"", b'"', b"'", b"`"]))
            spans.append(CutSpan(len(data), len(data) + len(piece), credential, quote))
        data += piece
    return data, spans


def _literals(parts: secret_cutting.CutFile) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for item, literal in zip(parts.cuts, parts.literals, strict=True):
        found.setdefault(item["credential_id"], []).append(literal)
    return found


@given(_cases())
def test_what_was_cut_is_filled_byte_for_byte(case: tuple[bytes, list[CutSpan]]) -> None:
    data, spans = case
    parts = cut_spans(data, spans)
    literals = _literals(parts)
    assert fill_placeholders(parts.data, parts.cuts, lambda credential, nth: literals[credential][nth]) == data


@given(_cases())
def test_every_listed_offset_holds_its_placeholder(case: tuple[bytes, list[CutSpan]]) -> None:
    parts = cut_spans(*case)
    for item in parts.cuts:
        assert placeholder_for(item["credential_id"]) in parts.data[item["offset"] : item["offset"] + 60]


def test_a_planted_placeholder_is_ordinary_text() -> None:
    planted = b"token: " + placeholder_for("one") + b"\n"
    data = planted + b"SECRET" + planted
    parts = cut_spans(data, [CutSpan(len(planted), len(planted) + 6, "one")])
    filled = fill_placeholders(parts.data, parts.cuts, lambda credential, nth: b"SECRET")
    assert filled == data
    assert filled.count(b"SECRET") == 1
    assert fill_placeholders(planted, [], lambda credential, nth: b"SECRET") == planted


def test_equal_secrets_in_other_spellings_come_back_as_they_were() -> None:
    data = b"{apiKey: \"sk-abc\", b: {apiKey: 'sk-\\u0061bc'}}"
    spans = [secret_cutting.span_of_secret(data, secret, "one") for secret in secret_finder.secrets_in_json5(data)]
    parts = cut_spans(data, spans)
    assert parts.literals == [b'"sk-abc"', b"'sk-\\u0061bc'"]
    assert fill_placeholders(parts.data, parts.cuts, lambda credential, nth: parts.literals[nth]) == data


def test_a_cut_configuration_still_parses() -> None:
    data = b'{token: \'a\', password: 12, list: {apiKey: "b"}, note: "key 0123456789abcdef!"}'
    spans = [secret_cutting.span_of_secret(data, secret, "one") for secret in secret_finder.secrets_in_json5(data)]
    known = [
        secret_cutting.span_of_known(hit, "two")
        for hit in secret_finder.KnownSecretSearch(["0123456789abcdef"]).spans(data)
    ]
    parts = cut_spans(data, join_spans(spans, known))
    one, two = placeholder_for("one").decode(), placeholder_for("two").decode()
    assert pyjson5.decode(parts.data.decode()) == {
        "token": one,
        "password": one,
        "list": {"apiKey": one},
        "note": f"key {two}!",
    }


def test_a_cut_dotenv_file_still_parses() -> None:
    data = b"A_TOKEN=abc # x\nB_TOKEN='d e'\nC_TOKEN=\"f\ng\"\nC_PASSWORD=1234\n"
    spans = [secret_cutting.span_of_secret(data, secret, "one") for secret in secret_finder.secrets_in_dotenv(data)]
    leaves = dotenv_leaves.scan_dotenv(cut_spans(data, spans).data)
    assert [leaf.value for leaf in leaves] == [placeholder_for("one").decode()] * 4


def test_nothing_of_a_secret_is_left_and_its_length_does_not_show() -> None:
    sizes = {
        len(cut_spans(b"a" + secret + b"b", [CutSpan(1, 1 + len(secret), "one")]).data) for secret in (b"x", b"y" * 40)
    }
    assert len(sizes) == 1


def test_an_empty_span_is_left() -> None:
    assert cut_spans(b"A=\n", [CutSpan(2, 2, "one")]) == (b"A=\n", [], [])


@pytest.mark.parametrize(
    "spans",
    [
        [CutSpan(2, 4, "a"), CutSpan(3, 5, "b")],
        [CutSpan(3, 5, "a"), CutSpan(0, 1, "b")],
        [CutSpan(2, 1, "a")],
        [CutSpan(0, 99, "a")],
    ],
)
def test_spans_that_overlap_or_lie_outside_are_refused(spans: list[CutSpan]) -> None:
    with pytest.raises(
        ValueError, match="the byte ranges of secrets must be sorted, must not overlap and must lie inside"
    ):
        cut_spans(b"0123456789", spans)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8)), max_size=6),
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8)), max_size=6),
)
def test_joined_spans_cover_every_byte_once(first: list[tuple[int, int]], others: list[tuple[int, int]]) -> None:
    kept: list[CutSpan] = []
    for start, length in sorted(first):
        if not kept or start >= kept[-1].end:
            kept.append(CutSpan(start, start + length, "first"))
    spans = join_spans(kept, [CutSpan(start, start + length, "other") for start, length in others])
    covered = [place for span in spans for place in range(span.start, span.end)]
    wanted = {place for start, length in others for place in range(start, start + length)}
    wanted |= {place for span in kept for place in range(span.start, span.end)}
    assert sorted(wanted) == covered
    assert set(kept) <= set(spans)


_CUT = cut_spans(b'a "s" b', [CutSpan(2, 5, "one", b'"')])


@pytest.mark.parametrize(
    "cuts",
    [
        [{"offset": 4, "credential_id": "one"}],
        [{"offset": 2, "credential_id": "two"}],
        [{"offset": -1, "credential_id": "one"}],
        [{"offset": 999, "credential_id": "one"}],
        [{"offset": 2, "credential_id": "one"}, {"offset": 2, "credential_id": "one"}],
        [{"offset": "2", "credential_id": "one"}],
        [{"offset": True, "credential_id": "one"}],
        [{"offset": 2}],
        [{}],
    ],
)
def test_a_list_that_does_not_fit_the_bytes_is_refused(cuts: list[dict[str, Any]]) -> None:
    with pytest.raises(CutMismatch):
        fill_placeholders(_CUT.data, cuts, lambda credential, nth: b"x")


def test_bytes_that_changed_under_the_list_are_refused() -> None:
    with pytest.raises(CutMismatch, match="offset 2"):
        fill_placeholders(b"x" + _CUT.data, _CUT.cuts, lambda credential, nth: b"x")


def test_a_literal_without_a_closing_quote_is_not_taken_for_a_quoted_one() -> None:
    data = b'A="b"c'
    span = secret_cutting.span_of_secret(data, FileSecret(2, 6, '"b"c', "x", "custom", "A"), "one")
    assert span.quote == b""


def test_a_listed_place_without_a_placeholder_is_no_gap() -> None:
    data = b"KEY=" + placeholder_for("one") + b"\nother\n"
    listed = [
        {"offset": 4, "credential_id": "one"},
        {"offset": 5, "credential_id": "two"},
        {"offset": 900, "credential_id": "one"},
    ]
    assert secret_cutting.find_placeholders(data, data, listed) == [{"offset": 4, "credential_id": "one", "literal": 0}]
