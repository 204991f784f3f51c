"""Probes learn in time what is missing, and cannot overload the checked parts."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lifeboat_endpoint.engines.move_markers import MoveMarkers
from lifeboat_endpoint.server import readiness
from lifeboat_endpoint.server.readiness import Readiness
from lifeboat_vault import errors
from support.endpoint.served_apps import ServedApp, client, served
from support.patience import patience
from support.waiting import until

__all__ = ["client", "served"]


class Thing:
    """A part that answers, fails, or stays silent until it is released."""

    def __init__(self) -> None:
        self.asked = 0
        self.fails: Exception | None = None
        self.silent = threading.Event()
        self.silent.set()
        self.gave_up = False

    def check(self) -> None:
        self.asked += 1
        if not self.silent.wait(patience()):
            self.gave_up = True
        if self.fails:
            raise self.fails


@pytest.fixture
def thing() -> Iterator[Thing]:
    made = Thing()
    yield made
    made.silent.set()


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let answers expire immediately."""
    monkeypatch.setattr(readiness, "FRESH", 0.0)


def test_many_probes_are_one_question(thing: Thing) -> None:
    looking = Readiness({"database": thing.check})
    assert [looking.missing() for _ in range(100)] == [()] * 100
    assert thing.asked == 1


def test_a_good_answer_that_costs_something_counts_longer(thing: Thing, fresh: None) -> None:
    looking = Readiness({"key": thing.check}, fresh={"key": 30.0})
    assert [looking.missing(), looking.missing()] == [(), ()]
    assert thing.asked == 1


def test_a_bad_answer_is_asked_again_soon(thing: Thing, fresh: None) -> None:
    thing.fails = errors.KeySourceAway("no answer")
    looking = Readiness({"key": thing.check}, fresh={"key": 30.0})
    assert looking.missing() == ("key",)
    thing.fails = None
    assert looking.missing() == ()


@pytest.mark.usefixtures("fresh")
def test_what_stays_silent_is_missing_in_time_and_is_asked_once(thing: Thing) -> None:
    thing.silent.clear()
    looking = Readiness({"database": Thing().check, "objects": thing.check}, limit=0.05)
    until(lambda: looking.missing() == ("objects",), "the answer of the database alone")
    assert all("objects" in looking.missing() for _ in range(5))
    assert thing.asked == 1 and not thing.gave_up
    thing.silent.set()
    until(lambda: looking.missing() == (), "the answer to be taken")


def test_why_something_is_missing_stands_once_in_the_log(
    thing: Thing, fresh: None, caplog: pytest.LogCaptureFixture
) -> None:
    thing.fails = errors.VaultBusy("the database does not answer:\n connection refused")
    looking = Readiness({"database": thing.check})
    with caplog.at_level(logging.INFO, logger=readiness.LOGGER.name):
        for _ in range(3):
            looking.missing()
        thing.fails = None
        looking.missing()
        thing.fails = ValueError("secret words of a library")
        looking.missing()
    said = [record.getMessage() for record in caplog.records]
    assert said[:2] == [
        "not ready: database: the database does not answer: connection refused",
        "ready again: database",
    ]
    assert len(said) == 3 and said[2].startswith("not ready: database: ValueError at ")
    assert "secret" not in " ".join(said)


@pytest.mark.parametrize("path", ["/readyz", "/health/ready", "/v1/readyz"])
def test_a_probe_is_told_what_is_missing_and_nothing_more(
    served: ServedApp, client: httpx.Client, path: str, tmp_path: Path
) -> None:
    assert client.get(path, headers={"Authorization": ""}).json() == {"status": "ok"}
    (tmp_path / "endpoint.key").rename(tmp_path / "away.key")
    served.again()
    with served.running() as again:
        answer = again.get(path, headers={"Authorization": ""})
        assert (answer.status_code, answer.json()["detail"]) == (503, "not ready: key")
        assert str(tmp_path) not in answer.text and int(answer.headers["retry-after"]) > 0
        assert again.get("/livez").json() == {"status": "ok"}


def test_a_probe_waits_for_no_agents_work(served: ServedApp, client: httpx.Client) -> None:
    blocked = threading.Event()
    handler = served.app.state.handler
    for lanes in (handler.lanes, handler.transfers):
        for lane in lanes._lanes:
            lane._executor.submit(blocked.wait, 30)
    try:
        assert client.get("/readyz").status_code == 200
    finally:
        blocked.set()


def test_what_much_is_served_without_is_told_of_and_keeps_nobody_from_being_ready(thing: Thing) -> None:
    told: list[tuple[str, bool]] = []
    thing.fails = errors.VaultBusy("no answer")
    looking = Readiness({"objects": thing.check}, optional=("objects",), told=lambda *each: told.append(each))
    assert looking.missing() == () and told == [("objects", False)]


def test_probes_that_find_nothing_leave_no_line_in_the_log(
    served: ServedApp, client: httpx.Client, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """A load balancer asks each server every second."""
    asked = ("/livez", "/readyz", "/health/live", "/health/ready", "/v1/readyz")
    with caplog.at_level(logging.INFO, logger=readiness.LOGGER.name):
        assert {client.get(path).status_code for path in asked} == {200}
        assert not [record for record in caplog.records if "route=" in record.getMessage()]
        (tmp_path / "endpoint.key").rename(tmp_path / "away.key")
        served.again()
        with served.running() as again:
            assert again.get("/readyz").status_code == 503
    assert [record for record in caplog.records if "route=/readyz status=503" in record.getMessage()]


def test_an_endpoint_that_was_moved_is_not_ready_any_more(served: ServedApp, client: httpx.Client) -> None:
    """A load balancer that knows both endpoints sends requests to the other one then."""
    leaving = MoveMarkers(served.app.state.server.endpoint.folder)
    leaving.begin()
    assert client.get("/readyz").status_code == 200
    leaving.finish()
    served.again()
    with served.running() as again:
        answer = again.get("/readyz")
        assert (answer.status_code, answer.json()["detail"]) == (503, "not ready: moved")
