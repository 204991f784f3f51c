"""Command groups that import a command's module when it is used, so that a command does not load the others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import NamedTuple

import click


class ListedCommand(NamedTuple):
    """A command as a list of commands shows it: `place` is "module:attribute", `summary` its line."""

    place: str
    summary: str


class LazyGroup(click.Group):
    """A group that also has the commands of `{name: "module:attribute"}`, listed after its own in the given order."""

    def __init__(self, *args: object, lazy: Mapping[str, str] = MappingProxyType({}), **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*(name for name in self.commands if name not in self._lazy), *self._lazy]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, attribute = self._lazy[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:  # click only knows the commands that are loaded
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=self.list_commands(ctx), ctx=ctx
            ) from None


class SectionedGroup(LazyGroup):
    """A lazy group that lists its commands in sections, `{heading: {name: command}}`, without importing them."""

    def __init__(self, *args: object, sections: Mapping[str, Mapping[str, ListedCommand]], **kwargs: object) -> None:
        lazy = {name: command.place for section in sections.values() for name, command in section.items()}
        super().__init__(*args, lazy=lazy, **kwargs)
        self._sections = sections

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(len(name) for name in self._lazy)
        for heading, section in self._sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), command.summary) for name, command in section.items()])


class DefaultCommandGroup(LazyGroup):
    """A lazy group that runs its command `default` when none is named: `lifeboat agents --json` lists agents."""

    def __init__(self, *args: object, default: str, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args == ["--json"]:
            args = [self._default, *args]
        return super().parse_args(ctx, args)
