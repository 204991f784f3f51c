"""The job queue of a shared endpoint, in PostgreSQL.

A job has a kind, a tenant and perhaps an agent, and no other content: it finds its work in the stores. So it may run
twice, and requesting it twice runs it once, at the earliest requested time. A worker holds a job by a lease that it
renews. When a worker dies, another one takes the job after the lease.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lifeboat_endpoint.engines.postgres.libraries import psycopg
from lifeboat_endpoint.engines.postgres.postgres_failures import translate_error
from lifeboat_endpoint.work import queue_statements as sql
from lifeboat_vault.errors import EndpointBusy, EndpointError, LeaseLost

if TYPE_CHECKING:
    from lifeboat_endpoint.engines.postgres.connection_pools import Pool

Cursor = psycopg.Cursor[Any]

State = Literal["waiting", "running", "dead"]
MOST_ATTEMPTS = 8
"""Failures after which a job is dead. With the waits between them this takes about an hour."""
_FIRST_WAIT = timedelta(seconds=30)
_LONGEST_ERROR = 500
_ENDED = "the worker of the job ended unexpectedly"


class JobRequest(NamedTuple):
    """A requested job: its kind, the tenant ("" for the endpoint itself), and an agent ("" for all)."""

    kind: str
    tenant: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class EndpointJob:
    """A job that a worker holds. `attempt` counts from 1; `lease` distinguishes this holder from others."""

    id: int
    kind: str
    tenant: str
    agent: str
    attempt: int
    lease: int


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as the operator sees it.

    `due_at` is when it may be taken, or when the lease of a running one ends. `changed_at` is since when it has its
    state.
    """

    id: int
    kind: str
    tenant: str
    agent: str
    state: State
    attempts: int
    added_at: datetime
    changed_at: datetime
    due_at: datetime
    worker: str
    error: str


class JobCount(NamedTuple):
    """How many jobs of a kind have a state, and how long the oldest due one has waited (seconds)."""

    kind: str
    state: State
    jobs: int
    oldest: float


class LatestRuns(NamedTuple):
    """`now` by the clock of the database, and when each kind of job last ended for a tenant, successful or not."""

    now: datetime
    ended: Mapping[tuple[str, str], datetime]


def wait_after(attempt: int, chance: float) -> timedelta:
    """Return how long a job waits after its `attempt`-th failure.

    `chance` from 0 to 1 spreads jobs that failed together, from half as long to half as long again.
    """
    return _FIRST_WAIT * ((0.5 + chance) * 2.0 ** (attempt - 1))


