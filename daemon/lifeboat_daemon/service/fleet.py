"""The agents that the daemon watches, according to the user's files."""

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
    """Every agent by id. `problem` is why the files on disk are not in force, or None."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.watched_agents: dict[str, WatchedAgent] = {}
        self.config = Config()
        self.problem: str | None = None
        self._home_id = ""

    def __iter__(self) -> Iterator[WatchedAgent]:
        return iter(list(self.watched_agents.values()))

    def get(self, agent_id: str) -> WatchedAgent | None:
        return self.watched_agents.get(agent_id)

    def load(self) -> tuple[list[WatchedAgent], list[str]]:
        """Read the files. Return the new agents and the ids of the removed ones. If a file cannot be used, nothing
        changes and `problem` says why. The agents are listed before the home is checked: if the home is moved at this
        moment, the list is empty too."""
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
        gone = sorted(self.watched_agents.keys() - ids_there)
        for agent_id in gone:
            self.watched_agents.pop(agent_id).is_gone = True
        agents = sorted(filter(None, map(self._read, ids_there)), key=lambda agent: (agent.name.casefold(), agent.id))
        return [new for agent in agents if (new := self._take(agent)) is not None], gone

    def _lost_home(self) -> str | None:
        """Return why there is nothing to read: the home of the watched agents was moved or removed, and possibly
        replaced by a new one. The missing agents are then not the user's decision."""
        home = self._context.home
        try:
            found = home.read_id(self._context.files)
        except LifeboatError:
            return (
                f"the home {home.folder} was removed, with every copy in it. Restore the home. To "
                "continue without the removed home, restart the daemon"
            )
        if self.watched_agents and found != self._home_id:
            return (
                f"the home {home.folder} was replaced after the daemon had started. Restore the "
                "former home, or restart the daemon to use the new one"
            )
        self._home_id = found
        return None

    def _read(self, agent_id: str) -> Agent | None:
        """Read the file of an agent. If it cannot be read, the other agents and the known state of this one stay. An
        agent that is removed at this moment is noticed on the next call."""
        try:
            return agent_files.load_agent(self._context, agent_id)
        except UnknownAgent:
            return None
        except LifeboatError as error:
            self.problem = error.message
            return None

    def _take(self, agent: Agent) -> WatchedAgent | None:
        """Apply the present file of an agent. Return a WatchedAgent if it is new."""
        wanted = load_cadence_settings(self.config, agent)
        known = self.watched_agents.get(agent.id)
        if known is not None:
            known.agent, known.pacer.timing = agent, wanted
            return None
        watched = WatchedAgent(agent, CapturePacer(wanted))
        self.watched_agents[agent.id] = watched
        return watched
