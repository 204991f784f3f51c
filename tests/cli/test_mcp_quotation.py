"""Results of `lifeboat mcp` are one quotation that is bounded and cannot be ended from within."""

from __future__ import annotations

import unicodedata
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_cli.mcp.quotation import LONGEST_TEXT, MOST_CHARACTERS, QuotedItem, quote_items

TEXTS = st.one_of(st.text(), st.text("</>&\"'own-past\n\u202e\u200b\x1b[31m\U000e0041 ", max_size=400))


def shown(*items: QuotedItem) -> ET.Element:
    text = quote_items("Found.", items, lambda said: said)
    assert len(text) <= MOST_CHARACTERS
    return ET.fromstring(text.partition("\n")[2])


@given(TEXTS, TEXTS)
def test_no_text_and_no_attribute_ends_the_quotation(text: str, name: str) -> None:
    found = shown(QuotedItem("memory", {"from": name}, text), QuotedItem("memory", {}, "last"))
    assert [one.tag for one in found] == ["memory", "memory"]
    assert found[1].text == "last" and not list(found[0])
    said = "".join([*found.itertext(), found[0].get("from") or ""])
    unseen = {letter for letter in said if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co")}
    assert unseen == set()


@pytest.mark.parametrize("letter", ["a", "&", "<", '"', "\u202e", "\n"])
def test_a_long_text_is_cut_and_says_so(letter: str) -> None:
    found = shown(QuotedItem("memory", {}, letter * 500_000))
    assert found[0].get("truncated") == "true" and len(found[0].text or "") <= LONGEST_TEXT


def test_what_does_not_fit_is_counted_in_the_sentence_of_lifeboat() -> None:
    items = [QuotedItem("memory", {"id": number}, "x" * 3000) for number in range(20)]
    text = quote_items("Found.", items, lambda said: said)
    kept = len(ET.fromstring(text.partition("\n")[2]))
    assert 1 <= kept < 20 and f"{20 - kept} more did not fit" in text.partition("\n")[0]


def test_a_secret_is_masked_before_a_text_is_cut() -> None:
    secret = "s" * 50
    text = "x" * (LONGEST_TEXT - 10) + secret
    found = quote_items("Found.", [QuotedItem("memory", {}, text)], lambda said: said.replace(secret, "[secret]"))
    assert "ss" not in found.replace("[secret]", "")


@pytest.mark.parametrize("inside", ["\u200b", "\u202e", "\x1b[0m", "\ufe0f"])
def test_a_secret_is_masked_although_something_invisible_is_in_it(inside: str) -> None:
    item = QuotedItem("memory", {"from": f"see{inside}crets"}, f"the word is see{inside}crets")
    assert "seecrets" not in quote_items("Found.", [item], lambda said: said.replace("seecrets", "[secret]"))


def test_the_first_column_of_a_difference_stays() -> None:
    found = shown(QuotedItem("file", {}, " - a point of a list\n-- removed\n+ added"))
    assert found[0].text == " - a point of a list\n-- removed\n+ added"
