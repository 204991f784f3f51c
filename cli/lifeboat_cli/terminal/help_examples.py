"""Examples and the list of commands, which both the help and the documentation show."""

from __future__ import annotations

from collections.abc import Iterator

import click

HEADING = "Examples:"


def format_examples(*commands: str) -> str:
    """Return the epilog of a command: each example as it is typed, on a separate line."""
    return "\n".join(("\b", HEADING, *(f"  {command}" for command in commands)))


def parse_examples(epilog: str | None) -> list[str]:
    """Return the commands of such an epilog."""
    lines = (epilog or "").splitlines()
    return [line.strip() for line in lines[lines.index(HEADING) + 1 :]] if HEADING in lines else []


def walk_commands(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that can be typed and is not hidden, in the order of the help, with its words."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        if child is not None and not child.hidden:
            yield from walk_commands(f"{words} {name}", child)
