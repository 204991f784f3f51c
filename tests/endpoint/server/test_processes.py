"""The first process of a server: which processes answer, hang, and are replaced."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from lifeboat_endpoint.server.process_supervisor import ProcessSupervisor, SupervisionTimes
from support.patience import patience
from support.waiting import until

QUESTION = b"GET /livez HTTP/1.1\r\nHost: lifeboat\r\n\r\n"


class FakeProcess:
    """A process that answers its probe from a thread until it hangs, and ends when it is told to."""

    def __init__(self, probe: socket.socket, *, deaf: bool = False) -> None:
        self.probe = probe.dup()
        self.deaf = deaf
        self.hangs = threading.Event()
        self.asked = 0
        self.ended: list[str] = []
        self.sentinel, self._ends = socket.socketpair()
        threading.Thread(target=self._answer, daemon=True).start()

    def is_alive(self) -> bool:
        return not self.ended

    def terminate(self) -> None:
        if not self.deaf:
            self.die("terminated")

    def kill(self) -> None:
        self.die("killed")

    def join(self) -> None:
        assert self.ended

    def die(self, how: str) -> None:
        if not self.ended:
            self.ended.append(how)
            self._ends.close()

    def _answer(self) -> None:
        with contextlib.suppress(OSError):  # the supervisor has closed its end
            while self.probe.recv(1000) == QUESTION:
                self.asked += 1
                if not self.hangs.is_set():
                    self.probe.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")


class Supervised:
    """A supervisor with short limits in a thread, and its processes in the order of their start."""

    def __init__(self) -> None:
        self.started: list[FakeProcess] = []
        self.answers, self.well = threading.Event(), threading.Event()
        self.deaf = False
        self.forgotten: list[FakeProcess] = []
        self.whole: list[bool] = []
        self.supervisor = ProcessSupervisor(
            self._start,
            2,
            0.0,
            self.answers.set,
            self.well.set,
            forget=self.forgotten.append,
            times=SupervisionTimes(every=0.01, limit=0.3, look=0.01, grace=0.1),
        )
        self._thread = threading.Thread(target=lambda: self.whole.append(self.supervisor.run()), daemon=True)
        self._thread.start()

    def _start(self, probe: socket.socket) -> FakeProcess:
        self.started.append(FakeProcess(probe, deaf=self.deaf))
        return self.started[-1]

    def end(self, begin: Callable[[], None]) -> bool:
        """Call `begin` and return what `run` returned."""
        begin()
        self._thread.join(patience())
        return self.whole[0]


@pytest.fixture
def supervised() -> Iterator[Supervised]:
    found = Supervised()
    yield found
    found.end(found.supervisor.interrupt)


def test_each_process_is_asked_again_and_again(supervised: Supervised) -> None:
    assert supervised.answers.wait(patience())
    until(lambda: all(each.asked > 5 for each in supervised.started), "several questions")
    assert len(supervised.started) == 2
    assert supervised.end(supervised.supervisor.interrupt) is True
    assert [each.ended for each in supervised.started] == [["terminated"]] * 2


def test_a_process_that_does_not_answer_is_killed_and_replaced(supervised: Supervised) -> None:
    assert supervised.answers.wait(patience())
    hanging = supervised.started[1]
    hanging.hangs.set()
    until(lambda: hanging.ended == ["killed"] and len(supervised.started) == 3, "another process")
    until(lambda: supervised.started[2].asked > 1, "questions to it")
    until(lambda: supervised.forgotten == [hanging], "its figures to go")
    assert not supervised.started[0].ended


def test_the_watchdog_is_not_fed_until_all_answer_again(supervised: Supervised) -> None:
    assert supervised.well.wait(patience())
    for each in supervised.started:
        each.hangs.set()
    until(lambda: len(supervised.started) == 4, "two others")
    supervised.well.clear()
    assert supervised.well.wait(patience())


def test_a_process_that_died_ends_the_server(supervised: Supervised) -> None:
    assert supervised.answers.wait(patience())
    assert supervised.end(lambda: supervised.started[0].die("died")) is False
    assert supervised.started[1].ended == ["terminated"]


def test_others_take_over_before_the_former_end(supervised: Supervised) -> None:
    assert supervised.answers.wait(patience())
    former = list(supervised.started)
    supervised.supervisor.reload()
    until(lambda: all(each.ended == ["terminated"] for each in former), "the end of the former")
    assert len(supervised.started) == 4
    assert all(each.asked for each in supervised.started[2:])


def test_a_process_that_does_not_end_is_killed() -> None:
    supervised = Supervised()
    assert supervised.answers.wait(patience())
    for each in supervised.started:
        each.deaf = True
    assert supervised.end(supervised.supervisor.interrupt) is True
    assert [each.ended for each in supervised.started] == [["killed"]] * 2
