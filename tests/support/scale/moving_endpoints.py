"""An endpoint in a folder, and an empty shared one as the target of a migration: real PostgreSQL, and S3 by Swift."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.states import entry_metas
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.endpoint_config import SharedStore
from lifeboat_endpoint.engines.endpoint_preparation import prepare_endpoint
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_endpoint.migration import table_copy
from lifeboat_endpoint.migration.endpoint_migration import MigrationResult, migrate_endpoint
from lifeboat_endpoint.migration.old_folder import OldFolder
from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault.vault import Draft, EntryPut
from support.endpoint.keeping import AGENT, OTHER, numbers
from support.killing import KILLED
from support.paths import TESTS
from support.patience import patience
from support.scale import shared_endpoint, swift_server
from support.vault.vaults import START, commit

LARGE = 300_000
"""Size of a body that is a separate file in a folder and an object in a bucket."""
MIDDLE = 100_000
"""Size of a body that is a row in a folder's database and would be an object in a bucket."""


@dataclass
class Places:
    """A PostgreSQL and a Swift for all tests of a module."""

    database: shared_endpoint.Database
    objects: swift_server.SwiftServer
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def store(self, **options: Any) -> SharedStore:
        """Return an unused database and an unused place in the bucket."""
        name = f"moved_{next(self._numbers)}"
        self.database.make(name)
        given = {"object_options": self.objects.options(), "connections": 8, **options}
        return SharedStore(self.database.address(name), self.objects.url(), **given)


@contextlib.contextmanager
def opened_places() -> Iterator[Places]:
    objects = swift_server.shared()
    with shared_endpoint.database() as database:
        yield Places(database, objects)


@dataclass
class Moving:
    """`old` is an endpoint of files, `new` one that was prepared for it."""

    folder: Path
    store: SharedStore
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def old(self) -> Path:
        return self.folder / "endpoint"

    @property
    def new(self) -> Path:
        return self.folder / "new"

    @property
    def key_source(self) -> str:
        return f"file:{self.folder / 'key' / 'endpoint.key'}"

    def move(self, **options: Any) -> MigrationResult:
        return migrate_endpoint(self.old, self.new, **options)

    @contextlib.contextmanager
    def before(self) -> Iterator[Endpoint]:
        with Endpoint.open(self.old) as endpoint:
            yield endpoint

    @contextlib.contextmanager
    def after(self) -> Iterator[Endpoint]:
        """Open the new endpoint as a worker does."""
        with Endpoint.open(self.new) as endpoint:
            yield endpoint


def made(folder: Path, store: SharedStore, *, key_scope: str = "tenant") -> Moving:
    """Create two empty endpoints."""
    (folder / "key").mkdir(mode=0o700)
    moving = Moving(folder, store)
    Endpoint.create(moving.old, key_source=moving.key_source, key_scope=key_scope).close()
    prepare_endpoint(moving.new, store, key_source=f"file:{folder / 'key' / 'fresh.key'}")
    return moving


def filled(moving: Moving, *, tenants: int = 2) -> None:
    """Fill the old endpoint: tenants with two agents that have histories, patches, large bodies, labels and pins; a
    sealed agent; an unfinished upload; tokens, one of them revoked; a signing key."""
    with moving.before() as endpoint:
        for number in range(tenants):
            tenant = endpoint.add_tenant(f"tenant-{number}")
            moving.tokens[tenant.id] = endpoint.control.add_token(tenant.id, "laptop", DEVICE_SCOPES)[1]
            endpoint.control.revoke_token(endpoint.control.add_token(tenant.id, "lost", DEVICE_SCOPES)[0].id)
            with_agents(endpoint, tenant)
        endpoint.signing_key()


