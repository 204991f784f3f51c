"""The state of agents: facts are judged to one word and a verdict, in the words that people, JSON and metrics share.

Pure and light. `lifeboat_core.health.status_gathering` gathers the facts, which needs vaults, caches and keys. They are
judged here repeatedly as time passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import remote_health
from lifeboat_core.health.remote_health import RemoteFacts
from lifeboat_core.health.safety_level import (
    SafetyFacts,
    SafetyJudgement,
    SafetyLevel,
    describe_steps_left,
    judge_safety,
)
from lifeboat_core.health.state_words import ERROR as ERROR
from lifeboat_core.health.state_words import FENCED as FENCED
from lifeboat_core.health.state_words import FOR_PEOPLE as FOR_PEOPLE
from lifeboat_core.health.state_words import HELD as HELD
from lifeboat_core.health.state_words import NEEDS_KEY as NEEDS_KEY
from lifeboat_core.health.state_words import NEEDS_THE_USER as NEEDS_THE_USER
from lifeboat_core.health.state_words import OK as OK
from lifeboat_core.health.state_words import OVERDUE as OVERDUE
from lifeboat_core.health.state_words import PAUSED as PAUSED
from lifeboat_core.health.state_words import SYNCING as SYNCING
from lifeboat_core.health.state_words import WAITING as WAITING
from lifeboat_core.health.state_words import WORST_FIRST as WORST_FIRST
from lifeboat_core.health.state_words import StatusReason
from lifeboat_core.health.state_words import find_worst_state as find_worst_state
from lifeboat_core.texts.human_text import age_text, count_text, join_names, quote_argument, time_text

UNVERIFIED_FOR = timedelta(hours=24)
LONGEST_UNVERIFIED = timedelta(days=7)
"""Without a verified copy for this long an agent is overdue, however much the machine slept."""
GRACE = timedelta(minutes=15)
"""How long a machine has after it woke up to verify before an agent is overdue."""
MOST_NAMED = 3
"""Files that one sentence names."""
_MISSING_WORDS = (
    "the workspace does not match its last capture; Lifeboat captures nothing until you restore or accept the workspace"
)
LOCAL = "local"
"""The name of this machine's vault."""


class KeyFacts(msgspec.Struct, frozen=True):
    """The user's key. `state` is `ok`, `needs_key` or `error`; `note` is for people, "" if there is nothing to say."""

    state: str = OK
    key_id: str | None = None
    store: str | None = None
    note: str = ""
    proven_at: str | None = None

    def to_json(self) -> JsonObject:
        return {
            "state": self.state,
            "id": self.key_id,
            "store": self.store,
            "note": self.note,
            "proven_at": self.proven_at,
        }


class StatusFacts(msgspec.Struct, frozen=True):
    """The facts about an agent from its vault, its caches and its workspace.

    Times are timestamps, None when it never happened. `last_verified_at` and `last_whole_at` are about the vault of
    this machine, which `verified_in` names. `pending` counts files whose present version is not kept, `reasons` says
    why, for people. `over_limit` of them stay out until the user raises a limit with the command `limit_fix`; `unread`
    of them could not be read; `pending_kinds` counts them by the code of the reason. `absent` says what of the
    workspace the last capture missed. `held` is the decision of the guard; `missing`: the workspace is not the captured
    one; `is_gone`: its folder does not exist; `no_room`: why large files are not captured; `failed`: why the last
    capture failed; `damaged`: the damage a verification found (see `status_gathering.DAMAGED`); `remotes`: its remotes;
    `unreadable`: why facts are missing. If the vault could not be opened, `vault_opened` is False and `vault_fix` is
    the command that helps. `verified_sequence` is the newest verified sequence in this vault, `vault_bytes` the vault's
    size. `grant` is the grant of access to its own past (`agent_grant.Grant`), None for none; `proposals` counts its
    open proposals, `newest_proposal` is the number of the newest of them. `unreviewed` counts the changes of memories
    since the last look, 0 if the setting `review` is `off`. `kept_out` are names of files that contain
    purged text, `purged_again` of those in which a purged value was captured in other words, `gaps` of those that a
    restore left without their credentials. `shut` are labels of credentials whose key this home has lost.
    """

    sequence: int | None = None
    last_captured_at: str | None = None
    last_verified_at: str | None = None
    last_whole_at: str | None = None
    verified_in: str | None = None
    pending: int = 0
    over_limit: int = 0
    limit_fix: str | None = None
    unread: int = 0
    pending_kinds: dict[str, int] = {}
    absent: str | None = None
    reasons: tuple[str, ...] = ()
    held: JsonObject | None = None
    missing: bool = False
    is_gone: bool = False
    no_room: str | None = None
    failed: str | None = None
    damaged: JsonObject | None = None
    lookalikes: int = 0
    not_looked_into: int = 0
    kept_out: tuple[str, ...] = ()
    purged_again: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    shut: tuple[str, ...] = ()
    remotes: tuple[RemoteFacts, ...] = ()
    unreadable: str | None = None
    vault_opened: bool = True
    vault_fix: str | None = None
    verified_sequence: int | None = None
    vault_bytes: int = 0
    grant: JsonObject | None = None
    proposals: int = 0
    newest_proposal: int = 0
    unreviewed: int = 0

    def to_json(self) -> JsonObject:
        found: JsonObject = msgspec.to_builtins(self)
        return found

    @classmethod
    def from_json(cls, document: JsonObject) -> StatusFacts:
        """Raises msgspec.ValidationError."""
        return msgspec.convert(document, cls)


