"""What an installation holds that ZeroClaw does not look at any more: jobs that its upgrade moved, memories of agents
that are not configured."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator

from lifeboat_adapters.contract import Installation, Offer
from lifeboat_adapters.database_reading import columns_of
from lifeboat_adapters.zeroclaw import config, host, paths
from lifeboat_adapters.zeroclaw.databases import brain, tables


def offers(installation: Installation) -> Iterator[Offer]:
    """Raises RuntimeDatabaseError, and RuntimeConfigError when nobody can say which agents there are."""
    host.read_config(installation)
    found = tables.sources(installation)
    if found.stranded is not None:
        count = sum(tables.STRANDED in row.values for row in tables.jobs(installation, found))
        if count:
            what = f"{_counted(count, 'scheduled job')} in {found.stranded}: ZeroClaw's upgrade left them there"
            yield Offer(what, "lifeboat restore AGENT --with-cron")
    if found.brain is not None and found.is_first and installation.layout == paths.CURRENT:
        yield from _of_nobody(installation)


def _of_nobody(installation: Installation) -> Iterator[Offer]:
    if installation.state_dir is None:
        return
    known = {agent.alias for agent in config.agents(host.values_of(installation))}
    counts = brain.read_brain(brain.path_of(installation), _by_alias, installation.grounds)
    for alias, count in counts:
        if alias not in known and alias not in host.aliases_of(installation):
            workspace = installation.state_dir / host.AGENTS / alias / host.WORKSPACE
            what = f"{_counted(count, 'memory', 'memories')} of {alias}, an agent that is not configured"
            yield Offer(what, f"lifeboat agents add --runtime {paths.RUNTIME} {shlex.quote(str(workspace))}")


def _by_alias(connection: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    """How many memories each agent has, by alias."""
    if brain.OWNER not in columns_of(connection, brain.TABLE)[0] or not columns_of(connection, "agents")[0]:
        return
    yield from connection.execute(
        "SELECT a.alias, count(*) FROM memories m JOIN agents a ON a.id = m.agent_id GROUP BY a.alias ORDER BY 1"
    )


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"
