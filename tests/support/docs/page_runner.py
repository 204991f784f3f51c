"""Runs the commands of a page in its order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from support.docs.page_machine import PageMachine
from support.docs.page_stories import PageStory
from support.docs.shown_commands import ShownCommand


@dataclass(frozen=True)
class CommandRun:
    """One command of a page with its exit status and its output, in which the reader's home is /srv/ada."""

    command: ShownCommand
    status: int
    said: str


def find_reason(command: ShownCommand, story: PageStory) -> str | None:
    """Return why a command is not run, or None."""
    return next((reason for start, reason in story.not_run.items() if command.text.startswith(start)), None)


def run_commands(commands: list[ShownCommand], story: PageStory, machine: PageMachine) -> Iterator[CommandRun]:
    """Prepare a machine for a page and run the commands that can run."""
    story.prepare(machine)
    for command in commands:
        if find_reason(command, story) is None:
            yield _run_command(command, story, machine)


def _run_command(command: ShownCommand, story: PageStory, machine: PageMachine) -> CommandRun:
    if command.text in story.before:
        story.before[command.text](machine)
    typed = story.complete(machine.relocate(command.text), machine)
    for name, find in story.names.items():
        typed = typed.replace(name, find(machine)) if name in typed else typed
    status = 0
    if command.text in story.servers:
        said = machine.start_in_terminal(typed, story.servers[command.text])
    elif command.text in story.dialogs:
        status, said = machine.run_in_terminal(typed, story.dialogs[command.text])
    else:
        status, said = machine.run(typed)
    return CommandRun(command, status, machine.hide_folders(said))
