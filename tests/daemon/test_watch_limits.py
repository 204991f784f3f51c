"""Limits of the system on watching: missed events cause a scan, and unwatched folders are reported."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_daemon.watch import inotify_limits
from lifeboat_daemon.watch.agent_watcher import CHANGED, RESCAN
from support.daemon.watching import Process, in_process

pytestmark = pytest.mark.skipif(not Path("/proc/sys/fs/inotify").exists(), reason="limits of inotify")
WATCHES, INSTANCES = "/proc/sys/user/max_inotify_watches", "/proc/sys/user/max_inotify_instances"


def limited(setting: str, value: int) -> tuple[str, ...]:
    """Return a command that runs another one as a user of a namespace with a lower limit."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed here")
    tried = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", f"echo {value} > {setting}"], capture_output=True, check=False
    )
    if tried.returncode:
        pytest.skip("this system allows no user namespace")
    return ("unshare", "-Ur", "sh", "-c", f'echo {value} > {setting} && exec "$@"', "sh")


def settled(process: Process) -> JsonObject:
    """Return the coverage once the folder is set up."""
    process.wait(lambda lines: bool(lines))
    return process.ask()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "workspace"
    for number in range(150):
        (made / str(number)).mkdir(parents=True)
    yield made


def test_what_happened_while_nobody_could_listen_is_looked_for(tmp_path: Path) -> None:
    with in_process(tmp_path) as process:
        assert settled(process)["mode"] == "events"
        process.lines.clear()
        with stopped(process):
            overflow(tmp_path)
            (tmp_path / "made" / "meanwhile").mkdir(parents=True)
        process.wait(lambda lines: RESCAN in lines)
        until_watched(process, 3)
        process.lines.clear()
        (tmp_path / "made" / "meanwhile" / "note.md").write_text("x")
        process.wait(lambda lines: CHANGED in lines)


@contextmanager
def stopped(process: Process) -> Iterator[None]:
    process.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.process.send_signal(signal.SIGCONT)


def overflow(folder: Path) -> None:
    """Cause more events than the queue holds. Identical successive events would be merged."""
    with (folder / "a").open("wb", 0) as first, (folder / "b").open("wb", 0) as second:
        for _ in range(10_000):
            first.write(b"x")
            second.write(b"x")


def until_watched(process: Process, folders: int) -> None:
    found = process.ask()
    while found["watches"] != folders:
        found = process.ask()
    assert found["mode"] == "events"


def test_when_not_every_folder_can_be_watched_that_is_said_and_looked_through(folder: Path) -> None:
    with in_process(folder, *limited(WATCHES, 100)) as process:
        found = settled(process)
        assert found["mode"] == "partial" and found["folders"] == 151
        # One of the hundred is for the parent folder.
        assert 99 <= found["watches"] <= 100
        assert f"{found['watches']} of 151 folders" in found["reason"]
        assert "fs.inotify.max_user_watches" in found["reason"] and "sudo sysctl --system" in found["reason"]
        process.lines.clear()
        process.say("check")
        process.wait(lambda lines: RESCAN in lines)


def test_without_room_for_any_watch_it_is_looked_through(folder: Path) -> None:
    with in_process(folder, *limited(WATCHES, 0)) as process:
        found = settled(process)
        assert found["mode"] == "none" and found["watches"] == 0
        assert "fs.inotify.max_user_watches" in found["reason"]
        process.lines.clear()
        process.say("check")
        process.wait(lambda lines: RESCAN in lines)


def test_without_room_for_another_watching_program_it_is_looked_through(folder: Path) -> None:
    with in_process(folder, *limited(INSTANCES, 0)) as process:
        found = settled(process)
        assert found["mode"] == "none" and "fs.inotify.max_user_instances" in found["reason"]


def test_once_there_is_room_every_folder_is_watched(folder: Path) -> None:
    with in_process(folder, *limited(WATCHES, 100)) as process:
        assert settled(process)["mode"] == "partial"
        process.say(f"write 1000 {WATCHES}")
        process.say("retry")
        process.say("check")
        until_watched(process, 151)


def test_an_error_of_the_system_is_explained() -> None:
    assert "max_user_instances" in inotify_limits.explain_watch_error(
        OSError(errno.EMFILE, "inotify instance limit reached")
    )
    assert "max_user_watches=" in inotify_limits.explain_watch_error(OSError(errno.ENOSPC, "No space left on device"))
    assert inotify_limits.explain_watch_error(OSError(errno.EACCES, os.strerror(errno.EACCES))) == "Permission denied"


def test_what_is_taken_is_counted(tmp_path: Path) -> None:
    with in_process(tmp_path) as process:
        settled(process)
        of_it = inotify_limits.count_process_use(process.process.pid)
        assert of_it == inotify_limits.InotifyUse(watches=2, instances=1)
        in_all = inotify_limits.count_user_use()
        assert in_all.watches >= 2 and in_all.instances >= 1
