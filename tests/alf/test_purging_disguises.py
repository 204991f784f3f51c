"""A text that is purged is found in every disguise that was tried, and where it stands nothing else goes."""

from __future__ import annotations

import gzip
import re

import pytest

from lifeboat_alf.purging import Wanted
from support.disguises import DISGUISES, SECRET

PASSAGE = "The door of the north tower opens with 492817 at dawn"


@pytest.mark.parametrize("name", DISGUISES)
def test_a_long_text_is_found(name: str) -> None:
    body = DISGUISES[name](SECRET)
    wanted = Wanted((SECRET,))
    spans = wanted.spans("artifacts/x.bin", b"before\n" + body + b"\nafter\n")
    assert spans
    left, at = b"", 0
    for start, end in spans:
        left += (b"before\n" + body + b"\nafter\n")[at:start]
        at = end
    left += (b"before\n" + body + b"\nafter\n")[at:]
    assert left.startswith(b"before\n") and left.endswith(b"after\n")
    assert not wanted.spans("artifacts/x.bin", left)


@pytest.mark.parametrize(
    "name",
    ["base64", "base64 wrapped", "hexadecimal with colons", "html entities", "gzip", "zip", "utf-16 be", "tar.gz"],
)
def test_a_short_text_is_found_where_it_is_encoded(name: str) -> None:
    assert Wanted(("492817",)).spans("", DISGUISES[name](PASSAGE))


def test_a_passage_over_several_lines_is_found() -> None:
    body = b"> The door of the north\n> tower opens with 492817\n> at dawn\n"
    assert Wanted((PASSAGE,)).spans("artifacts/x.md", body) == [(2, len(body) - 1)]


def test_a_pattern_is_found_in_what_is_compressed() -> None:
    assert Wanted(patterns=(re.compile(r"\d{6} at dawn"),)).spans("", gzip.compress(PASSAGE.encode()))
