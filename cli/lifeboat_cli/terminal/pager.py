"""The pager that shows long lists on a terminal: `$LIFEBOAT_PAGER`, else `$PAGER`, else `less`."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from rich.console import Console

VARIABLES = ("LIFEBOAT_PAGER", "PAGER")
LESS_OPTIONS = "FRX"
"""`less` ends by itself if everything fits (F), shows colours (R), and leaves the text on the screen (X)."""
_UNWANTED = "lifeboat_cli.no_pager"
Function = TypeVar("Function", bound=Callable[..., Any])


def pager_option(function: Function) -> Function:
    """Give a command `--no-pager`."""
    return click.option(
        "--no-pager",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_remember_option,
        help="Print a long list without a pager.",
    )(function)


def _remember_option(context: click.Context, _: click.Parameter, unwanted: bool) -> None:
    if unwanted:
        context.find_root().meta[_UNWANTED] = True


def is_pager_wanted() -> bool:
    """Return whether `--no-pager` was not given, neither before the command nor after it."""
    context = click.get_current_context(silent=True)
    return context is None or not context.find_root().meta.get(_UNWANTED)


def show_in_pager(text: str, console: Console, environment: Mapping[str, str] | None = None) -> None:
    """Show a text in the pager, or print it if it fits the screen or no pager can be started.

    A pager that is left before the end is no error. Raises BrokenPipeError only without a pager.
    """
    known = os.environ if environment is None else environment
    command = None if len(text.splitlines()) < console.height else choose_pager(known)
    if command is None or not _run_pager(command, text, {"LESS": LESS_OPTIONS, **known}):
        console.file.write(text)
        console.file.flush()


def choose_pager(environment: Mapping[str, str]) -> list[str] | None:
    """Return the command of the pager; None for `cat`, an empty variable, or without any pager."""
    for name in VARIABLES:
        if name in environment:
            try:
                command = shlex.split(environment[name])
            except ValueError:  # an open quotation mark
                return None
            return command if command and command != ["cat"] else None
    found = shutil.which("less", path=environment.get("PATH"))
    return None if found is None else [found]


def _run_pager(command: list[str], text: str, environment: Mapping[str, str]) -> bool:
    """Return False if the pager cannot be started."""
    shown = text if _shows_colours(command, environment["LESS"]) else click.unstyle(text)
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=dict(environment))
    except OSError:
        return False
    assert pager.stdin is not None
    with contextlib.suppress(OSError, KeyboardInterrupt):
        pager.stdin.write(shown.encode(errors="backslashreplace"))
    with contextlib.suppress(OSError):
        pager.stdin.close()
    while pager.poll() is None:
        with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is for the pager
            pager.wait()
    return True


def _shows_colours(command: list[str], less_options: str) -> bool:
    if os.path.basename(command[0]) != "less":
        return False
    short = [each for each in command[1:] if not each.startswith("--")]
    return "R" in less_options or any("R" in each for each in short) or "--RAW-CONTROL-CHARS" in command
