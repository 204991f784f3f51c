"""The program `lifeboat`: its commands, and how it ends."""

from __future__ import annotations

import io
import os
import sys

import click

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli import INTERRUPTED
from lifeboat_cli.terminal import command_again
from lifeboat_cli.terminal.fixable_usage_error import FixableUsageError
from lifeboat_cli.terminal.lazy_group import ListedCommand, SectionedGroup
from lifeboat_cli.terminal.output import CommandOutput, end_question_line
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_core.errors import DiskFull, UnexpectedError
from lifeboat_core.system_refusals import convert_error
from lifeboat_core.texts import misplaced_words
from lifeboat_core.texts.safe_text import block_text, json_text
from lifeboat_keys.hardening import disable_core_dumps

SECTIONS = {
    "Start": {
        "setup": ListedCommand("lifeboat_cli.setup.setup_command:setup", "Protect your agents, or restore one."),
        "demo": ListedCommand("lifeboat_cli.commands.demo_command:demo", "Try Lifeboat with an invented agent."),
        "tui": ListedCommand("lifeboat_cli.commands.tui_command:tui", "Open the dashboard."),
        "help": ListedCommand("lifeboat_cli.commands.help_command:show_help", "Show the help of a command."),
    },
    "Agents": {
        "agents": ListedCommand(
            "lifeboat_cli.agents.agent_commands:agents", "Find, add, pause, move or remove agents."
        ),
        "status": ListedCommand("lifeboat_cli.status.status_command:status", "Show whether every agent is safe."),
        "sync": ListedCommand("lifeboat_cli.commands.sync_command:sync", "Capture changes and push them to remotes."),
        "verify": ListedCommand(
            "lifeboat_cli.restore.restore_commands:verify", "Restore into a temporary directory and compare every byte."
        ),
    },
    "History": {
        "timeline": ListedCommand("lifeboat_cli.history.history_commands:timeline", "List the sequences of an agent."),
        "diff": ListedCommand("lifeboat_cli.history.history_commands:diff", "Compare two sequences."),
        "blame": ListedCommand(
            "lifeboat_cli.history.blame_command:blame", "Show which sequence wrote each line of a file."
        ),
        "search": ListedCommand(
            "lifeboat_cli.history.history_commands:search", "Search an agent's memories, or its whole history."
        ),
        "records": ListedCommand(
            "lifeboat_cli.history.record_commands:records", "List, show, undo, forget, restore or pin memories."
        ),
        "review": ListedCommand(
            "lifeboat_cli.history.review_command:review", "Review what agents changed in their memories."
        ),
        "label": ListedCommand(
            "lifeboat_cli.history.history_commands:label", "Name a sequence. Named sequences are never deleted."
        ),
        "proposals": ListedCommand(
            "lifeboat_cli.proposals.proposal_commands:proposals", "Accept or reject what agents propose."
        ),
        "log": ListedCommand("lifeboat_cli.history.log_command:log", "Show what was done with the agents, and when."),
    },
    "Restore and purge": {
        "restore": ListedCommand(
            "lifeboat_cli.restore.restore_commands:restore", "Restore an agent, whole or in part, as of any sequence."
        ),
        "undo": ListedCommand("lifeboat_cli.restore.restore_commands:undo", "Undo the last restore."),
        "purge": ListedCommand(
            "lifeboat_cli.purge.purge_commands:purge", "Destroy a text or memory in every copy, with a receipt."
        ),
        "receipts": ListedCommand(
            "lifeboat_cli.purge.receipt_commands:purge_receipts", "Show and check receipts of purges."
        ),
    },
    "Keys and remotes": {
        "keys": ListedCommand("lifeboat_cli.keys.key_commands:keys", "Manage your key and its 24 recovery words."),
        "remote": ListedCommand(
            "lifeboat_cli.remote.remote_commands:remote", "Manage copies of agents on other machines or disks."
        ),
        "endpoint": ListedCommand("lifeboat_cli.endpoint:endpoint", "Run a server that stores copies of agents."),
    },
    "Service": {
        "daemon": ListedCommand(
            "lifeboat_cli.commands.daemon_commands:daemon", "Control the daemon, which captures changes."
        ),
        "service": ListedCommand("lifeboat_cli.commands.service_commands:service", "Start the daemon at every login."),
        "mcp": ListedCommand("lifeboat_cli.mcp.mcp_command:mcp", "Let an agent read its own past over MCP."),
        "config": ListedCommand("lifeboat_cli.commands.config_commands:config", "Show or change settings."),
        "doctor": ListedCommand("lifeboat_cli.commands.doctor_command:doctor", "Find problems and how to fix them."),
    },
    "Formats and shells": {
        "alf": ListedCommand("lifeboat_cli.archives.alf_commands:alf", "Export, import, check or convert archives."),
        "profiles": ListedCommand(
            "lifeboat_cli.profiles.profile_commands:profiles", "List and test the files that describe unknown runtimes."
        ),
        "completion": ListedCommand(
            "lifeboat_cli.commands.completion_command:completion", "Print a completion script for bash, zsh or fish."
        ),
    },
}
"""The commands in the order people should read them."""


