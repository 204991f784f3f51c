"""Replay a trace of the model of sealed remotes against the real code: each machine's work is a forked process that
stops at the crash points of the model, so any interleaving of machines, crashes and days asleep is possible."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.remotes import acknowledged_states, remote_kinds, vault_bundles
from lifeboat_core.remotes.sealed.log_head import LogHead
from lifeboat_core.remotes.sealed.sealed_log import SealedLog
from lifeboat_vault.errors import EpochMoved
from support.core.machines import Machine as RealMachine
from support.model.sealed_protocol import Phase, Sequence, World

POINTS = {
    Phase.DECIDED: CrashPoint.REPLICATE_DECIDED,
    Phase.WRITTEN: CrashPoint.SEALED_HEAD_REPLACED,
    Phase.SENT: CrashPoint.REPLICATE_SENT,
    Phase.PULLED: CrashPoint.ADOPT_PULLED,
    Phase.SET_ASIDE: CrashPoint.ADOPT_SET_ASIDE,
    Phase.RAISING: CrashPoint.SEALED_HEAD_REPLACED,
    Phase.RAISED: CrashPoint.ADOPT_EPOCH_RAISED,
    Phase.COMPACTED: CrashPoint.SEALED_HEAD_REPLACED,
    Phase.SWEEPING: CrashPoint.SEALED_SWEPT,
}
"""Where the real code is in a phase of the model."""
_STOPPED, _ENDED, _FAILED = b"s", b"e", b"f"
_GO, _SLEEP = b"g", b"z"
_HOURS = 25


class Work:
    """An operation of a machine in a process of its own, which stops at one of `points` at a time."""

    def __init__(self, machine: RealMachine, work: Callable[[], Any]) -> None:
        child_reads, self._command = os.pipe()
        self._answers, child_writes = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._command)
            os.close(self._answers)
            _work_as_child(machine, work, child_reads, child_writes)
        os.close(child_reads)
        os.close(child_writes)

    def run_to(self, point: CrashPoint | None) -> bool:
        """Go on to a crash point, or to the end (None). Return whether it got there.

        The traceback of an operation that failed is on standard error.
        """
        os.write(self._command, _GO + (point or "").encode().ljust(40))
        answer = os.read(self._answers, 1)
        if answer != _STOPPED:
            self._close()
        return answer == (_ENDED if point is None else _STOPPED)

    def sleep(self) -> None:
        os.write(self._command, _SLEEP.ljust(41))

    def kill(self) -> None:
        """End the process, unless it ended, as a power cut would."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)
            self._close()

    def _close(self) -> None:
        os.waitpid(self._child, 0)
        self._child = 0
        os.close(self._command)
        os.close(self._answers)


def _work_as_child(machine: RealMachine, work: Callable[[], Any], reads: int, writes: int) -> None:
    wanted = ""

    def wait() -> None:
        nonlocal wanted
        while True:
            command = os.read(reads, 41)
            if command[:1] == _GO:
                wanted = command[1:].decode().strip()
                return
            machine.clock.sleep(hours=_HOURS)

    def hook(point: CrashPoint) -> None:
        if point == wanted:
            os.write(writes, _STOPPED)
            wait()

    try:
        wait()
        crash_points.hook = hook
        work()
        os.write(writes, _ENDED)
    except BaseException:
        traceback.print_exc()
        os.write(writes, _FAILED)
    os._exit(0)


class Seen(NamedTuple):
    """What can be compared: the epoch at the remote, its sequences as (number, epoch, is a delta), and for each machine
    its epoch, its newest number and the number that it knows to be there."""

    epoch: int
    rows: tuple[tuple[int, int, bool], ...]
    machines: tuple[tuple[int, int, int | None], ...]


def seen_in_model(world: World) -> Seen:
    rows = tuple((row.sequence.number, row.sequence.epoch, row.base >= 0) for row in world.head.rows)
    machines = tuple(
        (each.epoch, each.history[-1].number, _number(each.known)) for each in world.machines if each.history
    )
    return Seen(world.head.epoch, rows, machines)


def _number(sequence: Sequence | None) -> int | None:
    return None if sequence is None else sequence.number