class AwakeTime(msgspec.Struct, frozen=True):
    """How long the machine was awake: `seconds` since `find_agent_unverified_since`, None for all the time. `woke_at`
    is when it last woke up; `overdue_after` is the setting, in seconds."""

    seconds: float | None = None
    woke_at: datetime | None = None
    overdue_after: float = UNVERIFIED_FOR.total_seconds()


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """The status of one agent. `state` is a word, `reasons` says for people why it is not `ok` and what else to know,
    and `reason_codes` the same for programs. Most other fields are those of `StatusFacts`; `missing` is also set while
    the folder does not exist. `last_verified_at` is of the remote that was verified last, which `verified_in` names; of
    this machine's vault if there is no required remote, or none was ever verified. `lookalikes` counts the places that
    look like a secret and are captured in plain text, `not_looked_into` the files that are not searched for secrets;
    `kept_out`, `purged_again`, `grant`, `proposals`, `newest_proposal` and `unreviewed` are as in `StatusFacts`.

    Only the daemon knows `at_work` (a job of this agent runs), `waits_for` (what captures wait for) and `unwatched`
    (why not every change is noticed immediately).
    """

    id: str
    name: str
    runtime: str
    workspace: str
    state: str = OK
    sequence: int | None = None
    last_captured_at: str | None = None
    last_verified_at: str | None = None
    last_whole_at: str | None = None
    verified_in: str | None = None
    pending: int = 0
    over_limit: int = 0
    limit_fix: str | None = None
    unread: int = 0
    pending_kinds: dict[str, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    reason_codes: list[str] = field(default_factory=list)
    held: JsonObject | None = None
    missing: bool = False
    no_room: str | None = None
    failed: str | None = None
    damaged: JsonObject | None = None
    lookalikes: int = 0
    not_looked_into: int = 0
    kept_out: tuple[str, ...] = ()
    purged_again: tuple[str, ...] = ()
    vault_opened: bool = True
    vault_fix: str | None = None
    verified_sequence: int | None = None
    vault_bytes: int = 0
    grant: JsonObject | None = None
    proposals: int = 0
    newest_proposal: int = 0
    unreviewed: int = 0
    remotes: tuple[RemoteFacts, ...] = ()
    at_work: bool = False
    waits_for: str | None = None
    unwatched: str | None = None

    def to_json(self) -> JsonObject:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "remotes": msgspec.to_builtins(self.remotes)}

    @classmethod
    def from_json(cls, document: JsonObject) -> AgentStatus:
        """Read what `to_json` gave; fields of a newer release are ignored. Raises msgspec.ValidationError."""
        return msgspec.convert(document, cls)

    @property
    def fix(self) -> str | None:
        """The command that helps, None if nothing is wrong or no command helps."""
        name = quote_argument(self.name)
        if not self.vault_opened:
            return (self.vault_fix or "lifeboat doctor").replace("AGENT", name)
        if self.state == ERROR:
            if self.damaged is not None:
                return f"lifeboat verify {name} --whole"
            if self.missing:
                return f"lifeboat restore {name} --dry-run"
            return "lifeboat doctor" if self.needs_doctor else self._fix_of_remote(str(self.refusing))
        if self.state == HELD:
            before = (self.held or {}).get("previous")
            return (
                f"lifeboat restore {name} --at {before} (to restore it), "
                f"lifeboat agents accept {name} (to accept the removal)"
            )
        if self.state == WAITING and self.over_limit:
            return self.limit_fix or f"lifeboat agents show {name} --left-out"
        if self.state == WAITING and self.unread:
            return None  # each reason contains what can be done
        if self.state == WAITING and remote_health.has_only_waiting_purges(self.remotes):
            return "lifeboat receipts list"
        full = remote_health.find_full_remote(self.remotes)
        if self.state == WAITING and full is not None and not self.pending and self.no_room is None:
            return f"free space on {full}, or ask its operator for a larger quota"
        overdue = "sync" if remote_health.select_required(self.remotes) else "verify"
        known = {FENCED: "agents adopt", OVERDUE: overdue, WAITING: "sync", PAUSED: "agents resume"}
        return f"lifeboat {known[self.state]} {name}" if self.state in known else None

    def _fix_of_remote(self, name: str) -> str:
        code = next(one.code for one in self.remotes if one.name == name)
        gone = (remote_health.FORGOT, remote_health.PURGES_DAMAGED)
        return f"lifeboat remote remove {name}" if code in gone else f"lifeboat doctor --remote {name}"

    @property
    def needs_doctor(self) -> bool:
        """Whether only `lifeboat doctor` says more about the state `error`."""
        return self.state == ERROR and self.damaged is None and not self.missing and self.refusing is None

    @property
    def refusing(self) -> str | None:
        """The remote that is the reason for the state `error`, None for any other reason."""
        if self.state != ERROR or self.damaged is not None or self.missing or self.failed is not None:
            return None
        return next((one.name for one in remote_health.select_required(self.remotes) if one.state == ERROR), None)


