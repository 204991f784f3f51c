"""One agent in the daemon's care."""

from __future__ import annotations

from dataclasses import dataclass

from lifeboat_daemon.agent import Agent
from lifeboat_daemon.health.standing import AgentStatus, Facts
from lifeboat_daemon.schedule.cadence import Pacer


@dataclass(slots=True)
class Charge:
    """`facts` are what a worker last found, None before; `status` is what was made of them; `captures` and `failures`
    count since the daemon began. In words for people: `failure` is why the last work came to nothing, `blocked` for
    whom captures wait. `at_work` is the operation that runs."""

    agent: Agent
    pacer: Pacer
    facts: Facts | None = None
    status: AgentStatus | None = None
    failure: str | None = None
    blocked: str | None = None
    at_work: str | None = None
    captures: int = 0
    failures: int = 0

    @property
    def id(self) -> str:
        return self.agent.id

    @property
    def is_new(self) -> bool:
        """Whether its first capture, which takes long, may still have to be made."""
        return self.facts is None or self.facts.sequence is None

    def rests(self, now: str) -> bool:
        """Whether nothing is captured unasked: paused, or never taken into care."""
        return self.agent.is_paused(now) or not self.agent.watched
