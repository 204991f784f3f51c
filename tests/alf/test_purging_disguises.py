"""A purged text is found in every known disguise, and nothing else is removed."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.purging.purge_terms import PurgeTerms
from support.disguises import DISGUISES, SECRET, over_two_pages

PASSAGE = "The door of the north tower opens with 492817 at dawn"


@pytest.mark.parametrize("name", DISGUISES)
def test_a_long_text_is_found(name: str) -> None:
    body = DISGUISES[name](SECRET)
    wanted = PurgeTerms((SECRET,))
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
    assert PurgeTerms(("492817",)).spans("", DISGUISES[name](PASSAGE))


def test_a_passage_over_several_lines_is_found() -> None:
    body = b"> The door of the north\n> tower opens with 492817\n> at dawn\n"
    assert PurgeTerms((PASSAGE,)).spans("artifacts/x.md", body) == [(2, len(body) - 1)]


def test_a_pattern_is_found_in_what_is_compressed() -> None:
    assert PurgeTerms(patterns=(re.compile(r"\d{6} at dawn"),)).spans("", gzip.compress(PASSAGE.encode()))


def _split_over_pages(folder: Path, encoding: str = "UTF-8") -> Iterator[bytes]:
    """Yield databases in which a page ends at different letters of the passage."""
    for split in range(2, len(PASSAGE), 10):
        over_two_pages(PASSAGE.encode(), folder / "made.db", encoding, split)
        body = (folder / "made.db").read_bytes()
        if PASSAGE.encode() not in body and PASSAGE.encode("utf-16-le") not in body:
            yield body


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
@pytest.mark.parametrize("is_disguised", [True, False])
def test_a_text_over_two_pages_of_a_database_is_found(tmp_path: Path, encoding: str, *, is_disguised: bool) -> None:
    wanted = PurgeTerms((PASSAGE,), disguised=is_disguised)
    tried = 0
    for body in _split_over_pages(tmp_path, encoding):
        spelled = b"".join(body[start:end] for start, end in wanted.spans("artifacts/x.db", body))
        if is_disguised:
            assert set(PASSAGE.encode()) <= set(spelled)
        else:
            assert sorted(spelled.replace(b"\0", b"")) == sorted(PASSAGE.encode())  # a later page may lie before
        tried += 1
    assert tried > 3


def test_a_pattern_over_two_pages_of_a_database_is_found(tmp_path: Path) -> None:
    pattern = PurgeTerms(patterns=(re.compile(r"north tower opens with \d{6} at"),))
    bodies = list(_split_over_pages(tmp_path))
    assert len(bodies) > 3
    assert all(pattern.spans("artifacts/x.db", body) for body in bodies)