@dataclass(frozen=True, slots=True)
class Status:
    """The status of everything. `verdict` is a sentence for people; `state` the worst state of any agent."""

    state: str
    verdict: str
    agents: list[AgentStatus]
    key: KeyFacts
    problems: list[str]
    clock_trusted: bool

    @property
    def safety(self) -> SafetyJudgement:
        """How safe everything is: what decides the colour."""
        is_reported = self.key.state != OK  # by the state of every agent
        proven = self.key.proven_at is not None or is_reported
        return judge_safety([_safety_facts(agent) for agent in self.agents], self.problems, words_proven=proven)

    @property
    def needs_the_user(self) -> bool:
        """Whether `status --check` fails. What is over a limit or cannot be read is in no copy until the user acts."""
        stays_out = any(agent.over_limit or agent.unread for agent in self.agents)
        return self.safety.level is SafetyLevel.PROBLEM or stays_out

    def to_json(self) -> JsonObject:
        """Return the document without `daemon`, which the caller adds."""
        return {
            "verdict": self.verdict,
            "state": self.state,
            "safety": msgspec.to_builtins(self.safety),
            "agents": [agent.to_json() for agent in self.agents],
            "key": self.key.to_json(),
            "problems": self.problems,
            "clock_trusted": self.clock_trusted,
        }

    @classmethod
    def from_json(cls, document: JsonObject) -> Status:
        """Read what `to_json` gave. Raises msgspec.ValidationError, KeyError."""
        key = {**document["key"], "key_id": document["key"].get("id")}
        return cls(
            str(document["state"]),
            str(document["verdict"]),
            [AgentStatus.from_json(each) for each in document["agents"]],
            msgspec.convert(key, KeyFacts),
            [str(each) for each in document["problems"]],
            bool(document["clock_trusted"]),
        )


# One agent ------------------------------------------------------------------------------------------------------


