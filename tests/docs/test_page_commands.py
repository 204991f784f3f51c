"""Every command that README and documentation show runs, in the order of its page, and prints what the page shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.docs.example_stories import (
    EXAMPLE_STORY,
    NOT_RUN,
    find_example_reason,
    name_group,
    prepare_examples,
)
from support.docs.page_machine import PageMachine
from support.docs.page_runner import CommandRun, find_reason, run_commands
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


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_in_its_order_and_print_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PageMachine(tmp_path, monkeypatch) as machine:
        story = STORIES.get(page, PageStory())
        for done in run_commands(read_commands(page), story, machine):
            _check(done, story)


def _check(done: CommandRun, story: PageStory) -> None:
    command = done.command
    expected = story.statuses.get(command.text, 0)
    assert done.status == expected, f"{command.place}: $ {command.text}\n{done.said}"
    if command.output:
        said, shown = make_comparable(done.said), make_comparable("\n".join(command.output))
        assert matches_shown(said, shown), f"{command.place}: $ {command.text}\n" + "\n".join(said)


EXAMPLES = read_commands(REFERENCE)
RUN_EXAMPLES = [command for command in EXAMPLES if find_example_reason(command) is None]


@pytest.mark.parametrize("group", sorted({name_group(command) for command in RUN_EXAMPLES}))
def test_the_examples_of_a_group_of_commands_run(group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with PageMachine(tmp_path, monkeypatch) as machine:
        prepare_examples(machine)
        examples = [command for command in RUN_EXAMPLES if name_group(command) == group]
        for done in run_commands(examples, replace(EXAMPLE_STORY, prepare=lambda machine: None), machine):
            _check(done, EXAMPLE_STORY)


def test_every_example_that_is_not_run_has_a_reason() -> None:
    texts = [command.text for command in EXAMPLES]
    starts = [start for each in NOT_RUN.values() for start in each]
    assert [start for start in starts if not any(f"{text}\n".startswith(start) for text in texts)] == []
    for command in EXAMPLES:
        reason = find_example_reason(command)
        if reason is not None:
            print(f"{command.place}: $ {command.text}: {reason}")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, id=f"{command.place} {command.text.split()[0]}")
        for page, story in STORIES.items()
        for command in read_commands(page)
        if find_reason(command, story)
    ],
)
def test_a_command_that_is_not_run_has_a_reason(command: ShownCommand) -> None:
    pytest.skip(f"{command.place}: $ {command.text}: {find_reason(command, STORIES[command.page])}")


def test_the_story_of_the_examples_names_only_examples() -> None:
    texts = {command.text for command in EXAMPLES}
    named = {*EXAMPLE_STORY.before, *EXAMPLE_STORY.dialogs, *EXAMPLE_STORY.servers, *EXAMPLE_STORY.statuses}
    assert sorted(named - texts) == []


@pytest.mark.parametrize("page", sorted(STORIES))
def test_a_story_names_only_commands_of_its_page(page: str) -> None:
    story = STORIES[page]
    texts = [command.text for command in read_commands(page)]
    named = {*story.before, *story.dialogs, *story.servers, *story.statuses}
    assert sorted(named - set(texts)) == []
    assert [start for start in story.not_run if not any(text.startswith(start) for text in texts)] == []
    assert [name for name in story.names if not any(name in text for text in texts)] == []
