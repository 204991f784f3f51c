"""A home of an earlier layout is brought up, whatever ends the process; one of a later layout is refused."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_core import migrations
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import Busy, DiskFull, HomeError
from lifeboat_core.home import lifeboat_home as homes
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import LAYOUT_VERSION
from lifeboat_core.machine import clock_trust
from lifeboat_core.migrations import HomeMigration, home_backups
from lifeboat_core.migrations.home_backups import BackupArea
from lifeboat_core.processes.installed_release import read_release
from lifeboat_keys.installers import upgrade_command
from lifeboat_vault.vault import Vault
from support.alf.raising import raises_code
from support.cli.cli_client import run
from support.endpoint import kept_home
from support.failing_files import WRITES, FailingFiles
from support.killing import killed_at
from support.patience import patience

MIGRATING = (
    CrashPoint.MIGRATE_LOCKED,
    CrashPoint.MIGRATE_COPYING,
    CrashPoint.MIGRATE_COPIED,
    CrashPoint.MIGRATE_DONE,
    CrashPoint.MIGRATE_NOTED,
)


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that the first release made."""
    home = kept_home.unpack(1, tmp_path / "ada")
    monkeypatch.setenv("LIFEBOAT_HOME", str(home))
    return home


def opened(home: Path, files: SystemFiles | None = None) -> Context:
    return Context.open({**os.environ, "LIFEBOAT_HOME": str(home)}, files)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# From every layout there ever was ---------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", kept_home.LAYOUTS)
def test_a_home_of_an_earlier_release_gives_back_what_it_holds(
    layout: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_HOME", str(kept_home.unpack(layout, tmp_path / "ada")))
    assert run("status")["agents"][0]["sequence"] == 2
    run("restore", "Juniper", "--to", tmp_path / "back", "--yes", "--no-reindex")
    expected = files_of(tmp_path / "ada" / "expected")
    assert {name: data for name, data in files_of(tmp_path / "back").items() if name in expected} == expected
    assert [entry["sequence"] for entry in run("timeline", "Juniper")["entries"]] == [2, 1, 0]
    assert run("config", "get", "retention.all")["value"] == "2h"


def test_every_layout_before_this_one_has_a_kept_home_and_a_step() -> None:
    assert set(kept_home.LAYOUTS) == set(range(1, LAYOUT_VERSION))
    assert [each.to for each in migrations.list_migrations()] == list(range(2, LAYOUT_VERSION + 1))


# Layout 2 -------------------------------------------------------------------------------------------------------


def test_it_gets_private_folders_for_the_service_and_says_who_made_it_so(old: Path) -> None:
    opened(old)
    for name in ("logs", "run"):
        assert stat.S_IMODE((old / name).stat().st_mode) == 0o700
    assert (old / "version").read_text() == "2\n"
    assert (old / "release").read_text().strip() == read_release()


def test_a_folder_that_others_could_enter_is_closed(old: Path) -> None:
    (old / "logs").mkdir(mode=0o755)
    opened(old)
    assert stat.S_IMODE((old / "logs").stat().st_mode) == 0o700


def test_small_documents_are_copied_before_and_keys_and_vaults_are_not(old: Path) -> None:
    before = files_of(old)
    opened(old)
    (copy,) = (old / "backups").iterdir()
    assert copy.name.startswith("1-") and stat.S_IMODE(copy.stat().st_mode) == 0o700
    kept = files_of(copy)
    assert kept.keys() == {
        name for name in before if name.split("/")[0] in ("agents", "config.toml", "id", "version")
    } | {name for name in before if name.startswith("state/") and not name.endswith(".db")}
    assert all(before[name] == data for name, data in kept.items())


def test_it_is_brought_up_once(old: Path) -> None:
    assert [text.partition(":")[0] for text in migrations.migrate_home(_unmoved(old))] == ["layout 2"]
    assert migrations.migrate_home(opened(old)) == []
    assert len(list((old / "backups").iterdir())) == 1


def _unmoved(home: Path) -> Context:
    """A context of a home that was not brought up when it was opened."""
    environment = {**os.environ, "LIFEBOAT_HOME": str(home)}
    return Context(homes.Home(home), environment=environment)


@pytest.mark.parametrize("step", MIGRATING)
def test_ended_at_any_step_the_next_one_goes_on(old: Path, step: CrashPoint) -> None:
    assert killed_at(lambda: opened(old), step)
    assert opened(old).home.layout(opened(old).files) == LAYOUT_VERSION
    assert run("status")["agents"][0]["sequence"] == 2
    whole = [path for path in (old / "backups").iterdir() if not path.name.startswith(".")]
    assert len(whole) == 1 and (whole[0] / "version").read_text() == "1\n"


def test_two_processes_that_open_it_at_once_bring_it_up_once(old: Path) -> None:
    failures: list[BaseException] = []

    def open_it() -> None:
        try:
            opened(old)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience())
    assert failures == [] and len(list((old / "backups").iterdir())) == 1


def test_on_a_full_disk_it_stays_what_it_was_and_is_brought_up_later(tmp_path: Path) -> None:
    number = 0
    while True:
        number += 1
        home = kept_home.unpack(1, tmp_path / str(number))
        files = FailingFiles(errno.ENOSPC)
        files.nth(WRITES, number, and_after=True)
        with contextlib.suppress(DiskFull, HomeError):
            opened(home, files=files)
        if not files.fired:
            break
        assert not [path for path in home.glob("backups/*") if path.name.startswith(".")]
        files.heal()
        assert opened(home, files=files).home.layout(files) == LAYOUT_VERSION
    assert number > 10


