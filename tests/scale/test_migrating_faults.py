"""A move that is killed, or whose database, object store or disk fails: the same command goes on, and nothing is lost
or there twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.migration import endpoint_migration as moves
from lifeboat_endpoint.migration.endpoint_migration import abort_migration
from lifeboat_vault import errors
from support.endpoint.keeping import AGENT
from support.scale import object_faults
from support.scale.moving_endpoints import Moving, Places, dies_at, filled, holds, is_the_same, made, moving, places

__all__ = ["moving", "places"]

STEPS = tuple(step for step in CrashPoint if step.value.startswith("endpoint.migrate_"))
IN_BETWEEN = (CrashPoint.BLOB_NAMED, CrashPoint.BLOB_WRITTEN, CrashPoint.BLOB_COMPARED)
EVERY = [(step, 1) for step in (*STEPS, *IN_BETWEEN)] + [
    (step, 3)
    for step in (CrashPoint.ENDPOINT_MIGRATE_ROWS, CrashPoint.ENDPOINT_MIGRATE_COMMITTED, CrashPoint.BLOB_WRITTEN)
]


@pytest.mark.parametrize(("step", "nth"), EVERY, ids=lambda value: str(value))
def test_killed_at_any_step_the_next_call_goes_on(moving: Moving, step: CrashPoint, nth: int) -> None:
    assert dies_at(moving, step, nth)
    done = moving.move()
    assert done.problems == [] and done.was_done == (step is CrashPoint.ENDPOINT_MIGRATE_DONE)
    is_the_same(moving)
    named = {each.key for each in _bucket(moving)}
    assert named == set(_keys(moving)), "an object that no row names, or a row without its object"


def _bucket(moving: Moving) -> list[object_faults.Asked]:
    with moving.after() as endpoint:
        bucket = endpoint.engine.bucket  # type: ignore[attr-defined]
        return [each for each in bucket.list("bodies")]


def _keys(moving: Moving) -> Iterator[str]:
    with moving.after() as endpoint:
        for tenant in endpoint.control.tenants():
            rows = endpoint.engine.body_rows(tenant.id)  # type: ignore[attr-defined]
            yield from (key for (key,) in rows.rows("select key from blob"))


def test_killed_again_and_again_it_comes_to_its_end(moving: Moving) -> None:
    """Each of these steps is still to come after the one before, however the jobs run side by side."""
    ends = (CrashPoint.ENDPOINT_MIGRATE_CONTROL, CrashPoint.ENDPOINT_MIGRATE_LEAVING, CrashPoint.ENDPOINT_MIGRATE_LEFT)
    for step in (CrashPoint.BLOB_COMPARED, CrashPoint.ENDPOINT_MIGRATE_ROWS, *ends):
        assert dies_at(moving, step)
    moving.move()
    is_the_same(moving)


def test_what_was_compared_is_not_carried_again(moving: Moving) -> None:
    assert dies_at(moving, CrashPoint.ENDPOINT_MIGRATE_CONTROL)
    done = moving.move()
    assert done.agents == 4 and done.carried.rows == 0


def test_killed_before_its_end_it_can_be_given_up_when_the_new_one_says_so(moving: Moving) -> None:
    assert dies_at(moving, CrashPoint.ENDPOINT_MIGRATE_LEFT)
    with pytest.raises(errors.EndpointMoved):
        abort_migration(moving.old)
    assert abort_migration(moving.old, moving.new)
    with moving.before() as endpoint:
        endpoint.add_tenant("a third")
    moving.move()
    is_the_same(moving)


def test_a_database_that_is_restarted_meanwhile(moving: Moving, places: Places) -> None:
    restarts: list[threading.Thread] = []

    def restart() -> None:
        places.database.stop()
        time.sleep(1.0)
        places.database.start()

    def hook(step: CrashPoint) -> None:
        if step is CrashPoint.ENDPOINT_MIGRATE_ROWS and not restarts:
            restarts.append(threading.Thread(target=restart))
            restarts[0].start()
            restarts[0].join(0.5)

    crash_points.hook = hook
    try:
        moving.move()
    finally:
        crash_points.hook = None
        restarts[0].join()
    is_the_same(moving)


def test_a_database_that_stays_away_ends_it_and_changes_nothing_of_the_old_one(
    moving: Moving, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "_TRIES", 2)
    places.database.stop()
    try:
        with pytest.raises(errors.VaultBusy):
            moving.move()
    finally:
        places.database.start()
    with moving.before() as endpoint:
        endpoint.add_tenant("it still takes what is new")
    moving.move()
    is_the_same(moving)


@pytest.mark.parametrize(
    "fault",
    [
        object_faults.status(503, "SlowDown"),
        object_faults.reset,
        object_faults.forget,
        object_faults.done_but(object_faults.reset),
    ],
    ids=["overloaded", "reset", "forgets", "done but reset"],
)
def test_an_object_store_that_fails_for_a_while(tmp_path: Path, places: Places, fault: object_faults.Fault) -> None:
    with object_faults.in_front_of(places.objects.address) as faults:
        moving = made(tmp_path, places.store(object_options=places.objects.options(faults.address)))
        filled(moving, tenants=1)
        faults.plan(fault, methods=["PUT"], times=6, skip=3)
        moving.move()
        is_the_same(moving)


def test_an_object_that_is_damaged_on_its_way_is_never_taken_for_whole(tmp_path: Path, places: Places) -> None:
    with object_faults.in_front_of(places.objects.address) as faults:
        moving = made(tmp_path, places.store(object_options=places.objects.options(faults.address)))
        filled(moving, tenants=1)
        faults.plan(object_faults.flip, methods=["GET"], key="bodies", times=2)
        moving.move()
        is_the_same(moving)


def test_a_row_that_is_changed_on_its_way_is_never_taken_for_whole(
    moving: Moving, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hook(step: CrashPoint) -> None:
        if step is CrashPoint.ENDPOINT_MIGRATE_COMMITTED:
            name = moving.store.database.partition("///")[2].partition("?")[0]
            places.database.run("update lifeboat_vault.object set size = size + 1 where id = 1", name=name)

    crash_points.hook = hook
    try:
        done = moving.move()
    finally:
        crash_points.hook = None
    assert len(done.problems) == 4 and "copy of the table object differs from the original" in done.problems[0]
    assert holds(moving).startswith("unfinished:")
    assert moving.move().problems == []
    is_the_same(moving)


# A full disk ----------------------------------------------------------------------------------------------------------

needs_mount = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None,
    reason="a small file system is mounted, which only root can on Linux",
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir(mode=0o700)
    made = ["mount", "-t", "tmpfs", "-o", "size=32m,mode=700", "none", str(folder)]
    if subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


@needs_mount
def test_from_a_disk_without_a_byte_left(small_disk: Path, places: Places, tmp_path: Path) -> None:
    """That may be the very reason to move."""
    moving = made(small_disk, places.store())
    shutil.move(moving.new, tmp_path / "new")
    moving = Elsewhere(small_disk, moving.store, moving.tokens)
    moving.elsewhere = tmp_path / "new"
    filled(moving, tenants=1)
    _fill(small_disk / "everything-else")
    moving.move()
    (small_disk / "everything-else").unlink()
    is_the_same(moving)


class Elsewhere(Moving):
    """The new folder lies on another disk."""

    elsewhere: Path

    @property
    def new(self) -> Path:
        return self.elsewhere


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue


def test_agents_are_found_by_their_rows(moving: Moving) -> None:
    """A folder of an agent that was being made when the move began belongs to nobody."""
    with moving.before() as endpoint:
        tenant = endpoint.control.tenants()[0]
    loose = moving.old / "tenants" / tenant.id / "agents" / AGENT.replace("a1", "ff")
    shutil.copytree(loose.with_name(AGENT), loose)
    assert moving.move().agents == 4
    is_the_same(moving)