class ProgramGroup(SectionedGroup):
    """The group of all commands. Recovery words on a command line are refused before anything reads, repeats or stores
    them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        misplaced_words.refuse_in_arguments(args)
        misplaced_words.refuse_in_environment(os.environ)
        command_again.remember_command(ctx, args)
        return super().parse_args(ctx, args)


@click.group(
    cls=ProgramGroup,
    sections=SECTIONS,
    invoke_without_command=True,
    context_settings={"max_content_width": 110, "help_option_names": ["-h", "--help"]},
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, wanted: _show_version(context) if wanted else None,
    help="Print the versions of the program, Python, platform and libraries.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    is_eager=True,
    help="Print one JSON document instead of text. Also accepted after the name of a command.",
)
@pager_option
@click.pass_context
def program(context: click.Context, as_json: bool) -> None:
    """Back up AI agents: capture every change, and restore every captured state byte for byte.

    Without a command, Lifeboat opens the dashboard if it runs on a terminal. If not, it runs `status`. AGENT is the
    name, id or workspace of an agent.
    """
    if context.invoked_subcommand is None:
        shown = program.get_command(context, "tui")
        assert shown is not None
        context.exit(context.invoke(shown, screen="dashboard", as_json=as_json))


def _show_version(context: click.Context) -> None:
    """Print the versions. The module is imported only here because it inspects the installed distributions."""
    from lifeboat_alf.common import json_codec
    from lifeboat_cli.support.running_versions import running_versions, version_lines

    if context.params.get("as_json"):
        click.echo(json_text(json_codec.encode_pretty(running_versions()).decode()))
    else:
        click.echo(block_text("\n".join(version_lines())))
    context.exit()


def run_program(arguments: list[str]) -> int:
    """Run a command of this process and return its exit status. Core dumps are disabled, because a crash must not write
    the key into a file."""
    disable_core_dumps()
    return run_command(arguments)


def run_command(arguments: list[str]) -> int:
    """Run a command and return its exit status. Every failure is printed once, in the requested form."""
    as_json = "--json" in arguments
    _prepare_streams(as_json=as_json)
    output = CommandOutput(as_json=as_json)
    return _flushed(_ended(output, arguments))


def _prepare_streams(*, as_json: bool) -> None:
    """Prepare the streams: text that the terminal's encoding cannot represent is escaped; JSON is UTF-8 everywhere (RFC
    8259)."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, io.StringIO())
        elif isinstance(stream, io.TextIOWrapper):
            encoding = "utf-8" if as_json and name == "stdout" else stream.encoding
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _flushed(status: int) -> int:
    """Return the exit status after the output has been flushed."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
    except OSError as error:
        _silence()
        if status == 0:
            CommandOutput(as_json=False).error(
                DiskFull(f"the result of the command could not be printed: {error.strerror}")
            )
        return status or DiskFull.exit_status
    return status


def _silence() -> None:
    """Discard buffered output: Python flushes once more when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _ended(output: CommandOutput, arguments: list[str]) -> int:
    try:
        result = program.main(arguments, prog_name="lifeboat", standalone_mode=False)
    except click.UsageError as error:
        _say_usage(output, error)
        return 2
    except (click.Abort, KeyboardInterrupt) as error:
        end_question_line(error)
        output.note("The command was stopped. No change was left incomplete.")
        return INTERRUPTED
    except BrokenPipeError:
        _silence()
        return 0
    except Exception as error:
        return _say(output, error)
    return result if isinstance(result, int) else 0


def _say(output: CommandOutput, error: Exception) -> int:
    if isinstance(error, click.ClickException):
        known: LifeboatError = UnexpectedError(error.format_message())
    elif os.environ.get("LIFEBOAT_DEBUG") and not isinstance(error, LifeboatError):
        raise error
    else:
        known = convert_error(error)
    try:
        output.error(known)
    except OSError:
        _silence()
        CommandOutput(as_json=False).error(known)
    return known.exit_status


def _say_usage(output: CommandOutput, error: click.UsageError) -> None:
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # its message is the whole help
        if not output.as_json:
            click.echo(block_text(message), err=True)
            return
        message = "Give the name of a command in this group."
    usage = LifeboatError(message, fix=_help_command(error))
    usage.code, usage.title = "usage", "Invalid command line"
    output.error(usage)


def _help_command(error: click.UsageError) -> str:
    if isinstance(error, FixableUsageError):
        return error.fix
    path = error.ctx.command_path if error.ctx is not None else "lifeboat"
    if isinstance(error, click.exceptions.NoSuchCommand) and error.possibilities:
        return f"{path} {error.possibilities[0]}"
    return f"{path} --help"
