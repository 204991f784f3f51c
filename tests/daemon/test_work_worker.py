"""The worker's process: it owns its streams, lowers its priority, and answers everything."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import BadRequest, Busy, Cancelled, DiskFull, HomeError, UnexpectedError, WorkerFailed
from lifeboat_core.home.context import Context
from support.daemon import offices
from support.daemon.offices import Office
from support.waiting import until_async


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """Open one for all tests of this file, because a worker takes a while to start."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("office") / "home"
        patch.setenv("LIFEBOAT_HOME", str(home))
        Context.open({"LIFEBOAT_HOME": str(home)})
        with offices.office() as made:
            yield made


def test_a_worker_stands_back_and_keeps_no_folder_busy(office: Office) -> None:
    found = office.do("echo", word="ahoy")
    assert found["parameters"] == {"word": "ahoy"}
    assert found["folder"] == os.path.abspath(os.sep)
    if sys.platform == "linux":
        assert found["nice"] == min(19, os.nice(0) + 10)
        assert found["oom"] == "500"
        assert found["session"] == found["pid"]


def test_one_worker_does_one_job_after_the_other(office: Office) -> None:
    assert office.do("echo")["pid"] == office.do("echo")["pid"]


def test_work_reads_nothing_from_the_streams_of_the_worker(office: Office) -> None:
    assert office.do("echo")["input"] == ""


def test_what_a_library_prints_is_no_answer(office: Office) -> None:
    assert office.do("chatter") == {"said": True}
    assert office.do("echo", word="still well")["parameters"] == {"word": "still well"}


def test_there_is_no_operation_but_those_that_are_files(office: Office) -> None:
    for name in ("nothing", "os.path", "../worker", "__init__", "", "écho"):
        with pytest.raises(BadRequest):
            office.do(name)


def test_an_agent_that_is_not_there_is_said(office: Office) -> None:
    unknown = "01935f3e-0000-7000-8000-000000000000"
    with pytest.raises(LifeboatError) as caught:
        office.do("echo", unknown)
    assert caught.value.code == "unknown_agent"


def test_what_fails_comes_back_as_the_error_that_it_is(office: Office) -> None:
    with pytest.raises(Busy) as busy:
        office.do("fail", how="busy")
    assert busy.value.message == "process 4711 holds it (restore)" and busy.value.retryable
    with pytest.raises(DiskFull):
        office.do("fail", how="disk")


def test_a_mistake_of_the_program_says_its_kind_and_nothing_of_what_it_read(office: Office) -> None:
    with pytest.raises(UnexpectedError) as caught:
        office.do("fail", how="mistake")
    assert caught.value.message.startswith("ValueError")
    assert "rosebud" not in caught.value.message


@pytest.mark.parametrize("how", ["cycle", "no json", "too long"])
def test_an_answer_that_no_line_can_hold_is_a_failure(office: Office, how: str) -> None:
    with pytest.raises(UnexpectedError):
        office.do("fail", how=how)
    assert office.do("echo", word="well")["parameters"] == {"word": "well"}


def test_names_of_files_that_are_no_text_come_back_as_they_were(office: Office) -> None:
    assert office.do("tell") == {"name": "caf\udce9"}


def test_progress_is_told_a_few_times_a_second_and_no_oftener(office: Office) -> None:
    office.told.clear()
    begun = time.monotonic()
    office.do("tell")
    most = (time.monotonic() - begun) / 0.25 + 1
    assert 1 <= len(office.told) <= most
    assert office.told[0].total == 10_000


def test_work_that_was_cancelled_ends_at_its_next_safe_point(office: Office, tmp_path: Path) -> None:
    agent = _agent(office)
    began = tmp_path / "began"

    async def story() -> None:
        held = office.work("hold", agent, long=True, began=str(began), until=str(tmp_path / "never"))
        work = asyncio.ensure_future(held)
        await until_async(began.exists)
        assert office.workers.busy
        assert office.workers.cancel(agent) == 1
        with pytest.raises(Cancelled):
            await work

    office.run(story())
    assert not office.workers.busy


@pytest.mark.parametrize(("how", "words"), [("killed", "SIGKILL"), ("exits", "status 3")])
def test_a_worker_that_dies_at_work_is_said_and_the_next_job_has_another(office: Office, how: str, words: str) -> None:
    before = office.do("echo")["pid"]
    with pytest.raises(WorkerFailed, match=words):
        office.do("fail", how=how)
    assert office.do("echo")["pid"] != before


def _agent(office: Office) -> str:
    """Add an agent to the home of the office by its file alone."""
    agent = "01935f3e-0000-7000-8000-000000000001"
    folder = Path(office.do("echo")["home"]) / "agents"
    (folder / f"{agent}.toml").write_text('name = "ada"\nruntime = "openclaw"\nworkspace = "/nowhere"\n')
    return agent


def test_a_worker_makes_no_home_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "gone"))
    with offices.office() as office, pytest.raises(HomeError, match="gone"):
        office.do("echo")
    assert not (tmp_path / "gone").exists()
