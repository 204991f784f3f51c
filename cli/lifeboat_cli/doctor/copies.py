"""A copy that survives this disk."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents.agent import Agent, everyone
from lifeboat_core.health import second_copies, status
from lifeboat_core.health.second_copies import RemoteFacts
from lifeboat_core.home.context import Context
from lifeboat_core.texts.words import argument, listed

TITLE = "A copy elsewhere"


def check(context: Context) -> Iterator[Finding]:
    for agent in everyone(context):
        yield _finding(agent, status.gather(context, agent).remotes)


def _finding(agent: Agent, remotes: tuple[RemoteFacts, ...]) -> Finding:
    """What was never read back counts as no copy, and one that is optional as none to rely on."""
    if not remotes:
        return Finding(Level.WARNING, agent.name, "its only copy is on this disk", "lifeboat remote add NAME URL")
    verified = [one for one in remotes if one.verified_at is not None]
    relied_on = [one.name for one in second_copies.required(verified)]
    if relied_on:
        return Finding(Level.OK, agent.name, f"verified at {listed(relied_on)}")
    if verified:
        only = f"its only other copy is optional: {listed([one.name for one in verified])}"
        return Finding(Level.WARNING, agent.name, only, "lifeboat remote add NAME URL")
    return Finding(
        Level.WARNING, agent.name, "no other copy was ever read back", f"lifeboat sync {argument(agent.name)}"
    )
