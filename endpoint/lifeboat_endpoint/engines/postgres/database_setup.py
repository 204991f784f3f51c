"""Settings of a database that decide whether it keeps what it acknowledges."""

from __future__ import annotations

from typing import NamedTuple

from lifeboat_endpoint.engines.postgres import postgres_failures
from lifeboat_endpoint.engines.postgres.connection_pools import Pools
from lifeboat_endpoint.engines.postgres.libraries import psycopg
from lifeboat_vault.errors import VaultUnusable

# Of the sessions of other users, this role sees only that they exist and whose they are.
_ASKED = """select current_setting('server_version'), current_setting('fsync'),
    current_setting('full_page_writes'), current_setting('synchronous_commit'), current_setting('data_checksums'),
    (select count(*) from pg_stat_activity where usesysid is not null),
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
    (select age(datfrozenxid) from pg_database where datname = current_database())"""


class DatabaseSetup(NamedTuple):
    """Settings as PostgreSQL writes them.

    `most_connections` are those that are not reserved for superusers. `age` is that of the oldest transaction id, in
    transactions.
    """

    version: str
    fsync: str
    full_page_writes: str
    synchronous_commit: str
    data_checksums: str
    connections: int
    most_connections: int
    age: int


def read_setup(pools: Pools) -> DatabaseSetup:
    """Read the settings. Raises VaultError."""
    try:
        row = pools.asked(_ASKED)
    except psycopg.Error as error:
        raise postgres_failures.translate_error(error) from None
    if row is None:
        raise VaultUnusable("the database did not answer the query for its settings")
    return DatabaseSetup(*row)
