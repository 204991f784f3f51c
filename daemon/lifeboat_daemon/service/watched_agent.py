"""One agent that the daemon watches."""

from __future__ import annotations

from dataclasses import dataclass, field

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health.agent_status import AgentStatus, StatusFacts
from lifeboat_daemon.schedule.cadence import CapturePacer


@dataclass(slots=True)
class WatchedAgent:
    """The daemon's state of one agent. `facts` are the last ones that a worker found, or None; `status` is derived from
    them. `captures` and `failures` count since the daemon started. For people: `failure` is why the last job failed,
    `blocked` which process captures wait for. `works` are the requested operations that have not ended, one entry per
    request. `last` is the result of the last capture. `is_gone`: the daemon no longer watches it, and late results
    change nothing. `look_again`: its status could not be determined."""

    agent: Agent
    pacer: CapturePacer
    facts: StatusFacts | None = None
    status: AgentStatus | None = None
    failure: str | None = None
    blocked: str | None = None
    works: list[str] = field(default_factory=list)
    last: JsonObject | None = None
    is_gone: bool = False
    look_again: bool = False
    captures: int = 0
    failures: int = 0

    @property
    def id(self) -> str:
        return self.agent.id

    @property
    def at_work(self) -> str | None:
        """Return the operation that runs, or the next one."""
        return self.works[0] if self.works else None

    @property
    def is_new(self) -> bool:
        """Return whether its first capture, which takes long, may still be missing."""
        return self.facts is None or self.facts.sequence is None

    def rests(self, now: str) -> bool:
        """Return whether no capture begins by itself: the agent is paused or was never protected."""
        return self.agent.is_paused(now) or not self.agent.watched
