"""`lifeboat daemon` and `lifeboat service`, with real daemons."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sysconfig
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_cli import program
from lifeboat_core.errors import ServiceError
from lifeboat_core.history.activity_log import ActivityEntry
from lifeboat_core.home.context import Context
from lifeboat_daemon.control import activity_following
from lifeboat_daemon.control.daemon_client import connect_if_running
from lifeboat_daemon.service import daemon_lifecycle
from lifeboat_daemon.service.daemon_lock import find_lock_holder
from lifeboat_daemon.units import systemd
from lifeboat_keys import child_processes
from support import preloaded
from support.cli.cli_client import run
from support.daemon.fake_systemctl import FakeSystemctl
from support.patience import patience
from support.preloaded import Call, inline
from support.waiting import until

LIFEBOAT = Path(sysconfig.get_path("scripts")) / "lifeboat"


@pytest.fixture(autouse=True)
def ended(isolated_home: Path) -> Iterator[None]:
    """End every daemon with its test."""
    yield
    with contextlib.suppress(Exception):
        found = find_lock_holder(Context.open().home)
        if found is not None and found.pid and found.pid != os.getpid():
            os.kill(found.pid, signal.SIGKILL)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystemctl:
    made = FakeSystemctl(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.path)
    monkeypatch.setattr(systemd, "_PACKAGED", ())
    return made


@pytest.fixture
def forked_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the daemon of commands as a fork."""
    daemon = Call("support.daemon.serving", "be_daemon", (None, None, None, None, []), {"forks_workers": True})
    monkeypatch.setattr(child_processes, "subprocess", preloaded.module_that_forks({daemon_lifecycle.COMMAND: daemon}))


@pytest.fixture
def workspace(isolated_home: Path) -> Path:
    folder = isolated_home / "harbour"
    folder.mkdir()
    for name in ("SOUL.md", "AGENTS.md", "IDENTITY.md", "USER.md", "TOOLS.md"):
        (folder / name).write_text(f"# {name}\n\n- **Name:** Juniper\n")
    (folder / "MEMORY.md").write_text("# Memory\n\n## Boats\n\nThe boat is called Petrel.\n")
    run("agents", "add", folder, "--name", "Juniper")
    return folder


def who_answers() -> int | None:
    """Return the process that serves this home. The lock is not tested, because a starting daemon would find it
    taken."""
    with contextlib.suppress(ServiceError):
        client = connect_if_running(Context.open().home)
        if client is not None:
            with client:
                return client.hello.pid
    return None


