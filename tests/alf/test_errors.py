"""The root of the errors."""

import re

from lifeboat_alf.errors import ArchiveError
from support.packages import PACKAGES
from support.paths import ROOT


def test_an_error_that_says_something_else_keeps_its_code() -> None:
    error = ArchiveError.NOT_AN_ARCHIVE("it is empty", fix="lifeboat alf validate a.alf")
    changed = error.with_message("a.alf: it is empty")
    assert (changed.code, changed.title, changed.fix) == ("not_an_archive", error.title, error.fix)
    assert (changed.message, str(changed)) == ("a.alf: it is empty", "a.alf: it is empty")
    assert (type(changed), error.message) == (ArchiveError, "it is empty")


def test_an_error_that_says_something_else_may_advise_something_else() -> None:
    assert ArchiveError("it is empty").with_message("it is empty", fix="lifeboat sync").fix == "lifeboat sync"


def test_no_error_is_made_again_from_the_class_of_another_one() -> None:
    """A class made again loses the code that the error was given."""
    again = re.compile(r"\b(type\((error|failed|caught)\)|(error|failed|caught)\.__class__)\(")
    found = [path for folder in PACKAGES for path in (ROOT / folder).rglob("*.py") if again.search(path.read_text())]
    assert found == []