def judge_agent(facts: StatusFacts, agent: Agent, key: KeyFacts, now: datetime, awake: AwakeTime) -> AgentStatus:
    """Return one agent's state and its reasons, the deciding one first."""
    seen = _credible(facts, now)
    rests = agent.is_paused(times.to_text(now)) or not agent.watched
    found = sorted(_findings(seen, agent, key, now, awake), key=lambda each: WORST_FIRST.index(each.state))
    if rests:  # an agent that is not watched is not expected to be captured: a remark, not a state
        found = sorted(found, key=lambda each: each.state == WAITING)
    is_told = agent.watched and seen.is_gone
    rest = [] if seen.absent is None or is_told else [StatusReason("", "folder_absent", seen.absent)]
    rest += _remarks(seen, agent, now)
    verified_at, verified_in = _verified(seen)
    return AgentStatus(
        id=agent.id,
        name=agent.name,
        runtime=agent.runtime,
        workspace=str(agent.workspace),
        state=found[0].state if found else OK,
        sequence=seen.sequence,
        last_captured_at=seen.last_captured_at,
        last_verified_at=verified_at,
        last_whole_at=seen.last_whole_at,
        verified_in=verified_in,
        pending=seen.pending,
        over_limit=seen.over_limit,
        limit_fix=seen.limit_fix,
        unread=seen.unread,
        pending_kinds=seen.pending_kinds,
        reasons=[each.text for each in (*found, *rest)],
        reason_codes=[each.code for each in (*found, *rest)],
        held=seen.held,
        missing=seen.missing or seen.is_gone,
        no_room=seen.no_room,
        failed=seen.failed,
        damaged=seen.damaged,
        lookalikes=seen.lookalikes,
        not_looked_into=seen.not_looked_into,
        kept_out=seen.kept_out,
        purged_again=seen.purged_again,
        vault_opened=seen.vault_opened,
        vault_fix=seen.vault_fix,
        verified_sequence=_newest_verified(seen),
        vault_bytes=seen.vault_bytes,
        grant=seen.grant,
        proposals=seen.proposals,
        newest_proposal=seen.newest_proposal,
        unreviewed=seen.unreviewed,
        remotes=seen.remotes,
    )


def _remarks(seen: StatusFacts, agent: Agent, now: datetime) -> Iterator[StatusReason]:
    """Yield remarks on an agent that do not affect its state."""
    if seen.proposals:
        yield StatusReason("", "proposals", _proposals_words(seen.proposals, agent))
    if seen.unreviewed:
        yield StatusReason("", "unreviewed", _unreviewed_words(seen.unreviewed, agent))
    if seen.grant is not None:
        yield StatusReason("", "granted", _grant_words(seen.grant, agent, now))
    yield from (StatusReason("", "last_capture", reason) for reason in seen.reasons)
    yield from remote_health.list_remote_remarks(seen.remotes)
    if seen.lookalikes:
        count = count_text(seen.lookalikes, "place")
        yield StatusReason(
            "",
            "lookalikes",
            f"{count} in captured files may contain a secret in plain text; to list them: lifeboat doctor",
        )
    if seen.not_looked_into:
        count = count_text(seen.not_looked_into, "file")
        yield StatusReason("", "not_looked_into", f"{count} not searched for secrets; to list them: lifeboat doctor")
    if seen.kept_out:
        yield StatusReason("", "kept_out", _kept_out_words(seen.kept_out))
    if seen.purged_again:
        yield StatusReason("", "purged_again", _again_words(seen.purged_again, agent))


def _proposals_words(count: int, agent: Agent) -> str:
    waiting = count_text(count, "proposal of the agent waits", "proposals of the agent wait")
    return f"{waiting} for your decision; to list them: lifeboat proposals list {quote_argument(agent.name)}"


def _unreviewed_words(count: int, agent: Agent) -> str:
    changes = count_text(count, "change of a memory", "changes of memories")
    return f"{changes} since you last looked; to see them: lifeboat review {quote_argument(agent.name)}"


