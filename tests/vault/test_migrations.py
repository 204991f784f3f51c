"""A vault of an earlier schema is migrated in one transaction, with a copy, wherever the process ends."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_vault.errors import VaultNewer
from lifeboat_vault.store.schema_migrations import STEPS as KNOWN
from lifeboat_vault.store.schema_migrations import migrate_tables
from lifeboat_vault.store.vault_schema import VERSION
from lifeboat_vault.vault import Vault
from lifeboat_vault.vault import open_vault as vaults
from support.endpoint import kept_home
from support.killing import killed_at
from support.patience import patience

STEPS = {**KNOWN, VERSION: ["alter table decision add column note text", "create table harbour(name text)"]}
MIGRATING = (CrashPoint.MIGRATE_COPYING, CrashPoint.MIGRATE_COPIED, CrashPoint.MIGRATE_DONE, CrashPoint.MIGRATE_NOTED)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a vault that the first release wrote, with schema 1."""
    (found,) = (kept_home.unpack(1, tmp_path / "ada") / "vault").iterdir()
    return found


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open vaults from now on as a release that knows one more schema."""
    monkeypatch.setattr(vaults, "migrate_tables", partial(migrate_tables, steps=STEPS, target=VERSION + 1))


def schema_of(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("select schema from vault").fetchone()[0])


def test_a_vault_of_the_first_release_is_whole(folder: Path) -> None:
    with Vault.open(folder) as vault:
        assert [row.number for row in vault.sequences()] == [0, 1, 2]
        assert vault.verify(trusted=None).findings == []


def test_a_newer_schema_is_refused_by_name_and_not_touched(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "vault.db")) as connection, connection:
        connection.execute("update vault set schema = 99")
    before = (folder / "vault.db").read_bytes()
    with pytest.raises(VaultNewer, match=f"schema 99, but this release supports only schemas up to {VERSION}"):
        Vault.open(folder)
    assert (folder / "vault.db").read_bytes() == before


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("step", MIGRATING)
def test_ended_at_any_step_it_is_the_old_vault_or_the_new_one(folder: Path, step: CrashPoint) -> None:
    assert killed_at(lambda: Vault.open(folder).close(), step)
    with Vault.open(folder) as vault:
        assert [row.number for row in vault.sequences()] == [0, 1, 2]
        assert vault.verify(trusted=None).findings == []
    assert schema_of(folder / "vault.db") == VERSION + 1
    assert schema_of(folder / "vault.db.schema-1") == 1


def test_the_copy_opens_in_the_release_that_made_the_vault(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(vaults, "migrate_tables", partial(migrate_tables, steps=STEPS, target=VERSION + 1))
        Vault.open(folder).close()
    (folder / "vault.db.schema-1").replace(folder / "vault.db")
    with Vault.open(folder) as vault:
        assert [row.number for row in vault.sequences()] == [0, 1, 2]


@pytest.mark.usefixtures("later")
def test_of_several_that_open_it_at_once_one_brings_it_up(folder: Path) -> None:
    failures: list[BaseException] = []

    def open_it() -> None:
        try:
            Vault.open(folder).close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience())
    assert failures == []
    assert schema_of(folder / "vault.db.schema-1") == 1
