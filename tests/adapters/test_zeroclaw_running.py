"""A running ZeroClaw is detected from outside, quickly, and without contacting it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.zeroclaw import ADAPTER
from support.adapters.zeroclaw_installs import Install, make_install
from support.short_folders import short

__all__ = ["short"]

pytestmark = pytest.mark.skipif(not shutil.which("sleep") or sys.platform == "win32", reason="needs a program to copy")


@pytest.fixture
def made(short: Path) -> Install:
    return make_install(short / "user/.zeroclaw")


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Path]:
    """A program named zeroclaw that only waits."""
    copied = tmp_path / "bin/zeroclaw"
    copied.parent.mkdir()
    shutil.copy(shutil.which("sleep") or "", copied)
    yield copied


def located(made: Install) -> Installation:
    return ADAPTER.locate(made.workspace(), {}, made.home.parent)


@pytest.fixture
def started(program: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    every: list[subprocess.Popen[bytes]] = []
    yield every
    for one in every:
        one.kill()
        one.wait()


def start(started: list[subprocess.Popen[bytes]], program: Path, **environment: str) -> int:
    process = subprocess.Popen([program, "60"], env={"PATH": "/usr/bin:/bin", **environment}, cwd="/")
    started.append(process)
    return process.pid


def test_nothing_runs_on_an_installation_that_nobody_uses(made: Install) -> None:
    assert ADAPTER.placement.running(located(made)) == ""


@pytest.mark.parametrize("name", ["ZEROCLAW_CONFIG_DIR", "ZEROCLAW_DATA_DIR", "ZEROCLAW_WORKSPACE"])
def test_a_process_that_was_told_to_use_the_home_is_seen(
    made: Install, program: Path, started: list[subprocess.Popen[bytes]], name: str
) -> None:
    pid = start(started, program, HOME="/nowhere", **{name: str(made.home)})
    assert ADAPTER.placement.running(located(made)) == f"zeroclaw, process {pid}"


def test_a_process_of_the_user_uses_the_default_home(
    made: Install, program: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    pid = start(started, program, HOME=str(made.home.parent))
    assert ADAPTER.placement.running(located(made)) == f"zeroclaw, process {pid}"


def test_a_process_of_another_home_is_none_of_ours(
    made: Install, program: Path, started: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    start(started, program, HOME=str(made.home.parent), ZEROCLAW_CONFIG_DIR=str(tmp_path / "other"))
    start(started, program, HOME=str(tmp_path / "someone"))
    assert ADAPTER.placement.running(located(made)) == ""


def test_a_daemon_that_listens_is_seen(made: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made.data)
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind("daemon.sock")
        server.listen(1)
        assert ADAPTER.placement.running(located(made)).startswith("zeroclaw daemon, listening on ")


def test_the_socket_of_a_killed_daemon_means_nothing(made: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made.data)
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind("daemon.sock")
    assert ADAPTER.placement.running(located(made)) == ""


def test_the_process_that_a_daemon_wrote_down_is_seen(
    made: Install, program: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    pid = start(started, program, HOME="/nowhere")
    record(made, json.dumps({"pid": pid}))
    assert ADAPTER.placement.running(located(made)) == f"zeroclaw, process {pid}"


@pytest.mark.parametrize(
    "text", ["", "rubbish", "[]", '{"pid": "x"}', '{"pid": -1}', '{"pid": 1e400}', '{"pid": 2147483646}']
)
def test_rubbish_that_a_daemon_wrote_means_nothing(made: Install, text: str) -> None:
    record(made, text)
    assert ADAPTER.placement.running(located(made)) == ""


def test_a_number_that_another_program_has_now_means_nothing(made: Install) -> None:
    record(made, json.dumps({"pid": os.getpid()}))
    assert ADAPTER.placement.running(located(made)) == ""


def record(made: Install, text: str) -> None:
    (made.data / "state").mkdir()
    (made.data / "state/daemon_state.json").write_text(text)


@pytest.mark.parametrize(("user", "counts"), [("same", True), ("other", False)])
def test_a_process_that_cannot_be_looked_into_counts_for_its_user(
    made: Install,
    program: Path,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    user: str,
    counts: bool,
) -> None:
    start(started, program, HOME="/nowhere")

    def refused(process: psutil.Process) -> dict[str, str]:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "environ", refused)
    # Another test may have a process of this name at the same time.
    monkeypatch.setattr(psutil.Process, "username", lambda process: "same" if process.pid == os.getpid() else user)
    assert bool(ADAPTER.placement.running(located(made))) is counts


def test_a_process_that_ends_while_it_is_looked_at_is_not_at_work(
    made: Install, program: Path, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    start(started, program, HOME=str(made.home.parent))

    def gone(process: psutil.Process) -> dict[str, str]:
        raise psutil.NoSuchProcess(process.pid)

    monkeypatch.setattr(psutil.Process, "environ", gone)
    assert ADAPTER.placement.running(located(made)) == ""


def test_a_process_that_is_just_being_started_is_looked_at_until_it_says_which_home_it_uses(
    made: Install, program: Path, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = start(started, program, HOME=str(made.home.parent))
    looks: list[int] = []
    whole = psutil.Process.environ

    def not_at_once(process: psutil.Process) -> dict[str, str]:
        if process.pid != pid:
            return whole(process)
        looks.append(process.pid)
        return {} if len(looks) < 4 else {"HOME": str(made.home.parent)}

    monkeypatch.setattr(psutil.Process, "environ", not_at_once)
    assert ADAPTER.placement.running(located(made)) == f"zeroclaw, process {pid}"
    assert len(looks) == 4
