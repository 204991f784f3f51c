"""Random sequences of events in the queue, on a real PostgreSQL, against a model of its rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from lifeboat_endpoint.work import endpoint_queue as queue_module
from lifeboat_endpoint.work.endpoint_queue import EndpointJob, EndpointQueue, JobRequest, wait_after
from lifeboat_vault.errors import LeaseLost
from support.endpoint.work_queues import QueueServer, server

__all__ = ["server"]

KINDS = ("apply_purge", "verify")
TENANTS = ("a", "b")
LEASE = timedelta(seconds=600)
MOST_ATTEMPTS = 3
"""Fewer than in earnest, so that a course comes to the end of some."""
DELAYS = (0, 300, 3000)
"""Seconds, far apart: a test takes some too."""
SLACK = 60.0

Key = tuple[str, str]


@dataclass
class Open:
    """A waiting or running job of the model. Times in seconds of the model's clock."""

    due: float
    attempts: int = 0
    holder: EndpointJob | None = None
    again: float | None = None


@dataclass
class Model:
    now: float = 0.0
    open: dict[Key, Open] = field(default_factory=dict)
    dead: set[Key] = field(default_factory=set)

    def takeable(self) -> dict[Key, Open]:
        return {key: job for key, job in self.open.items() if job.due <= self.now}


class Course(RuleBasedStateMachine):
    """Workers that request, take, hang, finish and fail in any order, while time passes."""

    server: QueueServer
    queue: EndpointQueue

    def __init__(self) -> None:
        super().__init__()
        self.server.empty()
        self.model = Model()
        self.held: list[tuple[Key, EndpointJob]] = []

    @rule(kind=st.sampled_from(KINDS), tenant=st.sampled_from(TENANTS), delay=st.sampled_from(DELAYS))
    def add(self, kind: str, tenant: str, delay: int) -> None:
        self.queue.add(kind, tenant=tenant, run_at=datetime.now(UTC) + timedelta(seconds=delay) if delay else None)
        at = self.model.now + delay
        found = self.model.open.get((kind, tenant))
        if found is None:
            self.model.open[kind, tenant] = Open(at)
        elif found.holder is not None:
            found.again = at if found.again is None else min(found.again, at)
        elif found.attempts == 0:
            found.due = min(found.due, at)

    @rule(kind=st.sampled_from(KINDS), tenant=st.sampled_from(TENANTS))
    def add_missing(self, kind: str, tenant: str) -> None:
        new = self.queue.add_missing([JobRequest(kind, tenant)])
        assert new == ((kind, tenant) not in self.model.open)
        self.model.open.setdefault((kind, tenant), Open(self.model.now))

    @rule()
    def take(self) -> None:
        job = self.queue.take("machine", LEASE, KINDS)
        possible = self._bury_those_whose_workers_ended()
        if job is None:
            assert possible == {}
            return
        key = (job.kind, job.tenant)
        assert key in possible
        assert job.kind == "apply_purge" or all(kind != "apply_purge" for kind, _ in possible)
        found = possible[key]
        found.attempts += 1
        found.due = self.model.now + LEASE.total_seconds()
        found.again = found.again if found.again is not None and found.again > self.model.now else None
        found.holder = job
        assert job.attempt == found.attempts
        self.held.append((key, job))

    def _bury_those_whose_workers_ended(self) -> dict[Key, Open]:
        """Return the jobs that may be taken. Jobs that were taken too often before the taken one were given up."""
        left = {(row.kind, row.tenant) for row in self.queue.jobs() if row.state != "dead"}
        for key, found in self.model.takeable().items():
            if found.attempts >= MOST_ATTEMPTS and key not in left:
                self._give_up(key)
        return {key: found for key, found in self.model.takeable().items() if found.attempts < MOST_ATTEMPTS}

    def _give_up(self, key: Key) -> None:
        del self.model.open[key]
        self.model.dead.add(key)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), word=st.sampled_from(["heartbeat", "finish", "finish", "fail", "fail", "release"]))
    def say(self, data: st.DataObject, word: str) -> None:
        """A worker that once took a job reports about it."""
        key, job = data.draw(st.sampled_from(self.held))
        found = self.model.open.get(key)
        if found is None or found.holder is None or found.holder != job:
            with pytest.raises(LeaseLost):
                self._say(word, job)
            return
        self._say(word, job)
        getattr(self, f"_{word}")(key, found)

    def _say(self, word: str, job: EndpointJob) -> None:
        more = {"heartbeat": (LEASE,), "fail": ("no",)}.get(word, ())
        getattr(self.queue, word)(job, *more)

    def _heartbeat(self, key: Key, found: Open) -> None:
        found.due = self.model.now + LEASE.total_seconds()

    def _finish(self, key: Key, found: Open) -> None:
        self.model.dead.discard(key)
        if found.again is None:
            del self.model.open[key]
        else:
            self.model.open[key] = Open(found.again)

    def _fail(self, key: Key, found: Open) -> None:
        if found.attempts >= MOST_ATTEMPTS:
            self._give_up(key)
            return
        found.due = self.model.now + wait_after(found.attempts, 0.5).total_seconds()
        found.holder = None

    def _release(self, key: Key, found: Open) -> None:
        found.attempts -= 1
        found.due = self.model.now
        found.holder = None

    @rule(seconds=st.sampled_from([400, 1000, 5000]))
    def pass_time(self, seconds: int) -> None:
        """Let time pass in steps in which no job becomes due during the seconds of the test."""
        if any(abs(job.due - self.model.now - seconds) < SLACK for job in self.model.open.values()):
            seconds += 3 * int(SLACK)
        self.server.pass_time(seconds)
        self.model.now += seconds

    @precondition(lambda self: self.model.dead)
    @rule(data=st.data(), word=st.sampled_from(["retry", "drop"]))
    def look_after(self, data: st.DataObject, word: str) -> None:
        """The operator decides about dead jobs."""
        key = data.draw(st.sampled_from(sorted(self.model.dead)))
        (row,) = [row for row in self.queue.dead() if (row.kind, row.tenant) == key]
        getattr(self.queue, word)(row.id)
        self.model.dead.discard(key)
        if word == "retry":
            found = self.model.open.setdefault(key, Open(self.model.now))
            if found.holder is not None:
                found.again = self.model.now if found.again is None else min(found.again, self.model.now)
            elif found.attempts == 0:
                found.due = min(found.due, self.model.now)

    @invariant()
    def the_queue_holds_what_the_rules_say(self) -> None:
        rows = self.queue.jobs()
        states = {(row.kind, row.tenant): row for row in rows if row.state != "dead"}
        assert {(row.kind, row.tenant) for row in rows if row.state == "dead"} == self.model.dead
        assert len(rows) == len(self.model.open) + len(self.model.dead)
        assert {
            key: ("running" if job.holder else "waiting", job.attempts) for key, job in self.model.open.items()
        } == {key: (row.state, row.attempts) for key, row in states.items()}
        now = datetime.now(UTC)
        for key, job in self.model.open.items():
            assert abs((states[key].due_at - now).total_seconds() - (job.due - self.model.now)) < SLACK


def test_any_course_of_events_follows_the_rules(server: QueueServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_module, "MOST_ATTEMPTS", MOST_ATTEMPTS)
    Course.server, Course.queue = server, server.queue(chance=lambda: 0.5)
    course = settings(max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Course, settings=course)
    server.close_pools()
