"""Migration of an endpoint from its data folder to a shared endpoint.

After the first step the old endpoint serves reads and refuses changes. After the last step it serves nothing, and the
new one may be served. In between everything is copied as it is sealed, and compared. A failure changes nothing in the
old endpoint: repeating the call continues, and `abort_migration` makes it accept pushes again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.file_operations import FileOperations, SystemFiles
from lifeboat_alf.seams.system_clock import Clock, SystemClock
from lifeboat_endpoint import endpoint_config
from lifeboat_endpoint.endpoint_config import EndpointConfig
from lifeboat_endpoint.engines.move_markers import MoveMarkers
from lifeboat_endpoint.engines.shared import SharedEngine
from lifeboat_endpoint.migration import control_copy
from lifeboat_endpoint.migration.control_copy import MigrationMarks
from lifeboat_endpoint.migration.migration_target import MigrationTarget
from lifeboat_endpoint.migration.old_folder import OldFolder, wait_for_writers
from lifeboat_endpoint.migration.tenant_copy import CopiedData, TenantCopier
from lifeboat_vault import errors
from lifeboat_vault.store.lock_file import hold_lock_file

LOCK = "migrate.lock"
_AT_ONCE = 4
_TRIES = 8
_FIRST_WAIT = 0.5
"""Seconds before the first retry; each further wait is twice as long."""
_TENANTS = "select id from tenant where state = 'active' order by id"

Told = Callable[[str, int, int], None]
"""Called with the current step, how many items are done, and how many there are."""

Result = TypeVar("Result")


@dataclass
class MigrationResult:
    """What was migrated. `was_done`: an earlier call had finished it.

    `problems` are sentences about tenants or agents that cannot be migrated as they are. With any problem the migration
    is not finished.
    """

    tenants: int = 0
    agents: int = 0
    carried: CopiedData = field(default_factory=CopiedData)
    problems: list[str] = field(default_factory=list)
    was_done: bool = False


class _CopyJob(NamedTuple):
    """A tenant, or one vault of it if `agent` is set."""

    tenant: str
    agent: str = ""
    vault: str = ""

    @property
    def name(self) -> str:
        return f"{self.tenant} {self.agent}".strip()


def ignore_progress(what: str, done: int, every: int) -> None:
    """Report no progress."""


def migrate_endpoint(
    old: Path,
    new: Path,
    *,
    tell: Told = ignore_progress,
    files: FileOperations | None = None,
    clock: Clock | None = None,
) -> MigrationResult:
    """Move the endpoint in the folder `old` to the one that `endpoint prepare` made for `new`, or continue a move.

    Raises EndpointBusy if another process does it, EndpointSettings, NoEndpoint, KeySourceRefused before anything
    changed; VaultBusy and VaultFull if database, object store or disk fail for longer than a minute.
    """
    files, clock = files or SystemFiles(), clock or SystemClock()
    old, new = Path(os.path.realpath(old)), Path(os.path.realpath(new))
    found = _settings(old, files)
    with _alone(old), contextlib.closing(MigrationTarget(new, found, files=files, clock=clock)) as target:
        markers = MoveMarkers(old)
        # An earlier attempt was killed between the commit and the markers.
        if target.is_finished():
            markers.begin()
            markers.finish()
            return MigrationResult(was_done=True)
        since = markers.begin()
        reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_SETTLED)
        target.begin()
        source = OldFolder(old, files)
        with contextlib.closing(target.engine()) as engine:
            target.keep_signing_key(old, engine)
            target.keep_certificates(old)
            moved = _carried(source, engine, MigrationMarks(engine.control(), since), clock, tell)
            if not moved.problems:
                _patiently(lambda: _finish(source, engine, found.id, markers, clock))
        return moved


def _finish(source: OldFolder, engine: SharedEngine, endpoint_id: str, markers: MoveMarkers, clock: Clock) -> None:
    with source.control() as rows:
        control_copy.finish_control(rows, engine.control(), endpoint_id, markers, clock.now())


def abort_migration(
    old: Path, new: Path | None = None, *, files: FileOperations | None = None, clock: Clock | None = None
) -> bool:
    """Make the old endpoint accept changes again; return False if it already did.

    When the move may have been finished, `new` is needed to check that it was not. Raises EndpointMoved if it was,
    EndpointBusy.
    """
    files, clock = files or SystemFiles(), clock or SystemClock()
    old = Path(os.path.realpath(old))
    found, markers = _settings(old, files), MoveMarkers(old)
    with _alone(old):
        if markers.since is None and not markers.is_over:
            return False
        if markers.is_over:
            if new is None:
                raise errors.EndpointMoved(
                    "the move may already be finished; give the new endpoint with --to, so that Lifeboat can check",
                    fix="lifeboat endpoint migrate --abort --data DIR --to NEW",
                )
            with contextlib.closing(
                MigrationTarget(Path(os.path.realpath(new)), found, files=files, clock=clock)
            ) as target:
                if target.is_finished():
                    raise errors.EndpointMoved("the move is finished: agents push to the new endpoint")
        markers.take_back()
        return True


def _settings(folder: Path, files: FileOperations) -> EndpointConfig:
    found = endpoint_config.read_config(folder, files)
    if found.store is not None:
        raise errors.EndpointSettings(f"the endpoint in {folder} already stores its data in a shared database")
    return found


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with hold_lock_file(folder / LOCK, seconds=0, busy=errors.EndpointBusy("another process is moving this endpoint")):
        yield


def _carried(
    source: OldFolder, engine: SharedEngine, marks: MigrationMarks, clock: Clock, tell: Told
) -> MigrationResult:
    copier, moved = TenantCopier(source, engine, clock), MigrationResult()
    with source.control() as rows:
        wait_for_writers(rows)
        tenants = [tenant_id for (tenant_id,) in rows.rows(_TENANTS)]
    # Tenants come first, then their vaults.
    jobs = [_CopyJob(tenant_id) for tenant_id in tenants]
    jobs += [_CopyJob(tenant_id, *agent) for tenant_id in tenants for agent in copier.agents(tenant_id)]
    moved.tenants, moved.agents = len(tenants), len(jobs) - len(tenants)

    def work(job: _CopyJob) -> CopiedData:
        if marks.has(job.name):
            return CopiedData()
        done = _patiently(lambda: copier.agent(*job) if job.agent else copier.tenant(job.tenant))
        reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_COMPARED)
        _patiently(lambda: marks.set(engine.control(), job.name))
        return done

    tell("moving", 0, len(jobs))
    for number, (job, done) in enumerate(_together(work, jobs), 1):
        if isinstance(done, LifeboatError):
            moved.problems.append(f"{job.name}: {done.message}")
        else:
            moved.carried.add(done)
        tell("moving", number, len(jobs))
    return moved


def _together(
    work: Callable[[_CopyJob], CopiedData], jobs: list[_CopyJob]
) -> Iterator[tuple[_CopyJob, CopiedData | LifeboatError]]:
    """Yield the result of each job as it ends, several at a time.

    An error of one job does not stop the others; an error of database, object store or disk ends all of them.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        begun: dict[Future[CopiedData], _CopyJob] = {pool.submit(work, job): job for job in jobs}
        try:
            for future in as_completed(begun):
                try:
                    yield begun[future], future.result()
                except (errors.VaultDamaged, errors.VaultMissing, errors.VaultNewer, errors.DraftInvalid) as error:
                    yield begun[future], error
        finally:
            pool.shutdown(cancel_futures=True)


def _patiently(work: Callable[[], Result]) -> Result:
    """Retry while the store is busy. `work` must be repeatable."""
    wait = _FIRST_WAIT
    for _ in range(_TRIES - 1):
        try:
            return work()
        except errors.VaultBusy:
            time.sleep(wait)
            wait *= 2
    return work()
