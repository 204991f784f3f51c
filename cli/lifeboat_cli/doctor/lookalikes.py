"""What looks like a secret in notes and other files, and was kept as it is."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents.agent import Agent, everyone
from lifeboat_core.capture import lookalikes
from lifeboat_core.home.context import Context
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.texts.words import argument, file_name, path_text

TITLE = "What looks like a secret"
REST = (
    "Revoke it at its service, for whoever reads the file has it. If it is no secret, write lifeboat:allow on that line"
)


def check(context: Context) -> Iterator[Finding]:
    for agent in everyone(context):
        yield from _of(context, agent)


def cut_command(agent: str, path: str) -> str:
    """The command from which on it is cut."""
    return f"lifeboat agents cut {argument(agent)} {argument(file_name(path))}"


def _of(context: Context, agent: Agent) -> Iterator[Finding]:
    found, unread = {}, {}
    with context.vault(agent.id) as vault:
        if context.home.state_file(agent.id).exists():
            with StateDb.open(context.home.state_file(agent.id), vault.id) as db:
                found, unread = lookalikes.read(db), lookalikes.read_unread(db)
    for path, places in sorted(found.items()):
        result = f"{path_text(path)} holds in clear what looks like a secret: {lookalikes.text_of(places)}"
        yield Finding(Level.WARNING, agent.name, f"{result}. {REST}", cut_command(agent.name, path))
    for path, form in sorted(unread.items()):
        yield Finding(Level.OK, agent.name, f"{path_text(path)} was not looked into for secrets: {form}")
    if not found:
        yield Finding(Level.OK, agent.name, "nothing that is kept in clear looks like a secret")