def _grant_words(grant: JsonObject, agent: Agent, now: datetime) -> str:
    end, name = grant.get("expires_at"), quote_argument(agent.name)
    if end is not None and times.to_text(now) >= end:
        return f"the grant of access to its own past has expired; to give a new one: lifeboat agents grant {name}"
    until = "" if end is None else f" until {time_text(end)}"
    return f"the agent may read its own past and make proposals{until}; to end this: lifeboat agents revoke {name}"


def _kept_out_words(paths: tuple[str, ...]) -> str:
    """Say in which files purged text lies, by name only."""
    return f"the workspace still contains purged text in {_named(paths)}; captures leave this text out"


def _again_words(paths: tuple[str, ...], agent: Agent) -> str:
    command = f"lifeboat purge {quote_argument(agent.name)}"
    return (
        f"purged text is in {_named(paths)} again and is captured (setting purge.again); to purge "
        f"the text there: {command}"
    )


def _gap_words(paths: tuple[str, ...], agent: Agent) -> str:
    command = f"lifeboat restore {quote_argument(agent.name)} --with-credentials"
    return f"a restore wrote {_named(paths)} without credentials; to add them: {command}"


def _shut_words(labels: tuple[str, ...], agent: Agent) -> str:
    command = f"lifeboat sync {quote_argument(agent.name)}"
    return (
        f"the key that sealed the captured credentials {_named(labels)} was lost, so they cannot "
        f"be opened; to capture them again: {command}"
    )


def _named(paths: tuple[str, ...]) -> str:
    return ", ".join(paths[:MOST_NAMED]) + (f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else "")


def _verified(seen: StatusFacts) -> tuple[str | None, str | None]:
    """Return when the copy that counts was last read back, and which one that is."""
    best = remote_health.find_best_copy(seen.remotes)
    return (seen.last_verified_at, seen.verified_in) if best is None else (best.verified_at, best.name)


def _newest_verified(seen: StatusFacts) -> int | None:
    """Return the newest sequence that was verified in any copy."""
    numbers = [seen.verified_sequence, *(one.verified_sequence for one in seen.remotes)]
    return max((number for number in numbers if number is not None), default=None)


def _credible(facts: StatusFacts, now: datetime) -> StatusFacts:
    """Return the facts without verifications in the future: they were made under a wrong clock."""
    if facts.last_whole_at is not None and _is_ahead(facts.last_whole_at, now):
        facts = msgspec.structs.replace(facts, last_whole_at=None)
    if facts.last_verified_at is not None and _is_ahead(facts.last_verified_at, now):
        facts = msgspec.structs.replace(facts, last_verified_at=None, verified_in=None, verified_sequence=None)
    if facts.remotes:
        remotes = tuple(remote_health.drop_future_verification(one, now + UNVERIFIED_FOR) for one in facts.remotes)
        facts = msgspec.structs.replace(facts, remotes=remotes)
    return facts


def _is_ahead(moment: str, now: datetime) -> bool:
    return times.parse_time(moment) > now + UNVERIFIED_FOR


def _findings(seen: StatusFacts, agent: Agent, key: KeyFacts, now: datetime, awake: AwakeTime) -> list[StatusReason]:
    """Return every reason with its state; of equal states, the first one is reported first."""
    is_gone = agent.watched and seen.is_gone
    damage = (seen.damaged or {}).get("first")
    checks = (
        (agent.problem is not None, ERROR, "agent_unusable", str(agent.problem)),
        (seen.unreadable is not None, ERROR, "facts_unreadable", _unreadable_words(seen)),
        (
            is_gone,
            ERROR,
            "folder_gone",
            f"the workspace {agent.workspace} does not exist; Lifeboat captures nothing until it exists again",
        ),
        (seen.missing and not is_gone, ERROR, "folder_missing", _MISSING_WORDS),
        (seen.damaged is not None, ERROR, "damaged", f"the vault on this machine is damaged: {damage}"),
        (seen.failed is not None, ERROR, "capture_failed", f"the last capture failed: {seen.failed}"),
        (key.state == ERROR, ERROR, "key_unusable", key.note),
        (seen.held is not None, HELD, "held", str((seen.held or {}).get("reason"))),
        (key.state == NEEDS_KEY, NEEDS_KEY, "key_needed", key.note),
        (bool(seen.gaps), NEEDS_KEY, "credentials_left_out", _gap_words(seen.gaps, agent)),
        (bool(seen.shut), NEEDS_KEY, "credential_key_lost", _shut_words(seen.shut, agent)),
        (_is_overdue(seen, agent, now, awake), OVERDUE, "overdue", _overdue_words(seen, agent, now)),
        (
            seen.pending > 0,
            WAITING,
            "pending",
            f"{count_text(seen.pending, 'file')} not captured in the current version",
        ),
        (seen.no_room is not None, WAITING, "no_room", f"large files are not captured: {seen.no_room}"),
        (agent.is_paused(times.to_text(now)), PAUSED, "paused", _paused_words(agent)),
        (not agent.watched, PAUSED, "not_captured_yet", "the agent was imported and is not protected yet"),
    )
    found = [StatusReason(state, code, text) for applies, state, code, text in checks if applies]
    elsewhere = list(remote_health.find_remote_problems(seen.remotes, now))
    if not agent.watched:  # nothing of it is sent unasked
        elsewhere = [each for each in elsewhere if each.state != WAITING]
    return found + elsewhere


