"""Agents by the hundred thousand in the tables of a shared endpoint, by SQL alone: copies of one that was pushed.

What is sealed in a copy opens for nobody, as it belongs to another agent; nobody asks for it. Its rows are as many and
as large, and lie where those of any agent would lie.
"""

from __future__ import annotations

from typing import Any

import psycopg
from benchmarks.shared_engine import Cluster
from psycopg import sql

VAULT = ("vault", "object", "entry", "record", "sequence", "bucket", "pin", "audit", "redaction", "decision")
PER_TENANT = 10_000
"""Maximum number of agents of a tenant on an endpoint."""
_BATCH = 5_000


def multiply(cluster: Cluster, database: str, agent: str, first: int, last: int) -> None:
    """Create copies `first` to `last` - 1 of an agent, in separate tenants. Each also gets an entry in the list of
    bodies whose object does not exist."""
    with cluster.connected(database) as connection:
        # The copied rows satisfy the constraints, so the copies do too.
        connection.execute("set session_replication_role = replica")
        connection.execute("set synchronous_commit = off")
        for begin in range(first, last, _BATCH):
            end = min(begin + _BATCH, last)
            _tenants(connection, begin, end)
            _copies(connection, agent, begin, end)


def settle(cluster: Cluster, database: str) -> None:
    """Bring the database into the state of old data: vacuumed, analyzed, and written to disk."""
    with cluster.connected(database) as connection:
        connection.execute("vacuum (analyze)")
        connection.execute("checkpoint")


def _tenants(connection: psycopg.Connection[Any], begin: int, end: int) -> None:
    for number in {each // PER_TENANT for each in range(begin, end)}:
        name = f"copies-{number}"
        connection.execute(
            """insert into lifeboat_control.tenant(id, name, name_key, created_at, state)
            values (%(name)s, %(name)s, %(name)s, '2026-10-01T08:00:00.000Z', 'active') on conflict do nothing""",
            {"name": name},
        )
        connection.execute(
            """insert into lifeboat_tenant.tenant(id, schema, created_at)
            select %s, schema, created_at from lifeboat_tenant.tenant limit 1 on conflict do nothing""",
            (name,),
        )


def _copies(connection: psycopg.Connection[Any], agent: str, begin: int, end: int) -> None:
    """Create names in random order, like those of agents relative to their creation."""
    with connection.transaction():
        connection.execute(
            """create temporary table copy on commit drop as
            select 'copies-' || n / %s::bigint as tenant, md5(n::text || 'agent') as id
            from generate_series(%s::bigint, %s::bigint) n""",
            (PER_TENANT, begin, end - 1),
        )
        connection.execute("insert into lifeboat_vault.place(tenant, agent) select tenant, id from copy")
        connection.execute(
            """insert into lifeboat_tenant.agent(tenant, id, vault, created_at, bytes, facts, keys)
            select c.tenant, c.id, a.vault, a.created_at, a.bytes, a.facts, a.keys
            from copy c, lifeboat_tenant.agent a where a.id = %s""",
            (agent,),
        )
        connection.execute(
            """insert into lifeboat_tenant.blob(tenant, scope, name, key, size)
            select tenant, id, md5(id) || md5('n' || id), left(md5(id), 2) || '/' || md5(id) || md5('k' || id), 500000
            from copy"""
        )
        connection.execute(
            """create temporary table new_place on commit drop as select p.number as place from lifeboat_vault.place p
            join copy c on p.tenant = c.tenant and p.agent = c.id order by p.number"""
        )
        for table in VAULT:
            _rows(connection, table, agent)


def _rows(connection: psycopg.Connection[Any], table: str, agent: str) -> None:
    """Copy all columns except the place, so that new columns are copied too."""
    found = connection.execute(
        """select column_name from information_schema.columns
        where table_schema = 'lifeboat_vault' and table_name = %s and column_name <> 'place'""",
        (table,),
    )
    columns = sql.SQL(", ").join(sql.Identifier(name) for (name,) in found)
    connection.execute(
        sql.SQL(
            """insert into lifeboat_vault.{table}(place, {columns})
            select p.place, t.* from new_place p cross join (select {columns} from lifeboat_vault.{table}
            where place = (select number from lifeboat_vault.place where agent = {agent})) t order by p.place"""
        ).format(table=sql.Identifier(table), columns=columns, agent=sql.Literal(agent))
    )


def bytes_of(cluster: Cluster, database: str) -> dict[str, tuple[float, float]]:
    """Return for each table the number of rows, and bytes per row with indexes and without bodies."""
    found = {}
    with cluster.connected(database) as connection:
        for schema, table in [*(("lifeboat_vault", name) for name in (*VAULT, "place")), *_OTHERS]:
            name = sql.Identifier(schema, table)
            bodies = sql.SQL("coalesce(sum(octet_length(body)), 0)" if table == "object" else "0")
            row = connection.execute(
                sql.SQL(
                    "select count(*)::float8, (pg_total_relation_size({whole}) - {bodies})::float8 from {name}"
                ).format(whole=sql.Literal(f"{schema}.{table}"), bodies=bodies, name=name)
            ).fetchone()
            assert row is not None
            found[table] = (row[0], row[1] / row[0] if row[0] else 0.0)
    return found


_OTHERS = (("lifeboat_tenant", "agent"), ("lifeboat_tenant", "blob"))