# A newer layout -------------------------------------------------------------------------------------------------


def test_a_newer_home_is_refused_with_the_release_that_made_it(old: Path) -> None:
    opened(old)
    (old / "version").write_text("7\n")
    (old / "release").write_text("3.1.4\n")
    before = files_of(old)
    with raises_code(HomeError.NEWER, match=r"layout version 7, created by release 3\.1\.4") as caught:
        opened(old)
    assert caught.value.fix == upgrade_command()
    assert files_of(old) == before


def test_what_stands_in_place_of_a_release_is_not_repeated(old: Path) -> None:
    opened(old)
    (old / "version").write_text("7\n")
    (old / "release").write_text("\x1b[31mnonsense\n")
    with raises_code(HomeError.NEWER) as caught:
        opened(old)
    assert "nonsense" not in caught.value.message


# Steps to come ----------------------------------------------------------------------------------------------------


class Marking(ModuleType):
    """A step that writes a file."""

    SUMMARY = "a mark"

    def __init__(self, *touches: BackupArea) -> None:
        super().__init__("marking")
        self.TOUCHES = frozenset(touches)

    def run(self, context: Context) -> None:
        (context.home.folder / "mark").write_text("made")


@contextlib.contextmanager
def another_layout(monkeypatch: pytest.MonkeyPatch, *touches: BackupArea) -> Iterator[None]:
    known = [*migrations.list_migrations(), HomeMigration(LAYOUT_VERSION + 1, Marking(*touches))]
    monkeypatch.setattr(migrations, "list_migrations", lambda: known)
    monkeypatch.setattr(migrations, "LAYOUT_VERSION", LAYOUT_VERSION + 1)
    monkeypatch.setattr(homes, "LAYOUT_VERSION", LAYOUT_VERSION + 1)
    yield


def test_a_step_that_touches_vaults_has_copies_that_open(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with another_layout(monkeypatch, BackupArea.VAULTS, BackupArea.KEYS):
        context = opened(old)
    assert (old / "mark").read_text() == "made"
    copy = next(path for path in (old / "backups").iterdir() if path.name.startswith("2-"))
    (vault,) = (copy / "vault").iterdir()
    with Vault.open(vault) as kept, context.vault(vault.name) as own:
        assert [row.number for row in kept.sequences()] == [row.number for row in own.sequences()]
    assert (copy / "keys" / "user.key").read_bytes() == (old / "keys" / "user.key").read_bytes()
    assert {stat.S_IMODE(path.stat().st_mode) for path in copy.rglob("*") if path.is_file()} == {0o600}


def test_a_step_that_touches_vaults_waits_for_who_captures(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = opened(old)
    monkeypatch.setattr(migrations, "_PATIENCE", 0.0)
    (vault,) = context.home.vaults_folder.iterdir()
    held, done = threading.Event(), threading.Event()

    def capture() -> None:
        with agent_lock(context, vault.name, "capture"):
            held.set()
            done.wait(patience())

    thread = threading.Thread(target=capture)
    thread.start()
    held.wait(patience())
    with another_layout(monkeypatch, BackupArea.VAULTS):
        try:
            with pytest.raises(Busy, match="capture"):
                opened(old)
        finally:
            done.set()
            thread.join(patience())
        assert not (old / "mark").exists()
        opened(old)
    assert (old / "mark").exists()


# Copies do not stay for ever --------------------------------------------------------------------------------------


class Later(SystemClock):
    def __init__(self, **parts: float) -> None:
        self.after = timedelta(**parts)

    def now(self) -> datetime:
        return super().now() + self.after


def test_copies_are_removed_after_30_days(old: Path) -> None:
    context = opened(old)
    (old / "vault" / "x").mkdir()
    (old / "vault" / "x" / "vault.db.schema-1").write_bytes(b"of an earlier schema")
    assert home_backups.remove_old_backups(_with_clock(context, Later(days=29))) == []
    assert len(home_backups.remove_old_backups(_with_clock(context, Later(days=31)))) == 2
    assert list((old / "backups").iterdir()) == []


def test_nothing_is_removed_on_a_clock_that_jumped(old: Path) -> None:
    context = opened(old)
    clock_trust.confirm_clock(context)
    assert home_backups.remove_old_backups(_with_clock(context, Later(days=3650))) == []


def test_a_copy_that_was_cut_off_does_not_stay(old: Path) -> None:
    assert killed_at(lambda: opened(old), CrashPoint.MIGRATE_COPYING)
    assert [path.name[:7] for path in (old / "backups").iterdir()] == [".begun-"]
    opened(old)
    aged = (datetime.now(UTC) - timedelta(days=2)).timestamp()
    for path in (old / "backups").glob(".begun-*"):
        os.utime(path, (aged, aged))
    home_backups.remove_old_backups(opened(old))
    assert [path.name[:2] for path in (old / "backups").iterdir()] == ["1-"]


def _with_clock(context: Context, clock: SystemClock) -> Context:
    return Context(context.home, context.files, clock, context.environment)
