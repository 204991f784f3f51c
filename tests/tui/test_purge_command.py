"""The choices of the purge wizard, and the command built from them."""

from __future__ import annotations

import pytest

from lifeboat_core.documents.purge_documents import Purged, Whose
from lifeboat_tui.screens.purge.purge_command import (
    PurgeChoices,
    PurgeSubject,
    build_confirmation_phrase,
    build_purge_command,
)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (PurgeChoices(), "purge ada --dry-run --text-stdin"),
        (PurgeChoices(PurgeSubject.PATTERN, memory=True), "purge ada --dry-run --pattern-stdin --memory"),
        (PurgeChoices(PurgeSubject.RECORDS, ("1", "2"), only=True), "purge ada --dry-run --record 1 --record 2 --only"),
        (PurgeChoices(PurgeSubject.RECORDS, ("1",), memory=True), "purge ada --dry-run --record 1"),
        (PurgeChoices(PurgeSubject.ALL, memory=True, workspace=True), "purge ada --dry-run --all"),
        (PurgeChoices(derived=True, workspace=True), "purge ada --dry-run --text-stdin --derived --workspace"),
        (PurgeChoices(keep_print=True), "purge ada --dry-run --text-stdin --keep-print"),
        (PurgeChoices(PurgeSubject.ALL, keep_print=True), "purge ada --dry-run --all"),
        (PurgeChoices(reason="security_incident"), "purge ada --dry-run --text-stdin --reason security_incident"),
    ],
)
def test_the_words_say_what_was_chosen(wanted: PurgeChoices, said: str) -> None:
    assert " ".join(build_purge_command(wanted, "ada", dry_run=True)) == said


def test_what_is_done_differs_from_what_was_shown_in_one_word() -> None:
    shown, done = (build_purge_command(PurgeChoices(workspace=True), "ada", dry_run=each) for each in (True, False))
    assert [each for each in zip(shown, done, strict=True) if each[0] != each[1]] == [("--dry-run", "--yes")]


def test_the_phrase_is_that_of_the_command() -> None:
    ada = Whose(id="1", name="ada")
    assert build_confirmation_phrase(Purged(agent=ada, versions=31)) == "purge 31"
    assert build_confirmation_phrase(Purged(agent=ada, scope="full_agent", versions=31)) == "purge ada"
    assert build_confirmation_phrase(Purged(agent=ada, labels=("proposal 1 of the agent",))) == "purge 1"
