"""The page of the forms of secrets describes what the tests of captures make and expect."""

from __future__ import annotations

import re
from pathlib import Path

from support.credential_files import samples
from support.disguises import DISGUISES
from support.nested_encodings import NOT_FOUND

PAGE = (Path(__file__).parents[2] / "docs" / "secret-forms.md").read_text()


def test_every_disguise_of_a_known_secret_is_in_the_list_of_forms_that_are_cut() -> None:
    """`test_capture_disguises` has each of them cut."""
    listed = PAGE.split("in the same forms.\n\n")[1].split(".\n\n")[0]
    assert re.split(r";\s", listed) == list(DISGUISES)


def test_every_pair_of_encodings_that_is_not_undone_is_on_the_page() -> None:
    """`test_decoding_pairs` has every other pair undone."""
    assert [words for words in NOT_FOUND if f"| {words} | not found |\n" not in PAGE] == []


def test_every_kind_of_unknown_secret_is_listed_with_its_outcome(tmp_path: Path) -> None:
    """`test_capture_credential_files` expects each of these outcomes. No secret is kept without a report."""
    cut, reported = PAGE.split("secrets are **cut** from\n")[1].split("They are **reported** in\n")
    listed = {"cut": re.findall(r"`([^`]+)`", cut), "reported": re.findall(r"`([^`]+)`", reported)}
    made = samples(tmp_path)
    assert listed == {outcome: [each.path for each in made if each.outcome == outcome] for outcome in listed}
    assert all(listed.values()) and {each.outcome for each in made} == listed.keys()
