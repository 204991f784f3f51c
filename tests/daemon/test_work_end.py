"""The daemon ends: a worker finishes its capture, every other worker ends soon, and none stays."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_daemon.work import worker_messages
from lifeboat_daemon.work.worker_messages import (
    CancelJob,
    JobFailure,
    JobResult,
    ToDaemon,
    ToWorker,
    WorkerJob,
    WorkerReady,
)
from support import preloaded
from support.daemon import work_program
from support.patience import patience
from support.preloaded import script
from support.waiting import until

Process = subprocess.Popen[bytes]

posix = pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signal")


@contextmanager
def worker(*options: str) -> Iterator[Process]:
    """Start a worker without a daemon. The home exists, as any daemon would have ensured."""
    Context.open()
    words = (str(work_program.HERE), *options)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = preloaded.Popen(script(work_program.HERE), words, **pipes)
    try:
        assert isinstance(heard(process), WorkerReady)
        yield process
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()
        process.wait()


def heard(process: Process) -> ToDaemon:
    assert process.stdout is not None
    return worker_messages.decode_for_daemon(process.stdout.readline())


def say(process: Process, message: ToWorker) -> None:
    assert process.stdin is not None
    process.stdin.write(worker_messages.encode_message(message))
    process.stdin.flush()


def held(process: Process, folder: Path, *, stubborn: bool = False) -> Path:
    """Let a worker hold a job, and return the file that releases it."""
    began, released = folder / "began", folder / "until"
    say(process, WorkerJob(1, "hold", None, {"began": str(began), "until": str(released), "stubborn": stubborn}))
    until(began.exists)
    return released


def gone(process: Process) -> int:
    """Return how it ended, which must be soon."""
    return process.wait(patience())


def test_a_worker_without_work_ends_with_its_daemon() -> None:
    with worker() as process:
        assert process.stdin is not None
        process.stdin.close()
        assert gone(process) == 0


def test_a_capture_is_seen_through_when_its_daemon_is_gone_and_nobody_hears_of_it(tmp_path: Path) -> None:
    with worker("--seen-through", "hold", "--end-within", "0.05") as process:
        released = held(process, tmp_path)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)  # This is longer than other work gets.
        released.touch()
        assert gone(process) == 0


def test_a_job_that_was_sent_just_before_the_end_is_done() -> None:
    with worker() as process:
        say(process, WorkerJob(1, "echo"))
        say(process, WorkerJob(2, "echo"))
        assert process.stdin is not None
        process.stdin.close()
        answers = [heard(process), heard(process)]
        assert [each.number for each in answers if isinstance(each, JobResult | JobFailure)] == [1, 2]
        assert gone(process) == 0


def test_other_work_ends_at_its_next_safe_point_when_its_daemon_is_gone(tmp_path: Path) -> None:
    with worker() as process:
        held(process, tmp_path)
        assert process.stdin is not None
        process.stdin.close()
        answer = heard(process)
        assert isinstance(answer, JobFailure) and answer.error["code"] == "cancelled"
        assert gone(process) == 0


def test_work_that_has_no_safe_point_does_not_outlive_its_daemon_for_long(tmp_path: Path) -> None:
    with worker("--end-within", "0.05") as process:
        held(process, tmp_path, stubborn=True)
        assert process.stdin is not None
        process.stdin.close()
        assert gone(process) == 75


@posix
def test_a_worker_that_the_system_ends_sees_its_capture_through(tmp_path: Path) -> None:
    with worker("--seen-through", "hold") as process:
        released = held(process, tmp_path)
        process.send_signal(signal.SIGTERM)
        released.touch()
        assert isinstance(heard(process), JobResult)
        assert gone(process) == 0


@posix
def test_ctrl_c_at_a_daemon_in_a_terminal_ends_no_capture(tmp_path: Path) -> None:
    with worker("--seen-through", "hold") as process:
        released = held(process, tmp_path)
        process.send_signal(signal.SIGINT)
        released.touch()
        assert isinstance(heard(process), JobResult)


def test_a_cancellation_of_other_work_ends_nothing(tmp_path: Path) -> None:
    with worker() as process:
        released = held(process, tmp_path)
        say(process, CancelJob(7))
        released.touch()
        assert isinstance(heard(process), JobResult)


def test_a_worker_that_is_told_nonsense_ends() -> None:
    with worker() as process:
        assert process.stdin is not None
        process.stdin.write(b"GET / HTTP/1.1\r\n\r\n")
        process.stdin.flush()
        assert gone(process) == 0