class Replay:
    """Real machines under `folder`, brought back to the same beginning before each trace.

    `begin` makes the machines and their remote "home" in `folder`; it is called once.
    """

    def __init__(self, folder: Path, begin: Callable[[Path], list[RealMachine]]) -> None:
        self._live, self._kept = folder / "live", folder / "kept"
        self._live.mkdir()
        self.machines = begin(self._live)
        shutil.copytree(self._live, self._kept, symlinks=True)
        self._clocks = [machine.clock.moment for machine in self.machines]
        self._working: dict[int, Work] = {}
        self._writes = 0

    def begin_again(self) -> None:
        for work in self._working.values():
            work.kill()
        self._working.clear()
        shutil.rmtree(self._live)
        shutil.copytree(self._kept, self._live, symlinks=True)
        for machine, moment in zip(self.machines, self._clocks, strict=True):
            machine.clock.moment = moment

    # Actions ------------------------------------------------------------------------------------------------------

    def do(self, action: str, after: World) -> str:
        """Do what the model did. Return why the real operation did not stop where the model's is, or end; "" if it
        did."""
        if action == "a day passes":
            self._let_a_day_pass()
            return ""
        index = int(action.partition(":")[0])
        what = action.partition(": ")[2]
        phase = after.machines[index].phase
        if what == "crash":
            self._working.pop(index).kill()
            return ""
        if what.startswith("list "):
            return ""  # the real sweep lists, checks and removes behind one crash point
        if index not in self._working:
            self._working[index] = Work(self.machines[index], self._operation(index, what))
        point = POINTS[phase] if phase is not Phase.IDLE else None
        if not self._working[index].run_to(point):
            return f"{action}: the real operation is not at {point or 'its end'}"
        if point is None:
            del self._working[index]
        return ""

    def _operation(self, index: int, what: str) -> Callable[[], Any]:
        machine = self.machines[index]
        if what == "capture":
            self._writes += 1
            text = f"# Memory\n\n## Write {self._writes}\n\nWritten by machine {index}, number {self._writes}.\n"

            def capture() -> None:
                machine.write("MEMORY.md", text)
                assert machine.capture().changed

            return capture
        if what.startswith("read head"):
            return machine.push
        if what.startswith("adopt head"):
            return lambda: self._adopt(machine)
        assert what == "write a snapshot", what
        return lambda: self._compact(machine)

    def _adopt(self, machine: RealMachine) -> None:
        other = next(each for each in self.machines if each is not machine)
        machine.write("MEMORY.md", f"# Memory\n\nTaken over by {machine.folder.name} again.\n")
        with contextlib.suppress(EpochMoved):  # the user is to look at the changes again
            machine.adopt(take_over=other.context.keys().own_name)

    def _compact(self, machine: RealMachine) -> None:
        with (
            machine.context.vault(machine.agent.id) as vault,
            contextlib.closing(remote_kinds.open_remote(machine.context, machine.remote())) as log,
        ):
            assert isinstance(log, SealedLog)
            material = vault_bundles.VaultBundleSource(vault, None)
            log.compact(machine.agent.id, material, renewed=True)

    def _let_a_day_pass(self) -> None:
        for path in self._live.glob("stick/agents/*/0*"):
            os.utime(path, (path.stat().st_mtime - _HOURS * 3600,) * 2)
        for work in self._working.values():
            work.sleep()
        for machine in self.machines:
            machine.clock.sleep(hours=_HOURS)

    # What is there ------------------------------------------------------------------------------------------------

    def head(self) -> LogHead:
        machine = self.machines[0]
        log = remote_kinds.open_remote(machine.context, machine.remote())
        assert isinstance(log, SealedLog)
        return log._heads.load(machine.agent.id).head

    def seen(self) -> Seen:
        head, machines = self.head(), []
        for machine in self.machines:
            with machine.context.vault(machine.agent.id) as vault:
                newest = vault.head()
                known = acknowledged_states.load_acknowledged(vault).get(machine.remote().id)
                epoch = vault.epoch
            assert newest is not None
            machines.append((epoch, newest.number, None if known is None else known.number))
        rows = tuple((row.number, row.epoch, row.on is not None) for row in head.rows)
        return Seen(head.epoch, rows, tuple(machines))

    def find_fault(self) -> str:
        """Return which invariant the remote breaks, "" for none."""
        head = self.head()
        there = {(row.number, row.digest) for row in head.rows}
        folder = self._live / "stick" / "agents" / head.agent
        if missing := [row.stored.file for row in head.rows if not (folder / row.stored.file).is_file()]:
            return f"the head names a file that was removed: {missing[0]}"
        for machine in self.machines:
            with machine.context.vault(machine.agent.id) as vault:
                for known in acknowledged_states.load_acknowledged(vault).values():
                    if known.number is not None and (known.number, known.digest) not in there:
                        return f"an acknowledged sequence is lost: {known.number}"
        return ""
