"""Texts for users avoid the phrases that stopped readers."""

from __future__ import annotations

import re

import pytest

from support.paths import ROOT
from support.user_texts import UserText, texts_of_code, texts_of_pages

_LINES = (ROOT / "tests/project/banned_phrases.txt").read_text().splitlines()
BANNED = dict(line.split("\t") for line in _LINES if line and not line.startswith("#"))
_PATTERNS = [(re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE), use) for phrase, use in BANNED.items()]


def _banned_in(texts: list[UserText]) -> list[str]:
    """Return `path:line: 'phrase', write: …` for every banned phrase in the texts."""
    return [
        f"{each.path}:{each.line}: {match[0]!r}, write: {use}"
        for each in texts
        for pattern, use in _PATTERNS
        for match in pattern.finditer(each.text)
    ]


def test_no_text_of_the_code_has_a_banned_phrase() -> None:
    texts = list(texts_of_code())
    assert len(texts) > 5_000
    found = _banned_in(texts)
    assert not found, "\n".join(found)


def test_no_page_has_a_banned_phrase() -> None:
    texts = list(texts_of_pages())
    assert len(texts) > 500
    found = _banned_in(texts)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "Nobody knows it.",
        "A token counts no more, at once.",
        "A second copy is kept.",
        "The file was looked through.",
        "Whoever holds the key can read it.",
    ],
)
def test_a_banned_phrase_is_found_in_any_case(text: str) -> None:
    assert _banned_in([UserText("x.py", 1, text)]) != []


@pytest.mark.parametrize("text", ["At most 5; no more than that.", "A remote is a copy on another machine."])
def test_plain_sentences_are_not_refused(text: str) -> None:
    assert _banned_in([UserText("x.py", 1, text)]) == []
