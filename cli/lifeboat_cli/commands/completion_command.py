"""`lifeboat completion`: the completion script of a shell, for commands, options and agents' names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from lifeboat_cli.terminal.command_session import is_json_wanted
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.output import CommandOutput


@click.command(
    short_help="Print the script that completes commands and names in a shell.",
    epilog=format_examples(
        'eval "$(lifeboat completion bash)"', "lifeboat completion fish > ~/.config/fish/completions/lifeboat.fish"
    ),
)
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="Print the script inside one JSON document.")
def completion(shell: str, as_json: bool) -> None:
    """Print the completion script for SHELL: bash, zsh or fish.

    With this script, the shell completes commands, options, settings, agents and sequence numbers.
    """
    from lifeboat_cli.program import program

    kind = get_completion_class(shell)
    assert kind is not None, "click completes all three"
    script = kind(program, {}, "lifeboat", "_LIFEBOAT_COMPLETE").source()
    output = CommandOutput(as_json=as_json or is_json_wanted())
    output.document({"shell": shell, "script": script}, lambda: click.echo(script))
