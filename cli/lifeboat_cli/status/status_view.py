"""Collect the status: what this command finds, and what only the daemon knows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents import offers
from lifeboat_core.agents.offers import AgentOffer
from lifeboat_core.errors import ServiceError
from lifeboat_core.health.agent_status import AgentStatus, Status, add_daemon_facts, summarize_agents
from lifeboat_core.health.status_gathering import gather_status as status_of
from lifeboat_core.processes.installed_release import read_release
from lifeboat_core.purge.outstanding_purges import OutstandingPurge, list_outstanding_purges
from lifeboat_daemon.control import control_methods
from lifeboat_daemon.control.control_methods import StatusAnswer
from lifeboat_daemon.control.daemon_client import connect_if_running


@dataclass(frozen=True, slots=True)
class StatusView:
    """The collected status. `status` has the requested agents, all or one. `daemon` is the object of `status --json`;
    `silent` says why an existing daemon did not answer. `purges` are those that are not finished everywhere."""

    status: Status
    daemon: JsonObject
    offers: list[AgentOffer]
    silent: str | None = None
    purges: tuple[OutstandingPurge, ...] = ()

    def to_json(self) -> JsonObject:
        found = [offer.to_json() for offer in self.offers]
        purges = [purge.to_json() for purge in self.purges]
        return {**self.status.to_json(), "daemon": self.daemon, "offers": found, "pending_purges": purges}


def view_status(session: CommandSession, name: str | None) -> StatusView:
    """Collect the status now. Vaults and workspaces are read here, because the daemon's knowledge may be a moment old.
    Raises UnknownAgent, AgentError.AMBIGUOUS_AGENT."""
    context = session.context
    chosen = None if name is None else agents.find_agent(context, name)
    told, silent = _told(session)
    found = status_of(context, chosen)
    if told is not None:
        found = _merged(session, found, told.standing)
    daemon = _NOT_RUNNING | {"version": read_release()} if told is None else _daemon(told)
    purges = tuple(list_outstanding_purges(context, None if chosen is None else chosen.id))
    return StatusView(found, daemon, offers.list_pending_offers(context) if chosen is None else [], silent, purges)


_NOT_RUNNING: JsonObject = {"running": False, "pid": None, "started_at": None}


def _daemon(told: StatusAnswer) -> JsonObject:
    found: JsonObject = told.document["daemon"]
    return found


def _told(session: CommandSession) -> tuple[StatusAnswer | None, str | None]:
    """Return the daemon's answer, and why an existing daemon did not answer."""
    try:
        client = connect_if_running(session.context.home, session.context.files)
        if client is None:
            return None, None
        with client:
            return client.ask(control_methods.STATUS), None
    except ServiceError as error:
        return None, f"{error.title}: {error.message}"


def _merged(session: CommandSession, found: Status, told: Status) -> Status:
    by_id = {agent.id: agent for agent in told.agents}

    def merged(agent: AgentStatus) -> AgentStatus:
        return add_daemon_facts(agent, by_id[agent.id]) if agent.id in by_id else agent

    both = [merged(agent) for agent in found.agents]
    now = session.context.clock.now()
    again = summarize_agents(both, found.key, found.problems, clock_trusted=found.clock_trusted, now=now)
    return replace(again, problems=found.problems)
