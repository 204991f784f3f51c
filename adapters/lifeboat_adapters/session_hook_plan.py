"""Orders and plans for session hooks, which make a runtime tell Lifeboat that a session ended.

An adapter reads and plans; the core carries the plan out: first `write`, then `steps`, then `remove`. So a hook is
complete before the runtime loads it, and the runtime has dropped it before its files are removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


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


@dataclass(frozen=True, slots=True)
class HookPlan:
    """What to do so that a hook is installed or removed.

    `write` maps absolute paths to new contents; files that are already right are left out. `remove` lists files and
    then folders, which are removed when they are empty. `after` says what the user has to do for the hook to take
    effect, "" for nothing.
    """

    write: Mapping[Path, bytes] = field(default_factory=dict)
    steps: Sequence[HookStep] = ()
    remove: Sequence[Path] = ()
    after: str = ""

    @property
    def empty(self) -> bool:
        """Return whether nothing has to be done."""
        return not (self.write or self.steps or self.remove)
