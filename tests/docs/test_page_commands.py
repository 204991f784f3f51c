"""Every command that README and documentation show runs, in the order of its page, and prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.docs.page_machine import PageMachine
from support.docs.page_stories import STORIES, PageStory
from support.docs.shown_commands import (
    ShownCommand,
    list_pages,
    make_comparable,
    matches_shown,
    read_commands,
)

REFERENCE = "docs/commands.md"
"""The examples of every command."""
PAGES = [page for page in list_pages() if page != REFERENCE]


def _reason(command: ShownCommand, story: PageStory) -> str | None:
    """Return why a command is not run, or None."""
    return next((reason for start, reason in story.not_run.items() if command.text.startswith(start)), None)


def _run_page(page: str, story: PageStory, machine: PageMachine) -> None:
    story.prepare(machine)
    for command in read_commands(page):
        if _reason(command, story) is None:
            _run_command(command, story, machine)


def _run_command(command: ShownCommand, story: PageStory, machine: PageMachine) -> None:
    if command.text in story.before:
        story.before[command.text](machine)
    typed = machine.relocate(command.text)
    for name, find in story.names.items():
        typed = typed.replace(name, find(machine)) if name in typed else typed
    status = 0
    if command.text in story.servers:
        said = machine.start_in_terminal(typed, story.servers[command.text])
    elif command.text in story.dialogs:
        status, said = machine.run_in_terminal(typed, story.dialogs[command.text])
    else:
        status, said = machine.run(typed)
    expected = story.statuses.get(command.text, 0)
    assert status == expected, f"{command.place}: $ {command.text}\n{said}"
    if command.output:
        lines, shown = make_comparable(machine.hide_folders(said)), make_comparable("\n".join(command.output))
        assert matches_shown(lines, shown), f"{command.place}: $ {command.text}\n" + "\n".join(lines)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_in_its_order_and_print_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PageMachine(tmp_path, monkeypatch) as machine:
        _run_page(page, STORIES.get(page, PageStory()), machine)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, id=f"{command.place} {command.text.split()[0]}")
        for page, story in STORIES.items()
        for command in read_commands(page)
        if _reason(command, story)
    ],
)
def test_a_command_that_is_not_run_has_a_reason(command: ShownCommand) -> None:
    pytest.skip(f"{command.place}: $ {command.text}: {_reason(command, STORIES[command.page])}")


@pytest.mark.parametrize("page", sorted(STORIES))
def test_a_story_names_only_commands_of_its_page(page: str) -> None:
    story = STORIES[page]
    texts = [command.text for command in read_commands(page)]
    named = {*story.before, *story.dialogs, *story.servers, *story.statuses}
    assert sorted(named - set(texts)) == []
    assert [start for start in story.not_run if not any(text.startswith(start) for text in texts)] == []
    assert [name for name in story.names if not any(name in text for text in texts)] == []
