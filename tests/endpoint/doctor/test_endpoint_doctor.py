"""`lifeboat endpoint doctor`: each fault that it knows is made and has to be found."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from benchmarks import small_objects

from lifeboat_alf.common.doctor_checks import DoctorCheckResult, DoctorLevel
from lifeboat_alf.common.size_texts import size_text
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_endpoint import doctor, endpoint_config
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.endpoint_config import SharedStore
from lifeboat_endpoint.engines import endpoint_preparation
from lifeboat_endpoint.engines.postgres import connection_pools
from lifeboat_endpoint.engines.shared import SharedEngine
from lifeboat_endpoint.maintenance import trusted_time
from lifeboat_endpoint.server import tls
from lifeboat_endpoint.work.shared_queue import open_queue
from lifeboat_vault.errors import VaultBusy
from support.cli.cli_client import run
from support.endpoint.keeping import RunningClock, clock, endpoint
from support.endpoint.shared_databases import API, TENANT, WORKER, SharedDatabase, with_roles
from support.postgres_server import PASSWORD, PostgresServer, running

__all__ = ["clock", "endpoint"]

EVERY = {"parts", "bodies", "certificate", "clock", "database", "disk", "isolation", "keys", "objects", "work"}
_ENDED = "insert into lifeboat_work.latest(kind, tenant, ended_at)"
_names = itertools.count()


def examined(endpoint: Endpoint) -> list[DoctorCheckResult]:
    return list(doctor.examine_endpoint(endpoint, lambda error: None))


def wrong(endpoint: Endpoint) -> dict[str, list[str]]:
    """Return the findings that are not OK, by check. The server for tests has no checksums, so this finding is left
    out."""
    found: dict[str, list[str]] = {}
    for one in examined(endpoint):
        if one.finding.level is not DoctorLevel.OK and "no checksums" not in one.finding.result:
            found.setdefault(one.check, []).append(one.finding.result)
    return found


def only(endpoint: Endpoint, check: str) -> str:
    """Return the only finding that is not OK."""
    found = wrong(endpoint)
    assert found.keys() == {check}, found
    (result,) = found[check]
    return result


# In a folder ------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_well_is_said_to_be(endpoint: Endpoint) -> None:
    endpoint.add_tenant("home")
    assert wrong(endpoint) == {}
    assert {one.check for one in examined(endpoint)} == {"parts", "bodies", "clock", "disk", "keys"}


def test_a_key_that_is_gone_is_found(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.add_tenant("home")
    (tmp_path / "endpoint.key").unlink()
    assert "home: " in only(endpoint, "keys")


def test_that_a_tenant_took_its_own_key_away_is_no_fault_of_the_endpoint(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.add_tenant("home")
    endpoint.add_tenant("office", key_source=f"file:{tmp_path / 'office.key'}")
    (tmp_path / "office.key").unlink()
    (found,) = [one.finding for one in examined(endpoint) if one.finding.level is not DoctorLevel.OK]
    assert (found.level, found.subject) == (DoctorLevel.WARNING, f"file:{tmp_path / 'office.key'}")


def test_a_clock_that_jumped_is_found(endpoint: Endpoint, clock: RunningClock) -> None:
    trusted_time.trust_clock(endpoint)
    clock.jump(days=400)
    assert "the endpoint does not thin, does not purge and does not remove unused data" in only(endpoint, "clock")


def test_a_certificate_that_nobody_renewed_is_found(endpoint: Endpoint, clock: RunningClock) -> None:
    tls.CertificateAuthority(endpoint.folder / tls.FOLDER, files=SystemFiles(), clock=clock).certificate(
        {"box.example.com"}
    )
    assert wrong(endpoint) == {}
    clock.advance(days=151)
    assert wrong(endpoint)["certificate"] == ["the certificate expires on 2027-05-19, and no server has renewed it"]


@pytest.mark.parametrize(("free", "level"), [(900_000_000, DoctorLevel.WARNING), (90_000_000, DoctorLevel.ERROR)])
def test_a_disk_that_is_nearly_full_is_found(endpoint: Endpoint, free: int, level: DoctorLevel) -> None:
    class Full(SystemFiles):
        def free_space(self, folder: StrPath) -> int:
            return free

    endpoint.files = Full()
    (found,) = [one.finding for one in examined(endpoint) if one.check == "disk"]
    assert (found.level, found.result) == (level, f"{size_text(free)} are free on the disk")


# Shared -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that keeps what it acknowledges."""
    with running() as made:
        durable = replace(made, options="-c fsync=on")
        durable.restart()
        yield durable