def _unreadable_words(seen: StatusFacts) -> str:
    return str(seen.unreadable) if seen.vault_opened else f"the vault could not be opened: {seen.unreadable}"


def _paused_words(agent: Agent) -> str:
    return "paused" if agent.paused_until is None else f"paused until {time_text(agent.paused_until)}"


# Overdue --------------------------------------------------------------------------------------------------------


def find_agent_unverified_since(facts: StatusFacts, agent: Agent, now: datetime) -> datetime | None:
    """Return since when there is no newer verified copy: away from this disk if a remote is required. For an agent that
    was never verified, this is when it was captured or added; None if it was neither."""
    seen = _credible(facts, now)
    if remote_health.select_required(seen.remotes):
        return remote_health.find_unverified_since(seen.remotes, agent.added_at)
    if seen.last_verified_at is not None:
        return times.parse_time(seen.last_verified_at)
    moments = [times.parse_time(each) for each in (seen.last_captured_at, agent.added_at) if each]
    return max(moments, default=None)


def _is_overdue(seen: StatusFacts, agent: Agent, now: datetime, awake: AwakeTime) -> bool:
    """Return whether a verification is overdue. An agent that is not watched is never verified and never overdue."""
    since = find_agent_unverified_since(seen, agent, now) if agent.watched and seen.sequence is not None else None
    return since is not None and _too_long(since, now, awake) and not _just_woke(now, awake)


def _too_long(since: datetime, now: datetime, awake: AwakeTime) -> bool:
    passed = (now - since).total_seconds()
    at_work = passed if awake.seconds is None else min(awake.seconds, passed)
    longest = max(LONGEST_UNVERIFIED.total_seconds(), awake.overdue_after)
    return at_work > awake.overdue_after or passed > longest


def _just_woke(now: datetime, awake: AwakeTime) -> bool:
    return awake.woke_at is not None and timedelta(0) <= now - awake.woke_at < GRACE


def _overdue_words(seen: StatusFacts, agent: Agent, now: datetime) -> str:
    since = find_agent_unverified_since(seen, agent, now)
    outside_of_disk = " outside of this disk" if remote_health.select_required(seen.remotes) else ""
    return (
        ""
        if since is None
        else f"there has been no verified copy{outside_of_disk} for {age_text((now - since).total_seconds())}"
    )


# What the daemon knows besides the facts ------------------------------------------------------------------------


def mark_at_work(status: AgentStatus) -> AgentStatus:
    """Return the status while a job of this agent runs: `syncing`, unless something worse is so."""
    return replace(status, state=find_worst_state((status.state, SYNCING)), at_work=True)


def mark_blocked(status: AgentStatus, waits_for: str) -> AgentStatus:
    """Return the status while captures wait (`waiting for process 4711 (restore)`), said first; `waiting`, unless
    something worse is so."""
    state = find_worst_state((status.state, WAITING))
    codes = ["waits_for", *status.reason_codes]
    return replace(status, state=state, reasons=[waits_for, *status.reasons], reason_codes=codes, waits_for=waits_for)


