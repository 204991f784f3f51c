"""`lifeboat completion`: what a shell needs to complete commands, options and agents' names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from lifeboat_alf.errors import LifeboatError


class UnknownShell(LifeboatError):
    code = "unknown_shell"
    title = "There is no completion for this shell"
    fix = "lifeboat completion bash"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell: `eval "$(lifeboat completion bash)"`."""
    from lifeboat_daemon.cli.program import program

    kind = get_completion_class(shell)
    if kind is None:
        raise UnknownShell(f"{shell} is not supported by this version")
    click.echo(kind(program, {}, "lifeboat", "_LIFEBOAT_COMPLETE").source())
