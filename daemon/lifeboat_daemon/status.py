"""The state of every agent and the verdict over all of them, in the words that people, JSON and metrics share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import lifeboat_alf.errors
from lifeboat_alf import times
from lifeboat_daemon import clock_trust, room
from lifeboat_daemon.agent import Agent, everyone
from lifeboat_daemon.capture import guard, lookalikes
from lifeboat_daemon.capture.report import FAILED, LAST_CAPTURE, ROOT_MISSING
from lifeboat_daemon.context import Context
from lifeboat_daemon.errors import system_errors
from lifeboat_daemon.state_db import StateDb
from lifeboat_daemon.words import age_text, argument, count_text, time_text
from lifeboat_endpoint.vault import Vault
from lifeboat_keys.home_keys import KeyState, KeyStatus

JsonObject = dict[str, Any]

OK, WAITING, PAUSED, OVERDUE, NEEDS_KEY, HELD, ERROR = (
    "ok",
    "waiting",
    "paused",
    "overdue",
    "needs_key",
    "held",
    "error",
)
_WORST_FIRST = (ERROR, HELD, NEEDS_KEY, OVERDUE, WAITING, PAUSED, OK)
NEEDS_THE_USER = frozenset({ERROR, HELD, NEEDS_KEY, OVERDUE})
UNVERIFIED_FOR = timedelta(hours=24)
LAST_VERIFIED, DAMAGED = "last_verified", "damaged"
"""The vault's decisions in which a drill keeps what it found."""


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """One agent. `pending` counts files whose present version is not kept; `reasons` says, for people, why the state is
    not `ok`, and what else to know; `no_room` why large files are not taken now, `failed` why the last capture came to
    nothing, `damaged` what a drill found (see `verification.DAMAGED`); `lookalikes` counts the places that look like a
    secret and are kept in clear. Times are timestamps, None when it never happened; `verified_in` names the vault."""

    id: str
    name: str
    runtime: str
    workspace: str
    state: str = OK
    sequence: int | None = None
    last_captured_at: str | None = None
    last_verified_at: str | None = None
    verified_in: str | None = None
    pending: int = 0
    reasons: list[str] = field(default_factory=list)
    held: JsonObject | None = None
    missing: bool = False
    no_room: str | None = None
    failed: str | None = None
    damaged: JsonObject | None = None
    lookalikes: int = 0

    def to_json(self) -> JsonObject:
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def fix(self) -> str | None:
        """The command that helps, None where nothing is wrong or no command would help."""
        name = argument(self.name)
        if self.state == ERROR:
            if self.damaged is not None:
                return f"lifeboat verify {name} --whole"
            return f"lifeboat restore {name} --dry-run" if self.missing else "lifeboat doctor"
        if self.state == HELD:
            before = (self.held or {}).get("previous")
            return f"lifeboat restore {name} --at {before} takes it back, lifeboat agents accept {name} lets it go"
        known = {OVERDUE: "verify", WAITING: "sync", PAUSED: "agents resume"}
        return f"lifeboat {known[self.state]} {name}" if self.state in known else None


@dataclass(frozen=True, slots=True)
class Status:
    """Everything. `verdict` is a sentence for people; `state` the worst state of any agent."""

    state: str
    verdict: str
    agents: list[AgentStatus]
    key: KeyStatus
    problems: list[str]
    clock_trusted: bool

    @property
    def needs_the_user(self) -> bool:
        """Whether `status --check` fails."""
        return self.state in NEEDS_THE_USER or bool(self.problems)

    def to_json(self) -> JsonObject:
        """Without `daemon`, which whoever asks over the socket adds."""
        return {
            "verdict": self.verdict,
            "state": self.state,
            "agents": [agent.to_json() for agent in self.agents],
            "key": {
                "state": str(self.key.state),
                "id": self.key.key_id,
                "store": self.key.store,
                "note": self.key.note,
                "proven_at": self.key.proven_at,
            },
            "problems": self.problems,
            "clock_trusted": self.clock_trusted,
        }


def status(context: Context) -> Status:
    """How everything stands. Never raises for what is wrong with an agent: it says so."""
    key = context.keys().status()
    problems = _problems(context)
    try:
        agents = [of_agent(context, agent, key) for agent in everyone(context)]
    except lifeboat_alf.errors.LifeboatError as error:
        agents, problems = [], [*problems, error.message]
    state = next((word for word in _WORST_FIRST if any(agent.state == word for agent in agents)), OK)
    if problems:
        state = ERROR
    return Status(state, verdict(state, agents, context.clock.now()), agents, key, problems, _clock(context))


def _problems(context: Context) -> list[str]:
    try:
        problem = context.config().problem
    except lifeboat_alf.errors.LifeboatError as error:
        problem = error.message
    return [problem] if problem else []