def with_agents(endpoint: Endpoint, tenant: Tenant) -> None:
    space = endpoint.space(tenant.id)
    for agent_id in (AGENT, OTHER):
        space.register(agent_id, "Juniper", "openclaw")
        with space.vault(agent_id) as vault:
            large, middle = os.urandom(LARGE), os.urandom(MIDDLE)
            for hour in range(4):
                notes = b"".join(b"- note %d of hour %d\n" % (number, hour * (number == 7)) for number in range(400))
                draft = Draft(
                    {
                        "raw/openclaw/MEMORY.md": EntryPut({}, notes),
                        "artifacts/chart.bin": EntryPut({entry_metas.ATTACHMENT: {"tier": 3}}, large[hour:]),
                        "artifacts/plan.bin": EntryPut({entry_metas.ATTACHMENT: {"tier": 3}}, middle[hour:]),
                    }
                )
                commit(vault, draft, START + timedelta(hours=hour))
            vault.label(1, "before the trip")
            vault.pin(2, "kept")
        space.recount(agent_id)
    space.uploads.begin(AGENT, "full")


def is_the_same(moving: Moving) -> None:
    """Compare every row and every body of every vault and tenant in a different way from the migration."""
    with moving.before() as old, moving.after() as new:
        assert [each.id for each in old.control.tenants()] == [each.id for each in new.control.tenants()]
        assert old.control.tokens() == new.control.tokens()
        assert new.control.check_audit() == []
        for tenant in old.control.tenants():
            _same_tenant(old, new, tenant)


def _same_tenant(old: Endpoint, new: Endpoint, tenant: Tenant) -> None:
    source = OldFolder(old.folder, old.files)
    engine: Any = new.engine
    if not source.has_tables(tenant.id):
        assert new.space(tenant.id).agent_ids() == []
        return
    with source.tenant(tenant.id) as rows:
        assert _rows(rows, table_copy.TENANT) == _rows(engine.tenant_rows(tenant.id), table_copy.TENANT)
    for agent_id in new.space(tenant.id).agent_ids():
        with source.vault(tenant.id, agent_id) as rows:
            assert _rows(rows, table_copy.VAULT) == _rows(engine.vault_rows(tenant.id, agent_id), table_copy.VAULT)
        with new.space(tenant.id).vault(agent_id) as vault:
            assert vault.verify(trusted=None, whole=True).findings == []
        assert numbers(new, tenant, agent_id)


def _rows(store: Any, which: tuple[table_copy.CopiedTable, ...]) -> dict[str, list[tuple[Any, ...]]]:
    return {
        table.name: sorted(
            (tuple(row) for row in store.rows(f"select {', '.join(table.columns)} from {table.name}")), key=repr
        )
        for table in which
    }


def holds(moving: Moving) -> str:
    """Return the id in the database."""
    from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools

    with contextlib.closing(Pools(Database(moving.store.database, moving.store.worker_role))) as pools:
        row = PostgresStore(pools.control, "control", tenant=None).row("select endpoint from control")
    return "" if row is None else str(row[0])


@pytest.fixture(scope="module")
def places() -> Iterator[Places]:
    with opened_places() as found:
        yield found


@pytest.fixture
def moving(tmp_path: Path, places: Places) -> Moving:
    """Return an endpoint with data of every kind."""
    moving = made(tmp_path, places.store())
    filled(moving)
    return moving


def dies_at(moving: Moving, step: CrashPoint, nth: int = 1) -> bool:
    """Migrate in a separate process that ends like after kill -9 when it reaches the step for the nth time. Returns
    False if it never reached it."""
    code = (
        "from pathlib import Path; from support.killing import ending_at; from lifeboat_alf.seams import crash_points;"
        "from lifeboat_endpoint.migration.endpoint_migration import migrate_endpoint;"
        f"crash_points.hook = ending_at(crash_points.CrashPoint({step.value!r}), {nth});"
        f"migrate_endpoint(Path({str(moving.old)!r}), Path({str(moving.new)!r}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, timeout=patience(120), check=False
    )
    assert done.returncode in (0, KILLED), done.stderr.decode()[-2000:]
    return done.returncode == KILLED


def command(*arguments: str | Path, name: str = "migrate") -> subprocess.CompletedProcess[bytes]:
    """Run `lifeboat endpoint NAME` as a user does."""
    code = "from lifeboat_cli import main; main()"
    given = [sys.executable, "-c", code, "endpoint", name, *map(str, arguments)]
    return subprocess.run(given, capture_output=True, timeout=patience(120), check=False)
