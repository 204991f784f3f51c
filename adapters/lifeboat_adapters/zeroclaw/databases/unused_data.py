"""Find data of an installation that ZeroClaw does not read any more: jobs that its upgrade moved, and memories of
agents that are not configured."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator

from lifeboat_adapters.contract import Installation, UnusedDataOffer
from lifeboat_adapters.database_reading import columns_of
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_folders, zeroclaw_paths
from lifeboat_adapters.zeroclaw.databases import brain_database, durable_rows


def list_unused_data(installation: Installation) -> Iterator[UnusedDataOffer]:
    """Implement `DatabaseSupport.offers`. Raises RuntimeDatabaseError, and RuntimeConfigError when the agents are
    unknown."""
    zeroclaw_folders.read_config(installation)
    found = durable_rows.zeroclaw_sources_of(installation)
    if found.stranded is not None:
        count = sum(durable_rows.STRANDED in row.values for row in durable_rows.read_jobs(installation, found))
        if count:
            what = f"an upgrade of ZeroClaw left {_counted(count, 'scheduled job')} in the old file {found.stranded}"
            yield UnusedDataOffer(what, "lifeboat restore AGENT --with-cron")
    if found.brain is not None and found.is_first and installation.layout == zeroclaw_paths.CURRENT:
        yield from _of_nobody(installation)


def _of_nobody(installation: Installation) -> Iterator[UnusedDataOffer]:
    if installation.state_dir is None:
        return
    known = {
        agent.alias for agent in zeroclaw_config.list_zeroclaw_agents(zeroclaw_folders.config_values_of(installation))
    }
    counts = brain_database.read_brain(brain_database.brain_path_of(installation), _by_alias, installation.grounds)
    for alias, count in counts:
        if alias not in known and alias not in zeroclaw_folders.aliases_of(installation):
            workspace = installation.state_dir / zeroclaw_folders.AGENTS / alias / zeroclaw_folders.WORKSPACE
            what = (
                f"the database contains {_counted(count, 'memory', 'memories')} of the agent {alias}, which is "
                "not in ZeroClaw's configuration"
            )
            yield UnusedDataOffer(
                what, f"lifeboat agents add --runtime {zeroclaw_paths.RUNTIME} {shlex.quote(str(workspace))}"
            )


def _by_alias(connection: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    """Return the number of memories of each agent, by alias."""
    if (
        brain_database.OWNER not in columns_of(connection, brain_database.TABLE)[0]
        or not columns_of(connection, "agents")[0]
    ):
        return
    yield from connection.execute(
        "SELECT a.alias, count(*) FROM memories m JOIN agents a ON a.id = m.agent_id GROUP BY a.alias ORDER BY 1"
    )


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"
