"""A copy that survives this disk."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_daemon import status
from lifeboat_daemon.agent import Agent, everyone
from lifeboat_daemon.context import Context
from lifeboat_daemon.doctor import Finding, Level
from lifeboat_daemon.health import second_copies
from lifeboat_daemon.health.second_copies import RemoteFacts
from lifeboat_daemon.words import argument, listed

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
