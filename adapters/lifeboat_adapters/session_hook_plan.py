"""How a runtime is told to say that a session ended: an order, and the plan that an adapter makes of it.

An adapter reads and plans, the daemon carries out: first `write`, then `steps`, then `remove`. So a hook is whole
before the runtime hears of it, and the runtime has forgotten it before it goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class HookStep:
    """A command of the runtime's own program, with variables of its own."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class HookOrder:
    """Whom a session's end is told. `agent` is the id that Lifeboat knows the agent by; `program` are the words that
    start `lifeboat`, the first an absolute path; `home` is Lifeboat's home where it is not the usual one."""

    agent: str
    program: tuple[str, ...]
    home: Path | None = None


@dataclass(frozen=True, slots=True)
class HookPlan:
    """Files of `write` are new or other than what stands there, each by its absolute path. `remove` are files, then
    folders, which go when they are empty. `after` says what the user has to do for it to count, "" for nothing."""

    write: Mapping[Path, bytes] = field(default_factory=dict)
    steps: Sequence[HookStep] = ()
    remove: Sequence[Path] = ()
    after: str = ""

    @property
    def empty(self) -> bool:
        """Whether everything is as it should be already."""
        return not (self.write or self.steps or self.remove)