def mark_half_watched(status: AgentStatus, cause: str) -> AgentStatus:
    """Return the status with a reason why not every change starts a capture. The state stays: scans find the rest."""
    reason = f"Lifeboat does not notice every change immediately: {cause}"
    codes = [*status.reason_codes, "half_watched"]
    return replace(status, reasons=[*status.reasons, reason], reason_codes=codes, unwatched=cause)


def add_daemon_facts(found: AgentStatus, told: AgentStatus) -> AgentStatus:
    """Return what a command found, which is the newest, with what only the daemon knows of the same agent."""
    if told.waits_for is not None:
        found = mark_blocked(found, told.waits_for)
    if told.unwatched is not None:
        found = mark_half_watched(found, told.unwatched)
    return mark_at_work(found) if told.at_work else found


# Everything -----------------------------------------------------------------------------------------------------


def summarize_agents(
    agents: list[AgentStatus], key: KeyFacts, problems: list[str], *, clock_trusted: bool, now: datetime
) -> Status:
    """Return the status of all agents. `problems` are other problems; with one, the state is `error`."""
    state = ERROR if problems else find_worst_state(agent.state for agent in agents)
    made = Status(state, "", agents, key, problems, clock_trusted)
    return replace(made, verdict=make_verdict(state, made.safety, agents, now))


def _safety_facts(agent: AgentStatus) -> SafetyFacts:
    return SafetyFacts(
        agent.name, agent.state, agent.sequence, agent.verified_sequence, agent.remotes, agent.vault_opened
    )


def make_verdict(state: str, safety: SafetyJudgement, agents: list[AgentStatus], now: datetime) -> str:
    """Return one sentence: the age of the oldest last verified copy, then where the copies are. Agents whose vault
    could not be opened are named instead: nothing is known of their copies."""
    if not agents:
        return "no agent is protected yet"
    known = [agent for agent in agents if agent.vault_opened]
    statements = [_verified_words(known, now)] if known else []
    if closed := [agent.name for agent in agents if not agent.vault_opened]:
        vaults = "the vault" if len(closed) == 1 else "the vaults"
        statements.insert(0, f"{vaults} of {join_names(_shortened(closed))} could not be opened")
    steps = describe_steps_left(len(safety.gaps)) if state == OK else ""
    overall_state = steps or FOR_PEOPLE.get(state, state)
    return f"{'; '.join(statements)}: {overall_state}"


def _shortened(names: list[str]) -> list[str]:
    return names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]


def _verified_words(agents: list[AgentStatus], now: datetime) -> str:
    moments = [agent.last_verified_at for agent in agents]
    if None in moments:
        return f"never verified{_whereabouts(agents, now)}"
    return f"last verified {_oldest_age(moments, now)} ago{_whereabouts(agents, now)}"


def _oldest_age(moments: Iterable[str | None], now: datetime) -> str:
    oldest = min(times.parse_time(str(moment)) for moment in moments)
    return age_text((now - oldest).total_seconds())


def _whereabouts(agents: list[AgentStatus], now: datetime) -> str:
    """Say which copies were verified, as a continuation of `last verified 2 hours ago`."""
    places = sorted({str(one.verified_in) for one in agents if one.verified_in not in (None, LOCAL)})
    at = f" on {join_names(places)}" if places else ""
    here = [one for one in agents if one.verified_in in (None, LOCAL)]
    if not here:
        return at
    remotes = [remote for one in here for remote in one.remotes if remote.sequence is not None]
    verified_places = "; ".join(["on this disk", *_elsewhere(remotes, now)]) if remotes else "on this disk only"
    return f"{at}, {count_text(len(here), 'agent')} {verified_places}" if places else f", {verified_places}"


def _elsewhere(remotes: list[RemoteFacts], now: datetime) -> Iterator[str]:
    """Yield where copies were verified besides this disk, with the age, and where none was."""
    unverified = {one.name for one in remotes if one.verified_at is None}
    verified = [one for one in remotes if one.name not in unverified]
    if verified:
        names = join_names(sorted({one.name for one in verified}))
        yield f"on {names} {_oldest_age([one.verified_at for one in verified], now)} ago"
    if unverified:
        yield f"not verified on {join_names(sorted(unverified))}"
