"""Command groups that import a command's module when it is used, so that a command does not load the others."""

from __future__ import annotations

from importlib import import_module

import click


class LazyGroup(click.Group):
    """A group that also has the commands of `{name: "module:attribute"}`, listed after its own in the given order."""

    def __init__(self, *args: object, lazy: dict[str, str], **kwargs: object) -> None:
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