def people(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    status = program.run_command(list(arguments))
    return status, capsys.readouterr().out


# Start, status, stop --------------------------------------------------------------------------------------------


def test_a_daemon_is_started_once_asked_and_stopped_once(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started = run("daemon", "start")
    assert started["how"] == "process" and started["answers"]
    until(is_watching, "the workspace to be watched")
    found = run("daemon", "status")
    assert (found["running"], found["pid"], found["problem"]) == (True, started["pid"], None)
    assert found["rss"] > 1_000_000 and found["uptime"] >= 0 and found["address"].endswith("control.sock")
    assert [each["name"] for each in found["agents"]] == ["Juniper"]
    assert found["ticks"] <= found["uptime"], "it looks around once in a while, not at each request"
    assert os.getsid(started["pid"]) == started["pid"], "it has a session of its own"
    limits = Path(f"/proc/{started['pid']}/limits")
    assert not limits.exists() or "Max core file size 0 0" in " ".join(limits.read_text().split())
    again = run("daemon", "start")
    assert (again["how"], again["pid"]) == ("already", started["pid"])
    status, text = people("daemon", "status", capsys=capsys)
    assert status == 0 and f"process {started['pid']}" in text and "Juniper" in text and "tick" not in text
    assert run("daemon", "stop") == {"stopped": True, "pid": started["pid"]}
    assert run("daemon", "stop") == {"stopped": False, "pid": None}
    assert run("daemon", "status", expect=1)["running"] is False
    assert [event["kind"] for event in run("daemon", "log")["events"]][-1] == "stopped"
    status, text = people("daemon", "log", "--lines", "1", capsys=capsys)
    assert status == 0 and text.endswith("info    stopped\n") and text.count("\n") == 1


def is_watching() -> bool:
    agents = run("daemon", "status")["agents"]
    return bool(agents and agents[0]["watches"])


@pytest.mark.usefixtures("forked_daemon")
def test_a_restart_is_another_process_and_starts_one_that_was_killed() -> None:
    pid = run("daemon", "restart")["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: find_lock_holder(Context.open().home) is None, "the lock to be free")
    assert run("daemon", "status", expect=1)["running"] is False
    assert run("daemon", "restart")["pid"] != pid


def test_a_daemon_that_cannot_begin_says_why() -> None:
    home = Context.open().home
    (home.locks_folder / "daemon.lock").mkdir()
    error = run("daemon", "start", expect=1)["error"]
    assert error["code"] == "service" and "status 1" in error["message"] and "daemon.lock" in error["message"]


_SILENT = """
import signal, sys
from lifeboat_core.home.context import Context
from lifeboat_daemon.service.daemon_lock import hold_daemon_lock
with hold_daemon_lock(Context.open(), "0.0.1"):
    print("held", flush=True)
    signal.pause()
"""


@contextlib.contextmanager
def silent() -> Iterator[subprocess.Popen[str]]:
    """Start a process that holds the lock and never answers."""
    with preloaded.Popen(inline(_SILENT), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_daemon_that_does_not_answer_is_said_to_be_and_ends_by_a_signal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with silent() as process:
        found = run("daemon", "status", expect=1)
        assert (found["running"], found["answers"], found["pid"]) == (True, False, process.pid)
        assert found["release"] == "0.0.1" and found["problem"]
        status, text = people("daemon", "status", capsys=capsys)
        assert status == 1 and "What" not in text and str(process.pid) in text
        assert run("daemon", "stop") == {"stopped": True, "pid": process.pid}
        assert process.wait(patience()) == -signal.SIGTERM


def test_a_process_that_is_not_the_daemon_is_never_told_to_end() -> None:
    """The process id in a note may have been reused."""
    context = Context.open()
    with silent(), subprocess.Popen(["sleep", "60"]) as other:
        note = context.home.locks_folder / "daemon.json"
        document = json.loads(note.read_text()) | {"pid": other.pid}
        note.write_text(json.dumps(document))
        error = run("daemon", "stop", expect=1)["error"]
        assert error["code"] == "does_not_answer" and str(other.pid) in error["message"]
        assert other.poll() is None
        other.kill()


@pytest.mark.usefixtures("forked_daemon")
def test_settings_are_read_again_and_a_mistake_in_them_is_said(isolated_home: Path) -> None:
    assert run("daemon", "reload", expect=1)["error"]["code"] == "not_running"
    run("daemon", "start")
    assert run("daemon", "reload") == {"problem": None}
    (isolated_home / "lifeboat" / "config.toml").write_text("cadence = 'sometimes'\n")
    assert "cadence" in run("daemon", "reload", expect=1)["problem"]


def test_in_the_foreground_it_tells_and_ends_with_an_interrupt() -> None:
    with subprocess.Popen([LIFEBOAT, "daemon", "run"], stderr=subprocess.PIPE, text=True) as process:
        until(lambda: who_answers() == process.pid, "it to answer")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=patience())
    assert process.returncode == 0
    assert "started" in said and said.rstrip().endswith("stopped")


# The service ----------------------------------------------------------------------------------------------------


def test_what_would_be_installed_is_shown_and_not_written(fake: FakeSystemctl, isolated_home: Path) -> None:
    shown = run("service", "install", "--print")
    assert shown["path"] == str(isolated_home / ".config/systemd/user/lifeboat.service")
    assert "WatchdogSec=180" in shown["text"] and not Path(shown["path"]).exists() and fake.asked() == []


def test_the_service_is_installed_shown_and_removed(fake: FakeSystemctl, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("service", "status", expect=1)["installed"] is False
    done = run("service", "install", "--no-start")
    assert done["service"]["current"] and done["service"]["enabled"] and not fake.has("active")
    found = run("service", "status")
    assert (found["manager"], found["running"], found["ours"]) == ("systemd", False, True)
    status, text = people("service", "status", capsys=capsys)
    assert status == 0 and "The service is installed with systemd" in text
    assert len(run("service", "uninstall")["done"]) == 2
    status, text = people("service", "status", capsys=capsys)
    assert status == 1 and "lifeboat service install" in text


def test_start_goes_through_the_service_where_it_is_installed(fake: FakeSystemctl) -> None:
    run("service", "install", "--no-start")
    fake.starts(*daemon_lifecycle.COMMAND)
    assert run("daemon", "start")["how"] == "unit"
    assert "start lifeboat.service" in fake.asked()


def test_a_daemon_that_was_started_by_hand_gives_its_place_to_the_service(fake: FakeSystemctl) -> None:
    before = run("daemon", "start")["pid"]
    fake.starts(*daemon_lifecycle.COMMAND)
    run("service", "install")
    until(lambda: who_answers() not in (None, before), "the service")


def test_without_a_service_manager_the_daemon_can_still_be_started(fake: FakeSystemctl) -> None:
    fake.be("absent")
    error = run("service", "install", expect=1)["error"]
    assert (error["code"], error["fix"]) == ("unit", "lifeboat daemon start")
    assert run("daemon", "start")["how"] == "process"


def test_the_service_of_another_home_is_removed_only_when_that_is_meant(
    fake: FakeSystemctl, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("service", "install", "--no-start")
    monkeypatch.setenv("LIFEBOAT_HOME", str(isolated_home / "other"))
    assert run("service", "status", expect=1)["ours"] is False
    assert run("service", "uninstall", expect=1)["error"]["fix"] == "lifeboat service uninstall --force"
    assert run("service", "uninstall", "--force")["done"]


def test_what_the_service_cannot_know_is_advised(
    fake: FakeSystemctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "linger").mkdir()
    monkeypatch.setattr(systemd, "_LINGER", tmp_path / "linger")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USER", "ada")
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", "of the harbour")
    advice = " ".join(run("service", "install", "--no-start")["advice"])
    assert "loginctl enable-linger" in advice and "LIFEBOAT_PASSPHRASE_FILE" in advice
    assert "of the harbour" not in advice


# Following what is done -------------------------------------------------------------------------------------------


def _follower(
    context: Context, seen: list[ActivityEntry], ready: threading.Event, look: threading.Event
) -> Callable[[], None]:
    def follow() -> None:
        def pause() -> None:
            ready.set()
            look.wait(patience())
            look.clear()

        for each in activity_following.follow_activity(context, "Juniper", polls=lambda: None, pause=pause):
            seen.append(each)
            if len(seen) == 2:
                return

    return follow


def test_what_is_done_is_told_once_when_it_is_done(workspace: Path) -> None:
    seen: list[ActivityEntry] = []
    ready, look = threading.Event(), threading.Event()
    thread = threading.Thread(target=_follower(Context.open(), seen, ready, look))
    thread.start()
    for number in (1, 2):
        assert ready.wait(patience())
        ready.clear()
        (workspace / "MEMORY.md").write_text(f"# Memory\n\n## Boats\n\nThe boat number {number}.\n")
        run("sync")
        look.set()
    thread.join(patience())
    assert [each.sequence for each in seen] == [1, 2] and not thread.is_alive()


def test_a_daemon_that_starts_meanwhile_is_listened_to_and_its_end_is_said(workspace: Path) -> None:
    """Without a daemon, and after its end, files are polled. Each change to polling is reported once."""
    moments: list[str] = []
    stopping: list[threading.Thread] = []

    def pause() -> None:
        moments.append("pause")
        if moments.count("pause") == 2:
            daemon_lifecycle.start_daemon(Context.open(), lambda _: None)
        elif moments.count("pause") == 4:
            raise KeyboardInterrupt

    def listens() -> None:
        moments.append("listens")
        stopping.append(threading.Thread(target=daemon_lifecycle.stop_daemon, args=(Context.open(), lambda _: None)))
        stopping[-1].start()

    following = activity_following.follow_activity(
        Context.open(), None, polls=lambda: moments.append("polls"), listens=listens, pause=pause
    )
    with pytest.raises(KeyboardInterrupt):
        list(following)
    for thread in stopping:
        thread.join(patience())
    assert moments == ["polls", "pause", "pause", "listens", "polls", "pause", "pause"]


@pytest.mark.usefixtures("forked_daemon")
def test_with_a_daemon_what_it_captures_is_told_as_it_happens(workspace: Path) -> None:
    run("daemon", "start")
    until(is_watching, "the workspace to be watched")
    command = ["log", "--follow", "--json"]
    with preloaded.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = _first_line(process, workspace)
        finally:
            process.kill()
    assert json.loads(line)["kind"] == "capture" and json.loads(line)["name"] == "Juniper"


def _first_line(process: subprocess.Popen[str], workspace: Path) -> str:
    """Change the workspace until a change is reported: the follower may not listen yet at the first one."""
    found: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=lambda stream: found.append(stream.readline()), args=(process.stdout,))
    reader.start()
    number = 0

    def changed() -> Any:
        nonlocal number
        number += 1
        (workspace / "MEMORY.md").write_text(f"# Memory\n\n## Boats\n\nThe boat number {number}.\n")
        run("sync")
        reader.join(0.2)
        return found

    return str(until(changed, "a change to be told")[0])
