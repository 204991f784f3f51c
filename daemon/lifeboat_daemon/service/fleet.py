"""The agents in the daemon's care, as the user's files say."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.errors import LifeboatError
from lifeboat_daemon import agent as agent_files
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.config import Config
from lifeboat_daemon.context import Context
from lifeboat_daemon.schedule.cadence import Pacer, timing
from lifeboat_daemon.service.charge import Charge


class Fleet:
    """Every agent by id. `problem` says why the files on disk are not what is in force, None when they are."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.charges: dict[str, Charge] = {}
        self.config = Config()
        self.problem: str | None = None

    def __iter__(self) -> Iterator[Charge]:
        return iter(list(self.charges.values()))

    def get(self, agent_id: str) -> Charge | None:
        return self.charges.get(agent_id)

    def load(self) -> tuple[list[Charge], list[str]]:
        """Read the files; those that are new, and the ids of those that went. Files that cannot be used change
        nothing, and `problem` says so."""
        try:
            config = self._context.config()
            agents = agent_files.everyone(self._context)
        except LifeboatError as error:
            self.problem = error.message
            return [], []
        self.problem = config.problem
        self.config = config
        gone = sorted(self.charges.keys() - {agent.id for agent in agents})
        for agent_id in gone:
            del self.charges[agent_id]
        return [new for agent in agents if (new := self._take(agent)) is not None], gone

    def _take(self, agent: Agent) -> Charge | None:
        """Take an agent as it is written now; a Charge when it is one that was not known."""
        wanted = timing(self.config, agent)
        known = self.charges.get(agent.id)
        if known is not None:
            known.agent, known.pacer.timing = agent, wanted
            return None
        charge = Charge(agent, Pacer(wanted))
        self.charges[agent.id] = charge
        return charge