class EndpointQueue:
    """The queue, for many threads. Every method is one transaction and raises VaultError if the database does not
    answer."""

    def __init__(self, pool: Pool, *, chance: Callable[[], float] = random.random) -> None:
        """`pool` is of the role of workers. With the role of the servers only `add` can be used."""
        self._pool = pool
        self._chance = chance

    # Requests ---------------------------------------------------------------------------------------------------

    def add(self, kind: str, *, tenant: str = "", agent: str = "", run_at: datetime | None = None) -> None:
        """Request a job at a time, None for now.

        The earlier time counts for a waiting job. A failed job keeps its wait, and a running one runs once more
        afterwards. A server may request jobs only for the tenant that it serves: VaultError for others.
        """
        given = {"kind": kind, "tenant": tenant, "agent": agent, "run_at": run_at}
        with self._transaction() as cursor:
            cursor.execute(sql.SET_TENANT, (tenant,))
            cursor.execute(sql.WISH, given)

    def add_missing(self, wanted: Sequence[JobRequest]) -> int:
        """Request jobs now unless they wait or run; return how many are new."""
        if not wanted:
            return 0
        columns = [list(column) for column in zip(*wanted, strict=True)]
        with self._transaction() as cursor:
            return cursor.execute(sql.PLAN, columns).rowcount

    # Working ----------------------------------------------------------------------------------------------------

    def take(self, worker: str, lease: timedelta, kinds: Sequence[str]) -> EndpointJob | None:
        """Take the next due job of these kinds for `worker` (a name for people), or return None.

        Purges come first, then tenants in turn. A job whose worker died too often is given up.
        """
        with self._transaction() as cursor:
            while (row := cursor.execute(sql.TAKE, (worker, lease, list(kinds))).fetchone()) is not None:
                job = EndpointJob(*row)
                if job.attempt <= MOST_ATTEMPTS:
                    return job
                _give_up(cursor, job, _ENDED)
        return None

    def heartbeat(self, job: EndpointJob, lease: timedelta) -> None:
        """Renew the lease. Raises LeaseLost."""
        with self._transaction() as cursor:
            cursor.execute(sql.HEARTBEAT, {**_held(job), "seconds": lease})
            _check(cursor.rowcount, job)

    def finish(self, job: EndpointJob) -> None:
        """Mark a job as done, and forget its earlier failure. Raises LeaseLost."""
        with self._transaction() as cursor:
            # The job was requested again while it ran, or the lease is lost.
            if cursor.execute(sql.FINISH, _held(job)).rowcount == 0:
                _check(cursor.execute(sql.FINISH_AND_WAIT, _held(job)).rowcount, job)
            cursor.execute(sql.DROP_DEAD, _named(job))
            cursor.execute(sql.NOTE_END, _named(job))

    def fail(self, job: EndpointJob, error: str) -> State:
        """Mark a job as failed; return its new state. `error` has no content of tenants. Raises LeaseLost.

        The job waits, longer each time, or is given up.
        """
        error = error.replace("\0", "")[:_LONGEST_ERROR]
        with self._transaction() as cursor:
            if job.attempt >= MOST_ATTEMPTS:
                _give_up(cursor, job, error)
                return "dead"
            wait = wait_after(job.attempt, self._chance())
            _check(cursor.execute(sql.FAIL, {**_held(job), "error": error, "wait": wait}).rowcount, job)
        return "waiting"

    def release(self, job: EndpointJob) -> None:
        """Give a job back as if it had not been taken. Raises LeaseLost."""
        with self._transaction() as cursor:
            _check(cursor.execute(sql.RELEASE, _held(job)).rowcount, job)

    def put_off(self, job: EndpointJob, wait: timedelta) -> None:
        """Let a job wait without counting a failure. Raises LeaseLost."""
        with self._transaction() as cursor:
            _check(cursor.execute(sql.PUT_OFF, {**_held(job), "wait": wait}).rowcount, job)

    # Administration ---------------------------------------------------------------------------------------------

    def jobs(self, limit: int = 1000) -> list[JobRow]:
        """Return jobs in the order in which they are taken, dead ones last."""
        with self._transaction() as cursor:
            return [JobRow(*row) for row in cursor.execute(sql.JOBS, (limit,))]

    def dead(self) -> list[JobRow]:
        """Return the jobs that were given up and have not succeeded since."""
        with self._transaction() as cursor:
            return [JobRow(*row) for row in cursor.execute(sql.DEAD)]

    def retry(self, job_id: int) -> JobRow:
        """Run a dead or waiting job now; return what it was. Raises EndpointError.UNKNOWN_JOB, EndpointBusy for a
        running one."""
        with self._transaction() as cursor:
            found = _found(cursor, job_id)
            if found.state == "waiting" and cursor.execute(sql.REVIVE, (job_id,)).rowcount == 0:
                raise _runs(job_id)
            if found.state == "dead":
                wish = {"kind": found.kind, "tenant": found.tenant, "agent": found.agent, "run_at": None}
                cursor.execute(sql.WISH, wish)
                cursor.execute(sql.DROP, (job_id,))
        return found

    def drop(self, job_id: int) -> JobRow:
        """Delete a dead or waiting job; return what it was. Raises EndpointError.UNKNOWN_JOB, EndpointBusy for a
        running one."""
        with self._transaction() as cursor:
            found = _found(cursor, job_id)
            if cursor.execute(sql.DROP, (job_id,)).rowcount == 0:
                raise _runs(job_id)
        return found

    def counts(self) -> list[JobCount]:
        """Count jobs by kind and state, for metrics."""
        with self._transaction() as cursor:
            return [JobCount(*row) for row in cursor.execute(sql.COUNTS)]

    def latest(self) -> LatestRuns:
        """Return when jobs last ended."""
        with self._transaction() as cursor:
            ended = {(kind, tenant): ended_at for kind, tenant, ended_at in cursor.execute(sql.LATEST)}
            return LatestRuns(cursor.execute(sql.NOW).fetchall()[0][0], ended)

    def forget(self, tenants: Sequence[str]) -> None:
        """Forget when jobs of these tenants ended."""
        with self._transaction() as cursor:
            cursor.execute(sql.FORGET, (list(tenants),))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Cursor]:
        try:
            with self._pool.connection() as connection, connection.transaction(), psycopg.Cursor(connection) as cursor:
                yield cursor
        except psycopg.Error as error:
            raise translate_error(error) from None


def _held(job: EndpointJob) -> dict[str, Any]:
    return {"id": job.id, "lease": job.lease}


def _named(job: EndpointJob) -> dict[str, Any]:
    return {"kind": job.kind, "tenant": job.tenant, "agent": job.agent}


def _check(changed: int, job: EndpointJob) -> None:
    if changed == 0:
        raise LeaseLost(f"the job {job.id} is no longer leased to this worker; another worker may be running it")


def _give_up(cursor: Cursor, job: EndpointJob, error: str) -> None:
    """Mark a job as dead. Only the newest dead job of each kind is kept."""
    _check(cursor.execute(sql.HOLD, _held(job)).rowcount, job)
    cursor.execute(sql.DROP_DEAD, _named(job))
    cursor.execute(sql.GIVE_UP, {**_held(job), "error": error})
    cursor.execute(sql.NOTE_END, _named(job))


def _found(cursor: Cursor, job_id: int) -> JobRow:
    row = cursor.execute(sql.JOB, (job_id,)).fetchone()
    if row is None:
        raise EndpointError.UNKNOWN_JOB(f"no job has the number {job_id}")
    found = JobRow(*row)
    if found.state == "running":
        raise _runs(job_id)
    return found


def _runs(job_id: int) -> EndpointBusy:
    return EndpointBusy(f"a worker is running the job {job_id} now")
