"""The page of the forms of secrets describes what the tests of captures make and expect."""

from __future__ import annotations

import re
from pathlib import Path

from support.credential_files import samples
from support.disguises import DISGUISES
from support.nested_encodings import NOT_FOUND

PAGE = (Path(__file__).parents[2] / "docs" / "secret-forms.md").read_text()


def _rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading."""
    part = PAGE.split(f"## {heading}\n")[1]
    table = re.search(r"(?:^\|.*\n)+", part, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()[2:]]


def test_every_disguise_of_a_known_secret_is_in_the_list_of_forms_that_are_cut() -> None:
    """`test_capture_disguises` has each of them cut."""
    listed = PAGE.split("in the same forms.\n\n")[1].split(".\n\n")[0]
    assert re.split(r";\s", listed) == list(DISGUISES)


def test_every_pair_of_encodings_that_is_not_undone_is_on_the_page() -> None:
    """`test_decoding_pairs` has every other pair undone."""
    assert [words for words in NOT_FOUND if f"| {words} | not found |\n" not in PAGE] == []


def test_every_kind_of_unknown_secret_is_in_the_table_with_its_outcome(tmp_path: Path) -> None:
    """`test_capture_credential_files` expects each of these outcomes. No secret is kept without a report."""
    said = [[cell.split("`")[1], outcome] for cell, outcome in _rows("Unknown secrets")]
    assert said == [[sample.path, sample.outcome] for sample in samples(tmp_path)]
    assert {outcome for _, outcome in said} == {"cut", "reported"}
