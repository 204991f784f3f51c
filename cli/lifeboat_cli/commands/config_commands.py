"""`lifeboat config`: every setting with its value, source and effect."""

from __future__ import annotations

import sys

import click
import msgspec

from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.lazy_group import DefaultCommandGroup
from lifeboat_cli.terminal.option_types import AGENT, SETTING
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import home_lock
from lifeboat_core.documents.setting_documents import Setting, Settings
from lifeboat_core.errors import BadSetting
from lifeboat_core.settings import config_file as settings
from lifeboat_core.settings.config_file import SettingValue
from lifeboat_core.settings.settings_table import CHOICE, SWITCHES, find_setting
from lifeboat_core.texts import misplaced_words
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_daemon.control.poke_daemon import wake_daemon

_NOT_SHOWN = "(a value is set, but not shown)"
_TEXTS = (CHOICE, "cron", "command", "path", "address")
_LONGEST = 64 * 1024
"""Characters of a value on standard input."""


@click.group(cls=DefaultCommandGroup, default="list")
def config() -> None:
    """Show or change settings."""


def _document(value: SettingValue) -> Setting:
    """Return the document of a setting. For a private one it says only whether it is set."""
    known = find_setting(value.name)
    return Setting(
        name=value.name,
        value=None if value.private else value.written,
        source=value.source,
        effect=value.effect,
        default=known.default,
        kind=known.kind,
        choices=known.choices,
        example=known.example,
        per_agent=known.per_agent,
        private=known.private,
        is_set=bool(value.value) if value.private else msgspec.UNSET,
    )


def _agent(session: CommandSession, name: str | None) -> Agent | None:
    return agents.find_agent(session.context, name) if name else None


@config.command("list")
@click.argument("agent", required=False, type=AGENT)
@pager_option
@session_command
def list_settings(session: CommandSession, agent: str | None) -> None:
    """List every setting with its value, its source and its effect. With AGENT: show the values that apply to this
    agent.
    """
    found = _agent(session, agent)
    loaded = session.context.config()
    problem = None if loaded.problem is None else loaded.problem.message
    if problem:
        session.output.warn(f"{problem}; the last valid settings are in use")
    values = loaded.all(found.settings if found else None)
    rows = [(value.name, _written(value), value.source, value.effect) for value in values]
    document = Settings(tuple(_document(value) for value in values), problem)

    def text() -> None:
        with session.output.pager():
            session.output.table(("setting", "value", "source", "effect"), rows, TableFit(shorten=("value", "source")))

    session.output.document(document, text)


@config.command("get")
@click.argument("name", type=SETTING)
@click.argument("agent", required=False, type=AGENT)
@session_command
def get_setting(session: CommandSession, name: str, agent: str | None) -> None:
    """Show the value of a setting."""
    found = _agent(session, agent)
    value = session.context.config().get(name, found.settings if found else None)
    session.output.document(_document(value), lambda: session.output.line(_written(value)))


@config.command(
    "set",
    epilog=format_examples(
        "lifeboat config set cadence after_session",
        "lifeboat config set transcripts true --agent Juniper",
        "lifeboat config set cadence --default",
        "lifeboat config set ping.url --stdin < address.txt",
    ),
)
@click.argument("name", type=SETTING)
@click.argument("value", required=False)
@click.option("--agent", type=AGENT, help="Change the setting for this agent only (default: for all agents).")
@click.option("--default", "to_default", is_flag=True, help="Reset the setting to its default.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the new value from standard input.")
@session_command
def set_setting(
    session: CommandSession, name: str, value: str | None, agent: str | None, to_default: bool, from_stdin: bool
) -> None:
    """Change a setting. An invalid value is refused.

    A setting that contains an address is private, because anyone who knows the address can use it. Private settings
    are stored separately and never shown. Pass their values with --stdin.
    """
    if [value is not None, to_default, from_stdin].count(True) != 1:
        raise click.UsageError("Give a VALUE, --stdin or --default.")
    written = None if to_default else _given(session, name, value, "set")
    found = _agent(session, agent)
    with home_lock(session.context, "config set"):
        if found is None:
            now = settings.write_config(session.context.home, session.context.files, name, written).get(name)
        else:
            changed = agents.write_setting(session.context, found, name, written)
            now = session.context.config().get(name, changed.settings)
    wake_daemon(session.context)
    warning = find_setting(name).warning
    if warning and now.value:
        session.output.warn(warning)
    said = f"{now.name} = {_written(now)} ({now.source if found is None else f'{found.name}, {now.source}'})"
    session.output.document(_document(now), lambda: session.output.line(said))


@config.command(
    epilog=format_examples(
        "lifeboat config check retention.daily 60d",
        "lifeboat config check cadence after_session --agent Juniper",
        "lifeboat config check ping.url --stdin < address.txt",
    )
)
@click.argument("name", type=SETTING)
@click.argument("value", required=False)
@click.option("--agent", type=AGENT, help="Check the value for this agent only (default: for all agents).")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the value from standard input.")
@session_command
def check(session: CommandSession, name: str, value: str | None, agent: str | None, from_stdin: bool) -> None:
    """Check whether a setting accepts a value; change nothing. Exit with 1, and print the reason, if the
    value is not valid.
    """
    if (value is not None) == from_stdin:
        raise click.UsageError("Give a VALUE or --stdin.")
    known = find_setting(name)
    written = _given(session, name, value, "check")
    settings.check_settings({name: written}, per_agent=_agent(session, agent) is not None)
    document = {"ok": True, "name": name, "kind": known.kind, "value": None if known.private else written}
    session.output.document(document, lambda: session.output.line(f"{name} accepts this value."))


def _given(session: CommandSession, name: str, value: str | None, command: str) -> object:
    """Return the value from the command line or from standard input. Raises ConfigError.UNKNOWN_SETTING, BadSetting."""
    if value is None:
        return _natural(name, _from_stdin(session, name))
    if find_setting(name).private and value != "none":
        typed = f"lifeboat config {command} {quote_argument(name)} --stdin"
        session.output.warn(f"the value of {name} is now in your shell's history; next time use: {typed}")
    return _natural(name, value)


def _from_stdin(session: CommandSession, name: str) -> str:
    """Read one line. Raises BadSetting if there is none, or more than one."""
    if sys.stdin.isatty():
        session.output.note(f"Type the value of {name}, then press Enter:")
        text = sys.stdin.readline()
    else:
        text = sys.stdin.read(_LONGEST)
    lines = text.strip().splitlines()
    if len(lines) != 1:
        raise BadSetting(f"{name}: standard input must contain one line, but contains {len(lines)}")
    return misplaced_words.refuse_in_field(f"the value of {name}", lines[0])


def _written(value: SettingValue) -> object:
    """Format a value as TOML does. For a private setting, say only whether it is set."""
    if value.private and value.value:
        return _NOT_SHOWN
    return str(value.written).lower() if isinstance(value.written, bool) else value.written


def _natural(name: str, text: str) -> object:
    """Parse numbers and switches as TOML does, and everything else as text: `yes` may be one word of several."""
    if find_setting(name).kind in _TEXTS:
        return text
    if text.lower() in SWITCHES:
        return SWITCHES[text.lower()]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
