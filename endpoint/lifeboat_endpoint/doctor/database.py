"""Check whether the database keeps what it acknowledges, and how much is left of its limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.engine_choice import as_shared_engine

if TYPE_CHECKING:
    from lifeboat_endpoint.engines.postgres.database_setup import DatabaseSetup
    from lifeboat_endpoint.engines.shared import SharedEngine

TITLE = "PostgreSQL"
NEEDS = ("database",)
_MANY = 0.8
"""Share of the connections that may be in use before a warning."""
_LIMIT_OF_ROLE = """select r.rolconnlimit, (select count(*) from pg_stat_activity a where a.usesysid = r.oid)
    from pg_roles r where r.rolname = ?"""
_MORE_CONNECTIONS = (
    "raise max_connections and the connection limit of this role, or lower `connections` in endpoint.json"
)
_OLD = 1_000_000_000
"""Age in transactions that is an error. PostgreSQL freezes long before, and refuses writes at twice this age."""


def check(endpoint: Endpoint) -> Iterator[DoctorFinding]:
    engine = as_shared_engine(endpoint.engine)
    if engine is None:
        return
    from lifeboat_endpoint.engines.postgres.database_setup import read_setup

    said = read_setup(engine.pools)
    yield from _durable(said)
    yield _checksums(said)
    yield _connections(said)
    yield from _reserved(said, engine)
    yield _age(said)


def _durable(said: DatabaseSetup) -> Iterator[DoctorFinding]:
    """Check that acknowledged changes are on a disk."""
    lax = [name for name in ("fsync", "full_page_writes", "synchronous_commit") if getattr(said, name) == "off"]
    for name in lax:
        result = f"the setting {name} is off, so an acknowledged push can be lost in a power failure"
        yield DoctorFinding(
            DoctorLevel.ERROR, TITLE, result, f'psql -c "alter system set {name} = on" -c "select pg_reload_conf()"'
        )
    if not lax:
        yield DoctorFinding(DoctorLevel.OK, TITLE, f"{said.version}: acknowledged data is stored on the disk")


def _checksums(said: DatabaseSetup) -> DoctorFinding:
    if said.data_checksums == "on":
        return DoctorFinding(DoctorLevel.OK, TITLE, "the pages of the database have checksums")
    result = "the pages of the database have no checksums, so disk damage is noticed late"
    return DoctorFinding(
        DoctorLevel.WARNING, TITLE, result, "stop the database, then: pg_checksums --enable --pgdata FOLDER"
    )


def _connections(said: DatabaseSetup) -> DoctorFinding:
    result = f"{said.connections} of {said.most_connections} connections to the database are in use"
    if said.connections <= _MANY * said.most_connections:
        return DoctorFinding(DoctorLevel.OK, TITLE, result)
    return DoctorFinding(
        DoctorLevel.WARNING, TITLE, result, "raise max_connections, or lower `connections` in endpoint.json"
    )


def _reserved(said: DatabaseSetup, engine: SharedEngine) -> Iterator[DoctorFinding]:
    """Check that the role of the servers leaves connections for workers and for this command."""
    from lifeboat_endpoint.engines.postgres.postgres_schema import RESERVED_CONNECTIONS

    api = engine.store.api_role
    row = engine.control().row(_LIMIT_OF_ROLE, (api,))
    limit, taken = (-1, 0) if row is None else (int(row[0]), int(row[1]))
    if taken > _MANY * limit > 0:
        result = f"the role {api} uses {taken} of its {limit} connections"
        level = DoctorLevel.ERROR if taken >= limit else DoctorLevel.WARNING
        told = f"{result}, so servers refuse requests as busy" if taken >= limit else result
        yield DoctorFinding(level, TITLE, told, _MORE_CONNECTIONS)
    if not 0 <= limit < said.most_connections:
        result = f"the role {api} may use all connections, so that workers and this check may get none"
        fix = (
            f"""psql -c 'alter role "{api}" connection limit {max(1, said.most_connections - RESERVED_CONNECTIONS)}'"""
        )
        yield DoctorFinding(DoctorLevel.WARNING, TITLE, result, fix)


def _age(said: DatabaseSetup) -> DoctorFinding:
    result = f"the oldest transaction id is {said.age:,} transactions old"
    if said.age < _OLD:
        return DoctorFinding(DoctorLevel.OK, TITLE, result)
    return DoctorFinding(
        DoctorLevel.ERROR, TITLE, f"{result}; autovacuum does not keep up", "vacuumdb --freeze DATABASE"
    )
