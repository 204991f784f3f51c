"""What looks like a secret in notes and other files, and was kept as it is."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_daemon.agent import Agent, everyone
from lifeboat_daemon.capture import lookalikes
from lifeboat_daemon.context import Context
from lifeboat_daemon.doctor import Finding, Level
from lifeboat_daemon.state_db import StateDb
from lifeboat_daemon.words import path_text

TITLE = "What looks like a secret"
FIX = (
    "put it into the runtime's credential store, or as NAME=value into a .env file of the workspace: then it is cut "
    "everywhere; have the service revoke what was written down; a false alarm: write lifeboat:allow on that line"
)


def check(context: Context) -> Iterator[Finding]:
    for agent in everyone(context):
        yield from _of(context, agent)


def _of(context: Context, agent: Agent) -> Iterator[Finding]:
    found, unread = {}, {}
    with context.vault(agent.id) as vault:
        if context.home.state_file(agent.id).exists():
            with StateDb.open(context.home.state_file(agent.id), vault.id) as db:
                found, unread = lookalikes.read(db), lookalikes.read_unread(db)
    for path, places in sorted(found.items()):
        result = f"{path_text(path)} holds in clear what looks like a secret: {lookalikes.text_of(places)}"
        yield Finding(Level.WARNING, agent.name, result, FIX)
    for path, form in sorted(unread.items()):
        yield Finding(Level.OK, agent.name, f"{path_text(path)} was not looked into for secrets: {form}")
    if not found:
        yield Finding(Level.OK, agent.name, "nothing that is kept in clear looks like a secret")
