"""Orders and plans for session hooks, which make a runtime tell Lifeboat that a session ended.

An adapter reads and plans; the core carries the plan out: first `write` and `edit`, then `steps`, then `remove`. So a
hook is complete before the runtime loads it, and the runtime has dropped it before its files are removed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True)
class HookStep:
    """A command of the runtime's own program, with additional environment variables."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class HookOrder:
    """The agent that a hook reports, and how it starts Lifeboat. `agent` is Lifeboat's id of the agent. `program` are
    the words that start `lifeboat`; the first is an absolute path. `home` is Lifeboat's home, None for the default one.
    """

    agent: str
    program: tuple[str, ...]
    home: Path | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """Return the words that capture the agent now. The variable `LIFEBOAT_HOME` has to name `home`, and to be
        absent without one."""
        return (*self.program, "sync", self.agent, "--unless-paused")

    @property
    def shell_line(self) -> str:
        """Return a line for a POSIX shell that captures the agent in the background, returns immediately without
        output, and does nothing if Lifeboat is gone. Lifeboat gets a separate process group, by `setsid`
        or by job control where a system has no such program, because runtimes end the group of a hook after a short
        time, in which Lifeboat may not have started."""
        variable = ("-u", "LIFEBOAT_HOME") if self.home is None else (f"LIFEBOAT_HOME={self.home}",)
        started = shlex.join(("env", *variable, *self.command, "--background"))
        detached = f"{{ set -m; $(command -v setsid) {started} & }} </dev/null >/dev/null 2>&1"
        return f"[ ! -x {shlex.quote(self.program[0])} ] || {detached}"


class NotifiedAgent(msgspec.Struct, frozen=True):
    """An agent of Lifeboat as an installed hook names it, and how to start the program. `home` is None for the default
    one."""

    agent: str
    program: tuple[str, ...]
    home: str | None = None


def notified_agent_of(order: HookOrder) -> NotifiedAgent:
    """Return what a hook has to name for an order."""
    return NotifiedAgent(order.agent, order.program, None if order.home is None else str(order.home))


def find_order_problem(told: NotifiedAgent | None, order: HookOrder) -> str:
    """Return why what an installed hook names does not report to the agent of an order, "" when it does."""
    if told is None:
        return "no Lifeboat hook is installed, so the end of a session is not reported"
    if (told.agent, told.home) != (order.agent, notified_agent_of(order).home):
        return "the hook reports to another agent, or to a Lifeboat with another LIFEBOAT_HOME"
    if not os.access(told.program[0], os.X_OK):
        return f"the hook starts {told.program[0]}, which no longer exists"
    return ""


@dataclass(frozen=True, slots=True)
class HookEdit:
    """A change of a settings file that holds more than the hook. `before` are the bytes that the plan was made from,
    None for no file; `after` is None to remove the file. `shown` is the part that is added or removed: the rest may
    hold secrets."""

    before: bytes | None
    after: bytes | None
    shown: str


@dataclass(frozen=True, slots=True)
class HookPlan:
    """What to do so that a hook is installed or removed.

    `write` maps absolute paths of the hook's own files to new contents, `edit` those of files of the runtime to their
    changes; files that are already right are left out. `remove` lists files and then folders, which are removed when
    they are empty. `after` says what the user has to do for the hook to take effect, "" for nothing. `waits` says that
    the hook is installed, and `HookSupport.problem` names a problem until the user did it.
    """

    write: Mapping[Path, bytes] = field(default_factory=dict)
    edit: Mapping[Path, HookEdit] = field(default_factory=dict)
    steps: Sequence[HookStep] = ()
    remove: Sequence[Path] = ()
    after: str = ""
    waits: bool = False

    @property
    def empty(self) -> bool:
        """Return whether nothing has to be done."""
        return not (self.write or self.edit or self.steps or self.remove)
