"""`lifeboat` and `lifeboat tui`: the dashboard on a terminal, and the equivalent command everywhere else."""

from __future__ import annotations

import locale
import os
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any

import click

from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT
from lifeboat_core.errors import UnexpectedError
from lifeboat_core.home.context import Context
from lifeboat_keys.installers import reinstall_command

TWINS = {
    "dashboard": ("status",),
    "timeline": ("timeline", "AGENT"),
    "memories": ("records", "list", "AGENT"),
    "restore": ("restore", "AGENT", "--dry-run"),
    "purge": ("purge", "AGENT", "--dry-run"),
    "activity": ("log",),
    "keys": ("keys", "status"),
    "remotes": ("remote", "list"),
    "receipts": ("receipts", "list"),
    "settings": ("config", "list"),
    "doctor": ("doctor",),
    "setup": ("setup",),
}
"""Screens, and the equivalent command without a terminal."""
GROUP = "lifeboat.dashboard"
"""The entry point that opens the dashboard. Nothing of the dashboard is imported before."""

OF_DEVELOPERS = ("TEXTUAL", "TEXTUAL_LOG", "TEXTUAL_DEBUG", "TEXTUAL_PRESS", "TEXTUAL_SCREENSHOT")
"""Variables with which Textual would log, transmit or simulate key presses, including those of a passphrase."""


@click.command(
    short_help="Open the dashboard in the terminal.",
    epilog=format_examples(
        "lifeboat",
        "lifeboat tui timeline Juniper",
        "lifeboat tui --readonly",
        "lifeboat tui --demo",
        "lifeboat tui keys",
    ),
)
@click.argument("screen", type=click.Choice(list(TWINS)), default="dashboard")
@click.argument("agent", required=False, type=AGENT)
@click.option("--readonly", is_flag=True, help="Allow no changes, restores or purges in the dashboard.")
@click.option("--demo", is_flag=True, help="Show an invented home with recorded data; change nothing.")
@click.option("--ascii", "as_ascii", is_flag=True, help="Use ASCII characters only.")
@click.option(
    "--theme", type=click.Choice(["lifeboat", "lifeboat-light", "lifeboat-contrast", "ansi"]), help="Colours."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the JSON document of the matching command instead of opening the dashboard.",
)
@click.pass_context
def tui(
    ctx: click.Context,
    screen: str,
    agent: str | None,
    readonly: bool,
    demo: bool,
    as_ascii: bool,
    theme: str | None,
    as_json: bool,
) -> int:
    """Open the dashboard, which shows agents, timelines, restores, purges, keys and settings.

    If the terminal cannot draw the dashboard, or there is no terminal, the matching command runs instead. For
    example, `lifeboat tui timeline Juniper` then runs `lifeboat timeline Juniper`.
    """
    if demo and not can_draw():
        raise click.UsageError(
            "`lifeboat tui --demo` needs a terminal. To see a demonstration without a terminal: lifeboat demo"
        )
    if as_json or not can_draw():
        return run_twin(ctx, screen, agent, as_json=as_json)
    return open_dashboard(screen, agent, readonly=readonly, demo=demo, as_ascii=as_ascii, theme=theme)


def can_draw() -> bool:
    """Return whether a user sits at a terminal that can display a screen."""
    streams = (sys.stdin, sys.stdout)
    is_terminal = all(stream is not None and stream.isatty() for stream in streams)
    return is_terminal and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def run_twin(ctx: click.Context, screen: str, agent: str | None, *, as_json: bool) -> int:
    """Run the equivalent command. Raises UsageError if it needs an agent and none is named."""
    words = TWINS[screen]
    if "AGENT" in words and agent is None:
        raise click.UsageError(f"The screen {screen} needs the name of an agent: lifeboat tui {screen} AGENT")
    arguments = [str(agent) if word == "AGENT" else word for word in words] + (["--json"] if as_json else [])
    program = ctx.find_root().command
    result = program.main(arguments, prog_name="lifeboat", standalone_mode=False)
    return result if isinstance(result, int) else 0


def open_dashboard(
    screen: str = "dashboard",
    agent: str | None = None,
    *,
    readonly: bool = False,
    demo: bool = False,
    as_ascii: bool = False,
    theme: str | None = None,
) -> int:
    """Open the dashboard on this terminal and return its exit status. Raises UnexpectedError if it is not installed,
    HomeError, Busy."""
    look = _DashboardAppearance.of_settings() if not demo else _DashboardAppearance()
    status: int = _opener()(
        screen=screen,
        agent=agent,
        readonly=readonly,
        demo=demo,
        ascii=as_ascii or look.ascii == "yes" or (look.ascii == "auto" and not _knows_signs()),
        theme=theme or look.theme,
    )
    return status


class _DashboardAppearance:
    """The settings `dashboard.theme` and `dashboard.ascii`."""

    def __init__(self, theme: str = "lifeboat", ascii: str = "auto") -> None:
        self.theme, self.ascii = theme, ascii

    @classmethod
    def of_settings(cls) -> _DashboardAppearance:
        config = Context.open().config()
        return cls(str(config.get("dashboard.theme").value), str(config.get("dashboard.ascii").value))


def _knows_signs() -> bool:
    """Return whether this terminal displays UTF-8."""
    return locale.getpreferredencoding(do_setlocale=False).replace("-", "").casefold() == "utf8"


def _opener() -> Callable[..., Any]:
    for name in OF_DEVELOPERS:  # Textual reads them when it is imported.
        os.environ.pop(name, None)
    for found in metadata.entry_points(group=GROUP):
        opener: Callable[..., Any] = found.load()
        return opener
    raise UnexpectedError("the dashboard is not installed", fix=reinstall_command())
