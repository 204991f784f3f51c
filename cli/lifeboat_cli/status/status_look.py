"""One look at how everything stands: what this command finds, and what only the daemon knows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lifeboat_alf.json_types import JsonObject
from lifeboat_cli.terminal.session import Session
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents import offers
from lifeboat_core.agents.offers import Offer
from lifeboat_core.errors import ServiceError
from lifeboat_core.health.standing import AgentStatus, Status, summary, with_daemon
from lifeboat_core.health.status import status as status_of
from lifeboat_core.processes.release import release
from lifeboat_core.purge.standing import Outstanding, outstanding
from lifeboat_daemon.control import methods
from lifeboat_daemon.control.client import running
from lifeboat_daemon.control.methods import StatusAnswer


@dataclass(frozen=True, slots=True)
class Seen:
    """`status` holds the agents that were asked for, all or one. `daemon` is the object of `status --json`; `silent`
    says why a daemon that is there did not answer. `purges`: those that are not done everywhere."""

    status: Status
    daemon: JsonObject
    offers: list[Offer]
    silent: str | None = None
    purges: tuple[Outstanding, ...] = ()

    def to_json(self) -> JsonObject:
        found = [offer.to_json() for offer in self.offers]
        purges = [purge.to_json() for purge in self.purges]
        return {**self.status.to_json(), "daemon": self.daemon, "offers": found, "pending_purges": purges}


def look(session: Session, name: str | None) -> Seen:
    """Look now. Vaults and workspaces are looked at here, because what the daemon knows of them may be a moment old.
    Raises UnknownAgent, AmbiguousAgent."""
    context = session.context
    chosen = None if name is None else agents.find(context, name)
    told, silent = _told(session)
    found = status_of(context, chosen)
    if told is not None:
        found = _merged(session, found, told.standing)
    daemon = _NOT_RUNNING | {"version": release()} if told is None else _daemon(told)
    purges = tuple(outstanding(context, None if chosen is None else chosen.id))
    return Seen(found, daemon, offers.pending(context) if chosen is None else [], silent, purges)


_NOT_RUNNING: JsonObject = {"running": False, "pid": None, "started_at": None}


def _daemon(told: StatusAnswer) -> JsonObject:
    found: JsonObject = told.document["daemon"]
    return found


def _told(session: Session) -> tuple[StatusAnswer | None, str | None]:
    """What the daemon tells; and why it tells nothing although it is there."""
    try:
        client = running(session.context.home, session.context.files)
        if client is None:
            return None, None
        with client:
            return client.ask(methods.STATUS), None
    except ServiceError as error:
        return None, f"{error.title}: {error.message}"


def _merged(session: Session, found: Status, told: Status) -> Status:
    by_id = {agent.id: agent for agent in told.agents}

    def merged(agent: AgentStatus) -> AgentStatus:
        return with_daemon(agent, by_id[agent.id]) if agent.id in by_id else agent

    both = [merged(agent) for agent in found.agents]
    now = session.context.clock.now()
    again = summary(both, found.key, found.problems, clock_trusted=found.clock_trusted, now=now)
    return replace(again, problems=found.problems)
