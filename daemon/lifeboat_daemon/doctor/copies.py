"""A copy that survives this disk."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_daemon.agent import everyone
from lifeboat_daemon.context import Context
from lifeboat_daemon.doctor import Finding, Level

TITLE = "A copy elsewhere"


def check(context: Context) -> Iterator[Finding]:
    for agent in everyone(context):
        fix = f"lifeboat alf export {agent.runtime} {agent.workspace} -o /elsewhere/{agent.name}.alf"
        yield Finding(Level.WARNING, agent.name, "its only copy is on this disk", fix)
