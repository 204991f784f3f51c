"""Captures whose caches cannot be written, and failures that could not be stored."""

from __future__ import annotations

import errno
import sqlite3
from typing import Any

import pytest

from lifeboat_core.agents import manage_agents
from lifeboat_core.capture import capture_run as capturing
from lifeboat_core.health.agent_status import ERROR
from lifeboat_core.health.status_gathering import gather_status
from lifeboat_daemon.control.control_methods import DaemonStatus
from lifeboat_daemon.service import daemon_lifecycle
from lifeboat_daemon.service.daemon_lifecycle import DaemonState
from support.cli.cli_client import run
from support.core.protected import Protected
from support.failing_files import FailingFiles

FULL = sqlite3.OperationalError("database or disk is full")
FULL.sqlite_errorcode = sqlite3.SQLITE_FULL


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), FULL])
def test_a_sequence_that_was_committed_is_reported_though_its_caches_find_no_room(
    ada: Protected, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object) -> None:
        raise error

    ada.write("new.md", "# New\n\nNever seen before.\n")
    with monkeypatch.context() as patched:
        patched.setattr(capturing, "_write", refuse)
        report = ada.capture()
    assert (report.outcome, report.sequence) == ("captured", 1)
    assert any("captured, but the next capture reads every file again" in warning for warning in report.warnings)
    assert ada.capture().outcome == "unchanged"


def test_a_capture_goes_on_without_a_cache_and_status_says_so(ada: Protected) -> None:
    file = ada.context.home.state_file(ada.agent.id)
    file.unlink()
    file.mkdir()
    ada.write("new.md", "# New\n\nNever seen before.\n")
    report = ada.capture()
    assert (report.outcome, report.sequence) == ("captured", 1)
    assert any(str(file) in warning for warning in report.warnings)
    (found,) = gather_status(ada.context).agents
    assert found.state == ERROR and found.sequence == 1 and str(file) in found.reasons[0]


def test_status_says_that_the_disk_is_full_when_nothing_could_be_written_down(tmp_path: Any) -> None:
    class FullDisk(FailingFiles):
        def free_space(self, folder: Any) -> int:
            return 0

    ada = Protected(tmp_path, files=FullDisk(errno.ENOSPC))
    found = gather_status(ada.context)
    assert found.needs_the_user and "is full (0 B free)" in found.problems[0]


@pytest.mark.parametrize("error", [MemoryError("secret text"), RuntimeError("secret text")])
def test_a_mistake_of_the_program_is_noted_without_its_text(
    ada: Protected, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(capturing, "survey_workspace", fail)
        with pytest.raises(type(error)):
            ada.capture()
    (found,) = gather_status(ada.context).agents
    assert found.state == ERROR and type(error).__name__ in found.reasons[0] and "secret" not in found.reasons[0]
    ada.capture()
    assert gather_status(ada.context).agents[0].failed is None


def test_a_mistake_of_the_program_with_one_agent_keeps_sync_from_none_of_the_others(
    ada: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_HOME", str(ada.folder / "home"))
    monkeypatch.setenv("HOME", str(ada.folder / "user"))
    bea = ada.folder / "bea" / "workspace"
    bea.mkdir(parents=True)
    (bea / "SOUL.md").write_text("# Soul\n\nBe calm.\n")
    manage_agents.protect_workspace(ada.context, bea, name="bea", runtime="openclaw")
    original = capturing.survey_workspace

    def fail(session: Any, **options: Any) -> Any:
        if session.agent.name == "ada":
            raise MemoryError
        return original(session, **options)

    monkeypatch.setattr(capturing, "survey_workspace", fail)
    found = {one["name"]: one["state"] for one in run("sync", expect=1)["agents"]}
    assert found == {"ada": "error", "bea": "ok"}


def test_starting_the_daemon_ends_only_once_it_tells_of_itself(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    class Answering:
        def close(self) -> None: ...

    looks = [DaemonState(False), DaemonState(True), DaemonState(True, told=DaemonStatus(True, pid=7))]
    monkeypatch.setattr(daemon_lifecycle, "inspect_daemon", lambda _: looks.pop(0))
    monkeypatch.setattr(daemon_lifecycle, "_if_it_answers", lambda _: Answering())
    monkeypatch.setattr(daemon_lifecycle, "start_detached", lambda *_, **__: None)
    assert daemon_lifecycle.start_daemon(ada.context, lambda _: None).standing.told is not None
    assert looks == []
