"""The choices of the restore wizard, and the command built from them."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

import pytest

from lifeboat_tui.screens.restore.restore_command import (
    RestoreChoices,
    build_restore_command,
    escape_patterns,
    format_command,
    parse_patterns,
    unescape_patterns,
)

ADA = RestoreChoices("ada")


def test_without_anything_chosen_it_is_the_agent_alone() -> None:
    assert build_restore_command(ADA, dry_run=True) == ("restore", "ada", "--dry-run")


def test_the_preview_and_the_restore_differ_in_one_word() -> None:
    wanted = replace(ADA, at="14", paths=("MEMORY.md",), with_credentials=True, to="/srv/copy", adopt=True)
    preview, run = build_restore_command(wanted, dry_run=True), build_restore_command(wanted, dry_run=False)
    assert [pair for pair in zip(preview, run, strict=True) if pair[0] != pair[1]] == [("--dry-run", "--yes")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"at": "2026-11-20T18:00"}, ("--at", "2026-11-20T18:00")),
        ({"remote": "stick"}, ("--from", "stick")),
        ({"to": "/srv/copy"}, ("--to", "/srv/copy")),
        ({"runtime": "zeroclaw"}, ("--runtime", "zeroclaw")),
        ({"state_dir": "/srv/own"}, ("--state-dir", "/srv/own")),
        ({"paths": ("a.md", "b/*")}, ("--path", "a.md", "--path", "b/*")),
        ({"with_credentials": True}, ("--with-credentials",)),
        ({"with_cron": True}, ("--with-cron",)),
        ({"with_sessions": True}, ("--with-sessions",)),
        ({"finish": True}, ("--finish",)),
        ({"accept_unsigned": True}, ("--accept-unsigned",)),
        ({"adopt": True, "to": "/srv/copy"}, ("--to", "/srv/copy", "--adopt")),
    ],
)
def test_each_choice_is_an_option(change: dict[str, object], said: tuple[str, ...]) -> None:
    assert build_restore_command(replace(ADA, **change), dry_run=False) == ("restore", "ada", "--yes", *said)  # type: ignore[arg-type]


def test_in_place_nothing_is_adopted_and_nothing_taken_over() -> None:
    said = build_restore_command(replace(ADA, adopt=True, remote="stick", take_over="laptop-2"), dry_run=False)
    assert "--adopt" not in said and "--take-over" not in said


def test_a_machine_is_taken_over_from_a_second_copy_only() -> None:
    there = replace(ADA, adopt=True, to="/srv/copy", take_over="laptop-2")
    assert "--take-over" not in build_restore_command(there, dry_run=False)
    assert build_restore_command(replace(there, remote="stick"), dry_run=False)[-2:] == ("--take-over", "laptop-2")


@pytest.mark.parametrize("name", ["MEMORY.md", "notes/[draft] what?.md", "a*b"])
def test_a_chosen_name_fits_itself_and_nothing_like_it(name: str) -> None:
    pattern = escape_patterns([name])[0]
    assert fnmatchcase(name, pattern) and unescape_patterns((pattern,)) == {name}
    assert not fnmatchcase(name.replace("*", "x").replace("?", "x").replace("[d", "d") + "x", pattern)


def test_typed_patterns_are_parted_as_in_a_shell() -> None:
    assert parse_patterns("MEMORY.md 'my notes/*'") == ("MEMORY.md", "my notes/*")
    with pytest.raises(ValueError):
        parse_patterns("'open")


def test_a_command_is_written_as_it_would_be_typed() -> None:
    assert format_command(build_restore_command(replace(ADA, to="/srv/my copy"), dry_run=True)) == (
        "lifeboat restore ada --dry-run --to '/srv/my copy'"
    )
