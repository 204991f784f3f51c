"""Types of arguments and options, with completion of names in the shell."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.texts.readable_json import is_utf8

Names = Callable[[click.Context], Iterable[str]]


class NameOption(click.ParamType[str]):
    """A name or something equivalent. The shell completes the names; nothing is checked here."""

    def __init__(self, name: str, names: Names) -> None:
        self.name = name
        self._names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the matching names, or nothing if the home cannot be read: a completion must not print an error."""
        try:
            found = list(self._names(ctx))
        except (LifeboatError, OSError):
            return []
        return [CompletionItem(name) for name in found if name.casefold().startswith(incomplete.casefold())]


class TextOption(click.ParamType[str]):
    """Text that a memory may contain, which is UTF-8."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_utf8(str(value)):
            self.fail("the text is not UTF-8", param, ctx)
        return str(value)


class PathPairOption(click.ParamType[tuple[str, str]]):
    """Two absolute paths, `OLD=NEW`."""

    name = "paths"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        old, sign, new = str(value).partition("=")
        paths = [os.path.expanduser(path) for path in (old, new)]
        if not sign or not all(os.path.isabs(path) for path in paths):
            self.fail(f"expected OLD=NEW with two absolute paths, but got {value!r}", param, ctx)
        first, second = (os.path.normpath(path) for path in paths)
        return first, second


class DurationOption(click.ParamType[int]):
    """Seconds, written as `30m`, `2h` or `7d`; never 0."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from lifeboat_core.settings.settings_table import parse_duration

        try:
            if seconds := parse_duration(value):
                return seconds
        except ValueError as error:
            self.fail(f"{value!r} is not {error}", param, ctx)
        self.fail("the time must be longer than 0", param, ctx)


class SizeOption(click.ParamType[int]):
    """Bytes, written as `100KB`, `50MB` or `2GB`; never 0."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from lifeboat_core.settings.settings_table import parse_size

        try:
            if size := parse_size(value):
                return size
        except ValueError as error:
            self.fail(f"{value!r} is not {error}", param, ctx)
        self.fail("the size must be larger than 0", param, ctx)


def _agents(ctx: click.Context) -> Iterable[str]:
    from lifeboat_core.agents import agent
    from lifeboat_core.home.context import Context

    return [one.name for one in agent.list_agents(Context.open())]


def _moments(ctx: click.Context) -> Iterable[str]:
    """Return the sequences of the agent named earlier on the line, newest first."""
    from lifeboat_core.agents import agent
    from lifeboat_core.home.context import Context

    named = ctx.params.get("agent") or next(iter(ctx.args), None)
    if named is None:
        return []
    context = Context.open()
    with context.vault(agent.find_agent(context, named).id) as vault:
        return [str(row.number) for row in vault.sequences()][::-1]


def _runtimes(ctx: click.Context) -> Iterable[str]:
    from lifeboat_adapters import adapter_registry
    from lifeboat_core.home.context import Context

    return adapter_registry.list_runtimes(Context.open().home.profiles_folder)


def _settings(ctx: click.Context) -> Iterable[str]:
    from lifeboat_core.settings.settings_table import SETTINGS

    return SETTINGS


def _remotes(ctx: click.Context) -> Iterable[str]:
    from lifeboat_core.home.context import Context
    from lifeboat_core.remotes import remote_registry

    return [one.name for one in remote_registry.list_remotes(Context.open())]


AGENT = NameOption("agent", _agents)
MOMENT = NameOption("moment", _moments)
REMOTE = NameOption("remote", _remotes)
RUNTIME = NameOption("runtime", _runtimes)
SETTING = NameOption("setting", _settings)
PATH_PAIR = PathPairOption()
DURATION = DurationOption()
SIZE = SizeOption()
TEXT = TextOption()
COUNT = click.IntRange(min=1)
