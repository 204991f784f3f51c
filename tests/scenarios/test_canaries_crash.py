"""A crash leaves no secret behind: not in the home, not in temporary files, not in a core file."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.seams.steps import Step
from lifeboat_daemon.capture.run import capture
from lifeboat_daemon.restore import RestoreOptions, recover, restore
from support.adapters import canaries
from support.adapters.canary_scan import Leak, Scanner
from support.adapters.openclaw_workspaces import NEW, OLD
from support.daemon.canary_story import NAME, Story, machine
from support.killing import RESTORE_STEPS, killed_at
from support.patience import patience

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="crashes are made in forks, which this system lacks")

CAPTURE = (
    Step.CAPTURE_READ,
    Step.CAPTURE_DERIVED,
    Step.CAPTURE_BODIES_WRITTEN,
    Step.CAPTURE_ROWS_WRITTEN,
    Step.CAPTURE_COMMITTED,
    Step.CAPTURE_CACHED,
)


@pytest.fixture(params=[OLD, NEW])
def story(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Story]:
    with machine(tmp_path, request.param) as made:
        made.once("agents", "add", made.state.workspace, "--name", NAME)
        made.rotate()
        yield made


def leaks_in_own_folders(story: Story) -> list[Leak]:
    return Scanner.of(canaries.of(story.generation)).folders(story.home, story.temporary)


@pytest.mark.parametrize("step", CAPTURE)
def test_a_capture_that_is_killed_leaves_no_canary(story: Story, step: Step) -> None:
    assert killed_at(lambda: capture(story.context, story.agent), step)
    assert leaks_in_own_folders(story) == []


@pytest.mark.parametrize("step", RESTORE_STEPS)
def test_a_restore_with_credentials_that_is_killed_leaves_no_canary(story: Story, step: Step) -> None:
    """Also when it is killed a second time, while it is taken up again."""
    capture(story.context, story.agent)
    options = RestoreOptions(at=0, with_credentials=True, yes=True, reindex=False)
    assert killed_at(lambda: restore(story.context, story.agent, options), step)
    assert leaks_in_own_folders(story) == []
    killed_at(lambda: recover(story.context), Step.RESTORE_JOURNAL_REMOVED)
    recover(story.context)
    assert leaks_in_own_folders(story) == []
    assert [path.name for path in story.user.rglob("*.lifeboat-stage-*")] == []


@pytest.mark.parametrize("step", [Step.RESTORE_DELIVERY_NOTED, Step.RESTORE_DELIVERED])
def test_a_delivery_to_the_runtime_that_is_killed_leaves_no_canary_in_the_home(story: Story, step: Step) -> None:
    installation = story.out / "installation"
    options = RestoreOptions(
        to=installation / "workspace", state_dir=installation, with_credentials=True, yes=True, reindex=False
    )
    capture(story.context, story.agent)
    was_killed = killed_at(lambda: restore(story.context, story.agent, options), step)
    assert was_killed or story.generation == OLD
    assert leaks_in_own_folders(story) == []
    recover(story.context)
    assert leaks_in_own_folders(story) == []


_CRASHING = """
import os, resource, signal, sys
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
from lifeboat_alf.seams import steps
def hook(step):
    if step == {step!r}:
        os.kill(os.getpid(), {signal})
steps.hook = hook
from lifeboat_daemon.cli import program
{run}(sys.argv[1:])
"""


def crashed(story: Story, step: Step, number: int, *arguments: str | Path, protected: bool = True) -> list[Path]:
    """Let a command of its own process crash in a scratch folder; the core files it leaves there."""
    scratch = story.folder / "scratch"
    scratch.mkdir()
    code = _CRASHING.format(step=str(step), signal=int(number), run="program.main" if protected else "program.run")
    command = [sys.executable, "-c", code, *map(str, arguments)]
    ended = subprocess.run(
        command,
        cwd=scratch,
        env={**os.environ, **story.environment},
        capture_output=True,
        timeout=patience(),
        check=False,
    )
    assert ended.returncode == -number, ended.stderr.decode()
    return list(scratch.iterdir())


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
    assert crashed(story, Step.CAPTURE_READ, signal.SIGABRT, "sync", protected=False)


@needs_cores
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_capture_that_crashes_leaves_no_core_file(story: Story, number: int) -> None:
    assert crashed(story, Step.CAPTURE_READ, number, "sync") == []
    assert leaks_in_own_folders(story) == []


@needs_cores
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_restore_with_credentials_that_crashes_leaves_no_core_file(story: Story, number: int) -> None:
    arguments = ("restore", NAME, "--at", "0", "--with-credentials", "--yes", "--no-reindex")
    assert crashed(story, Step.RESTORE_STAGED, number, *arguments) == []
    assert leaks_in_own_folders(story) == []
