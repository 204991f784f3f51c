"""The queue: what is to be done for which tenant, kept in PostgreSQL and taken by whichever worker comes first.

A job is a kind of work, a tenant and maybe an agent, and nothing else: what there is to do is found in the stores when
it runs, so it may run twice, and one that is asked for twice runs once. It runs at the earliest of the moments that it
was asked for. Who takes a job holds it for a while (its lease) and says again and again that it still works; of a
worker that ended another takes the job over.
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
"""So many failures make a dead job: with the waits between them, about an hour."""
_FIRST_WAIT = timedelta(seconds=30)
_LONGEST_ERROR = 500
_ENDED = "its worker ended without a word"


class JobRequest(NamedTuple):
    """Work of a kind for a tenant, "" for the endpoint itself; of all its agents, or of one."""

    kind: str
    tenant: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class EndpointJob:
    """A job that somebody took. `attempt` counts from 1; `lease` tells this holder from those before and after."""

    id: int
    kind: str
    tenant: str
    agent: str
    attempt: int
    lease: int


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as whoever runs the endpoint sees it. `due_at`: when it may be taken; of one that runs, when its lease
    ends. `changed_at`: since when it is in this state."""

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
    """How many jobs of a kind are in a state, and how long the oldest of those that may be taken waits (seconds)."""

    kind: str
    state: State
    jobs: int
    oldest: float


class LatestRuns(NamedTuple):
    """`now` by the clock of the database, and when each kind of work came to its end for a tenant the last time, well
    or not, by kind and tenant."""

    now: datetime
    ended: Mapping[tuple[str, str], datetime]


def wait_after(attempt: int, chance: float) -> timedelta:
    """How long a job waits after its `attempt`-th failure. `chance` from 0 to 1 spreads those that failed together:
    from half as long to half as long again."""
    return _FIRST_WAIT * ((0.5 + chance) * 2.0 ** (attempt - 1))


