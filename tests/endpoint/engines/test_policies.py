"""The list of policies matches a database after `endpoint prepare`."""

from __future__ import annotations

from contextlib import closing

import psycopg

from lifeboat_endpoint.engines.postgres import policies
from support.endpoint.shared_databases import API, OWNER, WORKER, SharedDatabase, database

__all__ = ["database"]
ROLES = {policies.OWNER: OWNER, policies.API: API, policies.WORKER: WORKER}


def found(database: SharedDatabase) -> list[policies.FoundPolicy]:
    with closing(psycopg.connect(database.address, user=WORKER)) as connection:
        connection.execute(policies.SPELL.encode())
        return connection.execute(policies.FOUND.encode()).fetchall()


def test_a_prepared_database_has_each_policy_of_the_list_and_no_other(database: SharedDatabase) -> None:
    assert {row[:2] for row in found(database)} == policies.MADE.keys()
    assert list(policies.find_differing(iter(found(database)), ROLES)) == []


def test_every_policy_of_the_list_can_be_made_again(database: SharedDatabase) -> None:
    before = found(database)
    for (table, name), policy in policies.MADE.items():
        database.execute(policy.statement(table, name, ROLES))
    assert found(database) == before
