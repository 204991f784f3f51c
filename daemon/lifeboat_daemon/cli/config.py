"""`lifeboat config`: every setting with its value, where it comes from and what it does."""

from __future__ import annotations

import click

from lifeboat_daemon import agent as agents
from lifeboat_daemon import config as settings
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.cli.session import Session, session_command
from lifeboat_daemon.config import Value


@click.group()
def config() -> None:
    """Settings: each with its value, its source and its effect."""


def _document(value: Value) -> dict[str, object]:
    return {"name": value.name, "value": value.written, "source": value.source, "effect": value.effect}


def _agent(session: Session, name: str | None) -> Agent | None:
    return agents.find(session.context, name) if name else None


@config.command("list")
@click.argument("agent", required=False)
@session_command
def list_settings(session: Session, agent: str | None) -> None:
    """Every setting; with AGENT, as they hold for this agent."""
    found = _agent(session, agent)
    loaded = session.context.config()
    if loaded.problem:
        session.output.warn(f"{loaded.problem}; the last good settings are in force")
    values = loaded.all(found.settings if found else None)
    rows = [(value.name, value.written, value.source, value.effect) for value in values]
    document = {"settings": [_document(value) for value in values], "problem": loaded.problem}
    session.output.document(document, lambda: session.output.table(("setting", "value", "source", "effect"), rows))


@config.command("get")
@click.argument("name")
@click.argument("agent", required=False)
@session_command
def get_setting(session: Session, name: str, agent: str | None) -> None:
    """One setting."""
    found = _agent(session, agent)
    value = session.context.config().get(name, found.settings if found else None)
    session.output.document(_document(value), lambda: session.output.line(value.written))


@config.command("set")
@click.argument("name")
@click.argument("value", required=False)
@click.option("--agent", help="Only for this agent.")
@click.option("--default", "to_default", is_flag=True, help="Take the setting back to its default.")
@session_command
def set_setting(session: Session, name: str, value: str | None, agent: str | None, to_default: bool) -> None:
    """Change a setting. A value that is not understood changes nothing."""
    if (value is None) != to_default:
        raise click.UsageError("give a value, or --default")
    written = None if to_default else _natural(value or "")
    found = _agent(session, agent)
    if found is None:
        now = settings.write(session.context.home, session.context.files, name, written).get(name)
    else:
        changed = agents.write_setting(session.context, found, name, written)
        now = session.context.config().get(name, changed.settings)
    session.output.document(_document(now), lambda: session.output.line(f"{now.name} = {now.written} ({now.source})"))


def _natural(text: str) -> object:
    """Whole numbers and switches as TOML spells them, everything else as text."""
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
