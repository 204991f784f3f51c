"""What every command needs: the home it works on, and a voice."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from lifeboat_daemon.cli.output import Output
from lifeboat_daemon.context import Context

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Session:
    context: Context
    output: Output


def session_command(
    function: Callable[Concatenate[Session, Parameters], Result],
) -> Callable[..., Result]:
    """Give a command `--json` and a Session as its first argument.

    Opening the session rolls an interrupted restore forward first: whoever starts next finishes it.
    """

    @click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
    @functools.wraps(function)
    def run(*arguments: Any, as_json: bool, **options: Any) -> Result:
        return function(open_session(as_json=as_json), *arguments, **options)

    return run


def open_session(*, as_json: bool) -> Session:
    """Find the home, and finish what a crash interrupted."""
    from lifeboat_daemon.restore import recover

    context = Context.open()
    output = Output(as_json=as_json)
    for sentence in recover(context):
        output.warn(sentence)
    return Session(context, output)
