"""Command groups whose modules are imported when they are used: a command does not pay for the others."""

from __future__ import annotations

from importlib import import_module

import click


class LazyGroup(click.Group):
    """A group that knows commands as `{name: "module:attribute"}`, behind its own ones in the order people should read
    them."""

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
