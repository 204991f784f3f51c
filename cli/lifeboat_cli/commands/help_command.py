"""`lifeboat help`: the help of a command, as `--help` behind it shows it."""

from __future__ import annotations

import click

from lifeboat_cli.terminal.command_session import is_json_wanted
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.output import CommandOutput


@click.command("help", epilog=format_examples("lifeboat help restore", "lifeboat help keys init"))
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def show_help(context: click.Context, words: tuple[str, ...], as_json: bool) -> None:
    """Show the help of a command, or list all commands."""
    shown = context.find_root()
    for word in words:
        if not isinstance(shown.command, click.Group):
            raise click.UsageError(f"{shown.command_path!r} has no subcommands.", ctx=shown)
        _, command, _ = shown.command.resolve_command(shown, [word])
        assert command is not None
        shown = click.Context(command, info_name=word, parent=shown)
    text = shown.get_help()
    output = CommandOutput(as_json=as_json or is_json_wanted())
    output.document({"command": shown.command_path, "help": text}, lambda: output.block(text))
