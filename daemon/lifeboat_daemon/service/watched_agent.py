"""One agent in the daemon's care."""

from __future__ import annotations

from dataclasses import dataclass, field

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health.agent_status import AgentStatus, StatusFacts
from lifeboat_daemon.schedule.cadence import CapturePacer


@dataclass(slots=True)
class WatchedAgent:
    """`facts` are what a worker last found, None before; `status` is what was made of them; `captures` and `failures`
    count since the daemon began. In words for people: `failure` is why the last work came to nothing, `blocked` for
    whom captures wait. `works` are the operations that were asked for and have not ended, as often as they were asked
    for; `last` is what the last capture brought. `is_gone`: it is in the daemon's care no more, and what still comes
    back of its work changes nothing. `look_again`: how it stands could not be found out."""

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
        """The operation that runs, or that is next."""
        return self.works[0] if self.works else None

    @property
    def is_new(self) -> bool:
        """Whether its first capture, which takes long, may still have to be made."""
        return self.facts is None or self.facts.sequence is None

    def rests(self, now: str) -> bool:
        """Whether nothing is captured unasked: paused, or never taken into care."""
        return self.agent.is_paused(now) or not self.agent.watched
