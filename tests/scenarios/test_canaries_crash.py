"""A crash leaves no secret behind: not in the home, not in temporary files, not in a core file."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli import program
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.restore import RestoreOptions, recover_restores, restore_agent
from support.adapters import canaries
from support.adapters.canary_scan import Leak, Scanner
from support.adapters.openclaw_workspaces import NEW, OLD
from support.core.canary_story import NAME, Story, on_machine, protected_machine
from support.killing import RESTORE_STEPS, killed_at
from support.patience import patience
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="crashes are made in forks, which this system lacks")

CAPTURE = (
    CrashPoint.CAPTURE_READ,
    CrashPoint.CAPTURE_DERIVED,
    CrashPoint.CAPTURE_BODIES_WRITTEN,
    CrashPoint.CAPTURE_ROWS_WRITTEN,
    CrashPoint.CAPTURE_COMMITTED,
    CrashPoint.CAPTURE_CACHED,
)


@pytest.fixture(params=[OLD, NEW])
def story(request: pytest.FixtureRequest, prepared_folders: PreparedFolders) -> Iterator[Story]:
    build = partial(protected_machine, generation=request.param)
    made = prepared_folders.restore(f"machine of {request.param}", build)
    with on_machine(made):
        made.rotate()
        yield made


def leaks_in_own_folders(story: Story) -> list[Leak]:
    return Scanner.of(canaries.of(story.generation)).folders(story.home, story.temporary)


@pytest.mark.parametrize("step", CAPTURE)
def test_a_capture_that_is_killed_leaves_no_canary(story: Story, step: CrashPoint) -> None:
    assert killed_at(lambda: capture_agent(story.context, story.agent), step)
    assert leaks_in_own_folders(story) == []


@pytest.mark.parametrize("step", RESTORE_STEPS)
def test_a_restore_with_credentials_that_is_killed_leaves_no_canary(story: Story, step: CrashPoint) -> None:
    """Also when it is killed a second time, while it is taken up again."""
    capture_agent(story.context, story.agent)
    options = RestoreOptions(at=0, with_credentials=True, yes=True, reindex=False)
    assert killed_at(lambda: restore_agent(story.context, story.agent, options), step)
    assert leaks_in_own_folders(story) == []
    killed_at(lambda: recover_restores(story.context), CrashPoint.RESTORE_JOURNAL_REMOVED)
    recover_restores(story.context)
    assert leaks_in_own_folders(story) == []
    assert [path.name for path in story.user.rglob("*.lifeboat-stage-*")] == []


@pytest.mark.parametrize("step", [CrashPoint.RESTORE_DELIVERY_NOTED, CrashPoint.RESTORE_DELIVERED])
def test_a_delivery_to_the_runtime_that_is_killed_leaves_no_canary_in_the_home(story: Story, step: CrashPoint) -> None:
    installation = story.out / "installation"
    options = RestoreOptions(
        to=installation / "workspace", state_dir=installation, with_credentials=True, yes=True, reindex=False
    )
    capture_agent(story.context, story.agent)
    was_killed = killed_at(lambda: restore_agent(story.context, story.agent, options), step)
    assert was_killed or story.generation == OLD
    assert leaks_in_own_folders(story) == []
    recover_restores(story.context)
    assert leaks_in_own_folders(story) == []


_PR_SET_DUMPABLE = 4


def crashed(story: Story, step: CrashPoint, number: int, *arguments: str | Path, protected: bool = True) -> list[Path]:
    """Let a command crash at a step, in a process of an empty folder; return the core files it leaves there."""
    scratch, output = story.folder / "scratch", story.folder / "output of the crash"
    scratch.mkdir()
    command = program.run_program if protected else program.run_command
    child = os.fork()
    if child == 0:
        _crash(partial(command, [str(each) for each in arguments]), step, number, scratch, output)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == -number, output.read_text()
    return list(scratch.iterdir())


def _crash(command: Callable[[], object], step: CrashPoint, number: int, scratch: Path, output: Path) -> NoReturn:
    def hook(reached: CrashPoint) -> None:
        if reached == step:
            os.kill(os.getpid(), number)

    try:
        _allow_core_dumps()
        _end_in_time()
        os.chdir(scratch)
        written = os.open(output, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(written, 1)
        os.dup2(written, 2)
        faulthandler.disable()  # pytest's, which would write to the terminal
        crash_points.hook = hook
        command()
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def _allow_core_dumps() -> None:
    """Undo what a command of an earlier test set for this process. What a core file says is left out of it."""
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    Path("/proc/self/coredump_filter").write_text("0")


def _end_in_time() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(patience()))


def _cores_are_written_here() -> bool:
    pattern = Path("/proc/sys/kernel/core_pattern")
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    return pattern.exists() and pattern.read_text().strip() == "core" and limit == resource.RLIM_INFINITY


needs_cores = pytest.mark.skipif(
    not _cores_are_written_here(), reason="this system writes no core files into the folder of the process"
)


@needs_cores
def test_without_protection_a_crash_would_leave_a_core_file(story: Story) -> None:
    """Else the tests below would prove nothing."""
    assert crashed(story, CrashPoint.CAPTURE_READ, signal.SIGABRT, "sync", protected=False)


@needs_cores
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_capture_that_crashes_leaves_no_core_file(story: Story, number: int) -> None:
    assert crashed(story, CrashPoint.CAPTURE_READ, number, "sync") == []
    assert leaks_in_own_folders(story) == []


@needs_cores
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_restore_with_credentials_that_crashes_leaves_no_core_file(story: Story, number: int) -> None:
    arguments = ("restore", NAME, "--at", "0", "--with-credentials", "--yes", "--no-reindex")
    assert crashed(story, CrashPoint.RESTORE_STAGED, number, *arguments) == []
    assert leaks_in_own_folders(story) == []