@pytest.fixture
def database(server: PostgresServer) -> SharedDatabase:
    return with_roles(server, f"doctor{next(_names)}")


@pytest.fixture
def shared(database: SharedDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    for name, value in small_objects.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with small_objects.objects() as address:
        options = {"endpoint": address, "region": "us-east-1"}
        store = SharedStore(database.address, small_objects.URL, options)
        endpoint_preparation.prepare_endpoint(tmp_path / "data", store, key_source=f"file:{tmp_path / 'endpoint.key'}")
        with Endpoint.open(tmp_path / "data") as made:
            yield made


def test_a_shared_endpoint_that_is_well_is_said_to_be(shared: Endpoint) -> None:
    shared.add_tenant("home")
    assert wrong(shared) == {}
    assert {one.check for one in examined(shared)} == EVERY - {"certificate", "disk"}


def test_a_database_that_acknowledges_too_soon_is_found(shared: Endpoint, database: SharedDatabase) -> None:
    database.execute(f'alter database "{database.name}" set synchronous_commit = off')
    assert only(shared, "database").startswith("the setting synchronous_commit is off")


def test_a_database_that_syncs_nothing_is_found(shared: Endpoint, server: PostgresServer) -> None:
    replace(server, options="").restart()
    try:
        assert only(shared, "database").startswith("the setting fsync is off")
    finally:
        server.restart()


def test_a_database_of_which_all_connections_are_taken_is_told_of(shared: Endpoint, server: PostgresServer) -> None:
    replace(server, options="-c fsync=on -c max_connections=8 -c superuser_reserved_connections=3").restart()
    try:
        first = [one.finding for one in examined(shared) if one.check == "database" and "in use" in one.finding.result]
        assert [finding.result.endswith("of 5 connections to the database are in use") for finding in first] == [True]
    finally:
        server.restart()


def test_who_serves_leaves_connections_for_the_doctor(shared: Endpoint, database: SharedDatabase) -> None:
    taken = []
    try:
        with pytest.raises(psycopg.OperationalError, match="too many connections for role"):
            while True:
                taken.append(database.connect(API))
        found = wrong(shared)["database"]
        assert [result for result in found if result.endswith("connections to the database are in use")]
        (said,) = (result for result in found if result.startswith(f"the role {API} uses"))
        assert said.endswith("connections, so servers refuse requests as busy")
    finally:
        for each in taken:
            each.close()


def test_that_another_program_takes_all_connections_is_said(
    shared: Endpoint, database: SharedDatabase, server: PostgresServer
) -> None:
    database.execute(f"create role gardener login password '{PASSWORD}'")
    database.execute(f'grant connect on database "{database.name}" to gardener')
    replace(server, options="-c fsync=on -c max_connections=20").restart()
    taken = []
    try:
        with pytest.raises(psycopg.OperationalError, match="remaining connection slots"):
            while True:
                taken.append(database.connect("gardener"))
        (said, *_) = (one.finding for one in examined(shared) if "connections to the database" in one.finding.result)
        assert said.level is DoctorLevel.ERROR
        assert "connection limit" in (said.fix or "")
    finally:
        for each in taken:
            each.close()
        server.restart()
        database.execute(f'revoke connect on database "{database.name}" from gardener')
        database.execute("drop role gardener")


def test_that_who_serves_may_take_all_connections_is_found(shared: Endpoint, database: SharedDatabase) -> None:
    database.execute(f"alter role {API} connection limit -1")
    assert only(shared, "database").startswith(f"the role {API} may use all connections")
    (fix,) = [fix for one in examined(shared) if "connection limit" in (fix := one.finding.fix or "")]
    database.execute(fix.removeprefix("psql -c '").removesuffix("'"))
    assert wrong(shared) == {}


def test_that_all_connections_are_taken_is_said(database: SharedDatabase) -> None:
    database.execute(f"alter role {API} connection limit 0")
    try:
        with pytest.raises(VaultBusy, match="all connections to the database are in use"):
            connection_pools.open_connection(database.database(API))
    finally:
        database.execute(f"alter role {API} connection limit 50")


def fixed(shared: Endpoint, database: SharedDatabase) -> None:
    """Run the command that the doctor suggests."""
    (fix,) = [one.finding.fix for one in examined(shared) if one.check == "isolation"]
    assert fix is not None
    command, option, statement = shlex.split(fix)
    assert (command, option) == ("psql", "-c")
    database.execute(statement)


def test_a_policy_for_all_tenants_is_found(shared: Endpoint, database: SharedDatabase) -> None:
    for name in ("everybody", "of_mine"):
        database.execute(f"create policy {name} on lifeboat_vault.record for select using (true)")
        assert only(shared, "isolation").startswith(f"the policy {name} of the table lifeboat_vault.record")
        fixed(shared, database)
    assert wrong(shared) == {}


CHANGES = {
    "lifeboat_vault.record": "alter policy own on {table} using (true)",
    "lifeboat_vault.entry": "alter policy own on {table} using (place is not null)",
    "lifeboat_vault.place": "alter policy own on {table} using (tenant = tenant)",
    "lifeboat_vault.sequence": "alter policy own on {table} with check (true)",
    "lifeboat_tenant.agent": "alter policy own on {table} using (tenant <> '')",
    "lifeboat_control.token": "alter policy own on {table} using (tenant is not null or id is not null)",
    "lifeboat_control.tenant": "alter policy own on {table} to public",
    "lifeboat_control.audit": "alter policy follow on {table} using (number <= lifeboat_control.audit_end())",
    "lifeboat_control.key_document": "alter policy worker on {table} to public",
    "lifeboat_work.rate": "drop policy stale on {table}; create policy stale on {table} to lifeboat_api using (true)",
    "lifeboat_work.job": "drop policy own on {table}",
}
"""By table: what is done to a policy that the product made, its name left as it is."""


@pytest.mark.parametrize("table", CHANGES)
def test_a_policy_that_was_changed_or_removed_is_found_and_made_again(
    shared: Endpoint, database: SharedDatabase, table: str
) -> None:
    database.execute(CHANGES[table].format(table=table))
    assert f" of the table {table} was changed" in only(shared, "isolation")
    fixed(shared, database)
    assert wrong(shared) == {}


def test_the_style_of_intervals_and_a_search_path_of_the_database_change_no_answer(
    shared: Endpoint, database: SharedDatabase
) -> None:
    database.execute(f'alter database "{database.name}" set intervalstyle = iso_8601')
    database.execute(f'alter database "{database.name}" set search_path = lifeboat_control, lifeboat_vault')
    assert wrong(shared) == {}


def test_a_role_that_is_a_member_of_another_is_found(shared: Endpoint, database: SharedDatabase) -> None:
    database.execute(f"grant {WORKER} to {API}")
    try:
        assert only(shared, "isolation") == f"the role {API} is a member of {WORKER} and has its permissions"
    finally:
        database.execute(f"revoke {WORKER} from {API}")


@pytest.mark.parametrize("role", [API, WORKER])
def test_a_role_above_row_level_security_is_found(shared: Endpoint, database: SharedDatabase, role: str) -> None:
    database.execute(f"alter role {role} bypassrls")
    try:
        assert only(shared, "isolation") == f"the role {role} bypasses row-level security, so it sees all tenants"
    finally:
        database.execute(f"alter role {role} nobypassrls")


@pytest.mark.parametrize("change", ["disable row level security", "no force row level security"])
def test_a_table_without_row_level_security_is_found(shared: Endpoint, database: SharedDatabase, change: str) -> None:
    database.execute(f"alter table lifeboat_vault.record {change}")
    assert only(shared, "isolation") == "row-level security is not forced on the table lifeboat_vault.record"
    (fix,) = [one.finding.fix for one in examined(shared) if one.check == "isolation"]
    assert fix is not None
    database.execute(fix.removeprefix('psql -c "').removesuffix('"'))
    assert wrong(shared) == {}


def test_a_view_over_the_tables_is_found(shared: Endpoint, database: SharedDatabase) -> None:
    database.execute("create view lifeboat_tenant.everything as select * from lifeboat_tenant.agent")
    assert only(shared, "isolation").startswith("lifeboat_tenant.everything is a view")


def test_that_nobody_works_is_found_once_something_would_have_been_due(
    shared: Endpoint, database: SharedDatabase
) -> None:
    database.execute(f"{_ENDED} values ('sweep', '', now() - interval '110 minutes')")
    assert wrong(shared) == {}
    database.execute("update lifeboat_work.latest set ended_at = now() - interval '130 minutes'")
    assert "no worker has finished a job since" in only(shared, "work")


def test_what_was_given_up_is_told_of(shared: Endpoint, database: SharedDatabase) -> None:
    open_queue(shared).add("verify", tenant=TENANT)
    database.execute("update lifeboat_work.job set state = 'dead'")
    assert only(shared, "work") == "failed jobs: 1"


@pytest.mark.parametrize(("kind", "level"), [("apply_purge", DoctorLevel.ERROR), ("look_after", DoctorLevel.WARNING)])
def test_a_purge_that_waits_is_worse_than_other_work_that_does(
    shared: Endpoint, database: SharedDatabase, kind: str, level: DoctorLevel
) -> None:
    open_queue(shared).add(kind, tenant=TENANT)
    database.execute("update lifeboat_work.job set due_at = now() - interval '90 minutes'")
    (found,) = [
        one.finding for one in examined(shared) if one.check == "work" and one.finding.level is not DoctorLevel.OK
    ]
    assert (found.level, found.result) == (level, f"a due job of the kind {kind} has waited for 90 minutes")


def test_what_was_not_read_back_for_long_is_told_of(shared: Endpoint, database: SharedDatabase) -> None:
    home, office = shared.add_tenant("home"), shared.add_tenant("office")
    for kind, tenant, days in (("verify", home.id, 13), ("verify", office.id, 15), ("sweep", "", 0)):
        database.execute(f"{_ENDED} values ('{kind}', '{tenant}', now() - interval '{days} days')")
    assert only(shared, "work") == "the data of 1 of 2 tenants has not been verified for 336 hours"


def test_the_clock_of_the_database_is_compared(shared: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = shared.clock.now() + timedelta(minutes=20)
    monkeypatch.setattr(SystemClock, "now", lambda clock: ahead)
    assert "the clock of the database" in only(shared, "clock")


def test_what_needs_a_database_that_is_away_is_not_examined_and_that_is_said(
    shared: Endpoint, server: PostgresServer
) -> None:
    engine = shared.engine
    assert isinstance(engine, SharedEngine)
    server.stop()
    for pool in engine.pools._pools.values():
        pool.timeout = 0.1  # a stopped server gives no connection later either
    try:
        found = {one.check: one.finding for one in examined(shared)}
    finally:
        server.start()
    assert found["parts"].level is DoctorLevel.OK  # the object store is checked last
    assert found["objects"].level is DoctorLevel.OK
    assert {name for name, finding in found.items() if finding.result.startswith("not checked")} == {
        *("bodies", "clock", "database", "isolation", "keys", "work")
    }


def test_the_command_says_what_helps_and_ends_with_1(shared: Endpoint, database: SharedDatabase) -> None:
    database.execute(f"{_ENDED} values ('sweep', '', now() - interval '3 hours')")
    found = run("endpoint", "doctor", "--data", shared.folder, expect=1)
    assert not found["ok"]
    (broken,) = [one for one in found["findings"] if one["level"] == "error"]
    assert broken["fix"] == f"lifeboat endpoint work --data {shared.folder}"
    database.execute("update lifeboat_work.latest set ended_at = now()")
    assert run("endpoint", "doctor", "--data", shared.folder)["ok"]


def test_every_check_says_what_it_needs_of_the_parts(shared: Endpoint) -> None:
    parts = shared.engine.checks().keys()
    for name in doctor.list_check_names(doctor.__path__):
        module = __import__(f"lifeboat_endpoint.doctor.{name}", fromlist=["NEEDS"])
        assert set(module.NEEDS) <= parts and module.TITLE
    assert endpoint_config.FILE in {path.name for path in shared.folder.iterdir()}
