"""The agents in the daemon's care, as the user's files say."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import UnknownAgent
from lifeboat_core.home.context import Context
from lifeboat_core.settings.config_file import Config
from lifeboat_core.system_refusals import convert_system_error
from lifeboat_daemon.schedule.cadence import CapturePacer, load_cadence_settings
from lifeboat_daemon.service.watched_agent import WatchedAgent


class Fleet:
    """Every agent by id. `problem` says why the files on disk are not what is in force, None when they are."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.charges: dict[str, WatchedAgent] = {}
        self.config = Config()
        self.problem: str | None = None
        self._home_id = ""

    def __iter__(self) -> Iterator[WatchedAgent]:
        return iter(list(self.charges.values()))

    def get(self, agent_id: str) -> WatchedAgent | None:
        return self.charges.get(agent_id)

    def load(self) -> tuple[list[WatchedAgent], list[str]]:
        """Read the files; those that are new, and the ids of those that went. A file that cannot be used changes
        nothing, and `problem` says so. The agents are listed before the home is looked for: one that is moved away
        at this moment has no agents either."""
        try:
            ids_there = agent_files.all_ids(self._context)
        except OSError as error:
            self.problem = convert_system_error(error).message
            return [], []
        self.problem = self._lost_home()
        if self.problem is not None:
            return [], []
        try:
            self.config = self._context.config()
            self.problem = None if self.config.problem is None else self.config.problem.message
        except LifeboatError as error:
            self.problem = error.message
        gone = sorted(self.charges.keys() - ids_there)
        for agent_id in gone:
            self.charges.pop(agent_id).is_gone = True
        agents = sorted(filter(None, map(self._read, ids_there)), key=lambda agent: (agent.name.casefold(), agent.id))
        return [new for agent in agents if (new := self._take(agent)) is not None], gone

    def _lost_home(self) -> str | None:
        """Why there is nothing to be read: the home of the agents in care was moved or removed, and another one may
        have been made in its place. That no agent is protected any more is then not what anybody decided."""
        home = self._context.home
        try:
            found = home.read_id(self._context.files)
        except LifeboatError:
            return f"{home.folder} is gone, with every copy in it; bring it back, or restart the service without it"
        if self.charges and found != self._home_id:
            return f"{home.folder} is another one than when the service began; bring back the former, or restart it"
        self._home_id = found
        return None

    def _read(self, agent_id: str) -> Agent | None:
        """An agent as its file says. One that cannot be read is no reason to leave the others, or what was known of
        it; one that goes at this moment is missed the next time."""
        try:
            return agent_files.load_agent(self._context, agent_id)
        except UnknownAgent:
            return None
        except LifeboatError as error:
            self.problem = error.message
            return None

    def _take(self, agent: Agent) -> WatchedAgent | None:
        """Take an agent as it is written now; a Charge when it is one that was not known."""
        wanted = load_cadence_settings(self.config, agent)
        known = self.charges.get(agent.id)
        if known is not None:
            known.agent, known.pacer.timing = agent, wanted
            return None
        charge = WatchedAgent(agent, CapturePacer(wanted))
        self.charges[agent.id] = charge
        return charge