class EndpointQueue:
    """For many threads. Every method is one transaction and raises VaultError where the database does not answer."""

    def __init__(self, pool: Pool, *, chance: Callable[[], float] = random.random) -> None:
        """`pool`: of the role of workers; with the role of the servers only `add` can be used."""
        self._pool = pool
        self._chance = chance

    # Asking for work --------------------------------------------------------------------------------------------

    def add(self, kind: str, *, tenant: str = "", agent: str = "", run_at: datetime | None = None) -> None:
        """Ask for work at a time, None for now. Of what waits already the earlier time counts; a job that failed waits
        on, and one that runs is done once more after it. A server asks only for the tenant that it serves: VaultError
        for others."""
        given = {"kind": kind, "tenant": tenant, "agent": agent, "run_at": run_at}
        with self._transaction() as cursor:
            cursor.execute(sql.SET_TENANT, (tenant,))
            cursor.execute(sql.WISH, given)

    def add_missing(self, wanted: Sequence[JobRequest]) -> int:
        """Ask for work now where none of it waits or runs; how many jobs are new."""
        if not wanted:
            return 0
        columns = [list(column) for column in zip(*wanted, strict=True)]
        with self._transaction() as cursor:
            return cursor.execute(sql.PLAN, columns).rowcount

    # Working ----------------------------------------------------------------------------------------------------

    def take(self, worker: str, lease: timedelta, kinds: Sequence[str]) -> EndpointJob | None:
        """The next job of one of these kinds, for `worker` (a name for people), or None when nothing is due. Purges
        come first, then whose turn it is. One whose worker ended too often is given up."""
        with self._transaction() as cursor:
            while (row := cursor.execute(sql.TAKE, (worker, lease, list(kinds))).fetchone()) is not None:
                job = EndpointJob(*row)
                if job.attempt <= MOST_ATTEMPTS:
                    return job
                _give_up(cursor, job, _ENDED)
        return None

    def heartbeat(self, job: EndpointJob, lease: timedelta) -> None:
        """It is still worked at: the lease begins anew. Raises LeaseLost."""
        with self._transaction() as cursor:
            cursor.execute(sql.HEARTBEAT, {**_held(job), "seconds": lease})
            _check(cursor.rowcount, job)

    def finish(self, job: EndpointJob) -> None:
        """It is done; what failed of the same before is forgotten. Raises LeaseLost."""
        with self._transaction() as cursor:
            if cursor.execute(sql.FINISH, _held(job)).rowcount == 0:
                _check(cursor.execute(sql.FINISH_AND_WAIT, _held(job)).rowcount, job)
            cursor.execute(sql.DROP_DEAD, _named(job))
            cursor.execute(sql.NOTE_END, _named(job))

    def fail(self, job: EndpointJob, error: str) -> State:
        """It could not be done, which `error` says without content. It waits, longer each time, or is given up: the
        state it is in now. Raises LeaseLost."""
        error = error.replace("\0", "")[:_LONGEST_ERROR]
        with self._transaction() as cursor:
            if job.attempt >= MOST_ATTEMPTS:
                _give_up(cursor, job, error)
                return "dead"
            wait = wait_after(job.attempt, self._chance())
            _check(cursor.execute(sql.FAIL, {**_held(job), "error": error, "wait": wait}).rowcount, job)
        return "waiting"

    def release(self, job: EndpointJob) -> None:
        """Give it back as if it had not been taken. Raises LeaseLost."""
        with self._transaction() as cursor:
            _check(cursor.execute(sql.RELEASE, _held(job)).rowcount, job)

    def put_off(self, job: EndpointJob, wait: timedelta) -> None:
        """It cannot be done now, which is nobody's failure: it waits. Raises LeaseLost."""
        with self._transaction() as cursor:
            _check(cursor.execute(sql.PUT_OFF, {**_held(job), "wait": wait}).rowcount, job)

    # Looking after it -------------------------------------------------------------------------------------------

    def jobs(self, limit: int = 1000) -> list[JobRow]:
        """In the order in which they would be taken, those that were given up last."""
        with self._transaction() as cursor:
            return [JobRow(*row) for row in cursor.execute(sql.JOBS, (limit,))]

    def dead(self) -> list[JobRow]:
        """Those that were given up, and did not succeed since."""
        with self._transaction() as cursor:
            return [JobRow(*row) for row in cursor.execute(sql.DEAD)]

    def retry(self, job_id: int) -> JobRow:
        """Have one that was given up, or that waits, done now; what it was. Raises EndpointError.UNKNOWN_JOB,
        EndpointBusy for one that runs."""
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
        """Forget one that was given up, or that waits; what it was. Raises EndpointError.UNKNOWN_JOB, EndpointBusy for
        one that runs."""
        with self._transaction() as cursor:
            found = _found(cursor, job_id)
            if cursor.execute(sql.DROP, (job_id,)).rowcount == 0:
                raise _runs(job_id)
        return found

    def counts(self) -> list[JobCount]:
        """By kind and state, for figures."""
        with self._transaction() as cursor:
            return [JobCount(*row) for row in cursor.execute(sql.COUNTS)]

    def latest(self) -> LatestRuns:
        with self._transaction() as cursor:
            ended = {(kind, tenant): ended_at for kind, tenant, ended_at in cursor.execute(sql.LATEST)}
            return LatestRuns(cursor.execute(sql.NOW).fetchall()[0][0], ended)

    def forget(self, tenants: Sequence[str]) -> None:
        """Nothing more is known of when their work was done."""
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
        raise LeaseLost(f"the job {job.id} is no longer held: another worker may be at it")


def _give_up(cursor: Cursor, job: EndpointJob, error: str) -> None:
    """Only the newest of its kind is kept."""
    _check(cursor.execute(sql.HOLD, _held(job)).rowcount, job)
    cursor.execute(sql.DROP_DEAD, _named(job))
    cursor.execute(sql.GIVE_UP, {**_held(job), "error": error})
    cursor.execute(sql.NOTE_END, _named(job))


def _found(cursor: Cursor, job_id: int) -> JobRow:
    row = cursor.execute(sql.JOB, (job_id,)).fetchone()
    if row is None:
        raise EndpointError.UNKNOWN_JOB(f"there is no job {job_id}")
    found = JobRow(*row)
    if found.state == "running":
        raise _runs(job_id)
    return found


def _runs(job_id: int) -> EndpointBusy:
    return EndpointBusy(f"a worker is at the job {job_id}")