def _clock(context: Context) -> bool:
    return clock_trust.is_trusted(context)


def verdict(state: str, agents: list[AgentStatus], now: datetime) -> str:
    """One sentence. The age of the oldest last verified copy comes first, then where the copies are."""
    if not agents:
        return "no agent is protected yet"
    moments = [agent.last_verified_at for agent in agents]
    if None in moments:
        first = "never verified"
    else:
        oldest = min(times.parse(str(moment)) for moment in moments)
        first = f"last verified {age_text((now - oldest).total_seconds())} ago"
    return f"{first}, on this disk only: {state}"


def of_agent(context: Context, agent: Agent, key: KeyStatus) -> AgentStatus:
    """How one agent stands."""
    plain = AgentStatus(agent.id, agent.name, agent.runtime, str(agent.workspace))
    try:
        with system_errors(), context.vault(agent.id) as vault:
            return _judged(context, agent, _with_vault(context, agent, plain, vault), key)
    except lifeboat_alf.errors.LifeboatError as error:
        return replace(plain, state=ERROR, reasons=[error.message])


def _with_vault(context: Context, agent: Agent, plain: AgentStatus, vault: Vault) -> AgentStatus:
    head = vault.head()
    verified = _credible(vault.get(LAST_VERIFIED), context.clock.now())
    captured: JsonObject = {}
    alike: lookalikes.Places = {}
    if context.home.state_file(vault.agent_id).exists():
        with StateDb.open(context.home.state_file(vault.agent_id), vault.id) as db:
            captured = db.get(LAST_CAPTURE) or {}
            alike = lookalikes.read(db)
    return replace(
        plain,
        sequence=None if head is None else head.number,
        last_captured_at=captured.get("time") or (None if head is None else head.time),
        last_verified_at=verified.get("time"),
        verified_in="local" if verified else None,
        failed=captured.get(FAILED),
        damaged=vault.get(DAMAGED),
        pending=int(captured.get("pending", 0)),
        reasons=list(captured.get("reasons", [])),
        held=vault.get(guard.DECISION),
        missing=captured.get("outcome") == ROOT_MISSING,
        no_room=room.measure(context, agent, vault).shortage() or captured.get("no_room"),
        lookalikes=sum(len(places) for places in alike.values()),
    )


def _credible(verified: JsonObject | None, now: datetime) -> JsonObject:
    """A copy that was verified in the future was verified under a wrong clock: nobody knows when."""
    if not verified or times.parse(verified["time"]) > now + UNVERIFIED_FOR:
        return {}
    return verified


def _judged(context: Context, agent: Agent, seen: AgentStatus, key: KeyStatus) -> AgentStatus:
    now = context.clock.now()
    is_gone = agent.watched and not agent.workspace.is_dir()
    checks = (
        (agent.problem is not None, ERROR, str(agent.problem)),
        (is_gone, ERROR, f"{agent.workspace} is not there; nothing is captured until it is back"),
        (seen.missing and not is_gone, ERROR, "the workspace is not what was captured; nothing is taken until it is"),
        (seen.damaged is not None, ERROR, f"the copy does not hold: {(seen.damaged or {}).get('first')}"),
        (seen.failed is not None, ERROR, f"the last capture failed: {seen.failed}"),
        (key.state is KeyState.ERROR, ERROR, key.note),
        (seen.held is not None, HELD, str((seen.held or {}).get("reason"))),
        (key.state is KeyState.NEEDS_KEY, NEEDS_KEY, key.note),
        (agent.is_paused(context.now()), PAUSED, _paused_words(agent)),
        (not agent.watched, PAUSED, "it was imported and is not captured yet"),
        (_is_overdue(seen, now), OVERDUE, "no verified copy for more than 24 hours"),
        (seen.pending > 0, WAITING, f"{count_text(seen.pending, 'file')} not kept in the present version"),
        (seen.no_room is not None, WAITING, f"{seen.no_room}: large files are not taken"),
    )
    found = [(state, reason) for applies, state, reason in checks if applies]
    state = found[0][0] if found else OK
    said = [reason for _, reason in found]
    rest = [reason for reason in seen.reasons if not any(reason in each for each in said)]
    if seen.lookalikes:
        rest.append(f"{count_text(seen.lookalikes, 'place')} in clear may be a secret; lifeboat doctor names each")
    return replace(seen, state=state, reasons=[*said, *rest], missing=seen.missing or is_gone)


def _paused_words(agent: Agent) -> str:
    return "paused" if agent.paused_until is None else f"paused until {time_text(agent.paused_until)}"


def _is_overdue(seen: AgentStatus, now: datetime) -> bool:
    """No verified copy for a day. An agent that has just been added has a day to get its first one."""
    since = seen.last_verified_at or seen.last_captured_at
    return since is not None and now - times.parse(since) > UNVERIFIED_FOR
