"""Decide which notices people get and when: each change of state and each age once, in words without file names.

All functions are pure. The caller keeps what was sent (`NoticeState`, plain data) and passes it in again, so the same
notice is never sent twice.

- A state that needs the user is reported after it has lasted a minute, and so is its end. A state that comes and goes
  is reported at most once an hour.
- While the state lasts, it is reported again after 1, 3, 7, 14 and 30 days, counted from the last verified copy or from
  the beginning of the trouble, whichever is longer ago.
- A proposal of an agent is reported once, without its words.
- Changes of memories that wait for a review are counted once a day (setting `review`), without any text.
- Agents that are not protected are reported when they are first found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.health.agent_status import (
    ERROR,
    FENCED,
    HELD,
    NEEDS_KEY,
    OK,
    OVERDUE,
    AgentStatus,
    Status,
)
from lifeboat_core.health.safety_level import does_state_need_user
from lifeboat_core.texts.human_text import age_text, count_text, quote_argument

LASTS = 60.0
"""Seconds that a state must last before it is reported."""
NOT_AGAIN_FOR = 3600.0
"""Seconds in which the same state of the same agent is not reported twice."""
DAY = 86400.0
AGES = (1, 3, 7, 14, 30)
"""Days after which a lasting state is reported again."""
AGE, OFFER, PROPOSAL, DIGEST = "age", "offer", "proposal", "digest"
"""Kinds of notices that are not states."""
HOME = ""
"""The subject of problems that concern no single agent."""


class UserNotice(msgspec.Struct, frozen=True):
    """A notice for people. `kind` is a state, `age`, `offer`, `proposal` or `digest`; `subjects` are the ids of the
    agents it is about; `text` describes the situation, `fix` is the command that helps; `headline` is the title
    without the name of the agent. None of them contains a file name, a directory or any content."""

    kind: str
    title: str
    text: str
    fix: str | None = None
    subjects: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    headline: str = ""

    @property
    def is_urgent(self) -> bool:
        """Whether it is about something that needs the user."""
        return does_state_need_user(self.kind) or self.kind == AGE

    def to_json(self) -> JsonObject:
        found: JsonObject = msgspec.to_builtins(self)
        return found

    @classmethod
    def from_json(cls, document: JsonObject) -> UserNotice:
        """Rebuild a notice from `to_json`. Raises msgspec.ValidationError."""
        return msgspec.convert(document, cls)


class NoticeState(msgspec.Struct, frozen=True):
    """What was sent about one subject. `state` is the present state and `since` its beginning; `said` is the last
    reported state and `said_at` when each state was reported; `age` is the largest number of days that was reported,
    `proposal` the number of the newest proposal that was. `digest` is the last reported number of changes of memories,
    `digest_at` when it was reported, or when the first of them was seen."""

    state: str = OK
    since: str | None = None
    said: str = OK
    said_at: dict[str, str] = {}
    trouble_since: str | None = None
    age: int = 0
    proposal: int = 0
    digest: int = 0
    digest_at: str | None = None

    def to_json(self) -> JsonObject:
        found: JsonObject = msgspec.to_builtins(self)
        return found

    @classmethod
    def from_json(cls, document: JsonObject | None) -> NoticeState:
        """Rebuild a state from `to_json`. Return an empty one if that fails: a repeated notice is better than none."""
        try:
            return msgspec.convert(document or {}, cls)
        except msgspec.ValidationError:
            return cls()


class NoticeDecision(NamedTuple):
    """The decision about one subject. `told` is to be saved when it differs from the one passed in; `look_again` is the
    number of seconds until a notice may be due although nothing happens, or None."""

    notices: list[UserNotice]
    told: NoticeState
    look_again: float | None


def decide_agent_notices(agent: AgentStatus, told: NoticeState, now: datetime) -> NoticeDecision:
    """Decide the notices about one agent."""
    verified = None if agent.last_verified_at is None else times.parse_time(agent.last_verified_at)
    subject = _NoticeSubject(agent.id, agent.name, _alarm(agent.state), _trouble(agent), agent.fix, verified)
    decided = _with_digest(_news(subject, told, now), subject, agent, now)
    if agent.newest_proposal <= told.proposal:
        return decided
    told = msgspec.structs.replace(decided.told, proposal=agent.newest_proposal)
    return NoticeDecision([*decided.notices, _of_proposals(subject, agent)], told, decided.look_again)


def _with_digest(decided: NoticeDecision, subject: _NoticeSubject, agent: AgentStatus, now: datetime) -> NoticeDecision:
    """Add the number of unreviewed changes of memories, a day after the first of them or after the last digest, if it
    is another number."""
    told = decided.told
    if not agent.unreviewed:
        return decided._replace(told=msgspec.structs.replace(told, digest=0, digest_at=None))
    begun = now if told.digest_at is None else times.parse_time(told.digest_at)
    left = DAY - (now - begun).total_seconds()
    if 0 < left <= DAY:
        begin = msgspec.structs.replace(told, digest_at=times.to_text(begun))
        return decided._replace(told=begin, look_again=min(left, decided.look_again or left))
    is_due = left <= DAY  # otherwise the clock was set back, and a new day begins
    is_news = is_due and agent.unreviewed != told.digest
    counted = agent.unreviewed if is_due else told.digest
    new = msgspec.structs.replace(told, digest=counted, digest_at=times.to_text(now))
    notices = [*decided.notices, *([_of_digest(subject, agent)] if is_news else [])]
    return NoticeDecision(notices, new, min(DAY, decided.look_again or DAY))


def _of_digest(subject: _NoticeSubject, agent: AgentStatus) -> UserNotice:
    text = f"{count_text(agent.unreviewed, 'change of a memory', 'changes of memories')} since you last looked"
    return _notice(DIGEST, subject, "memories changed", text, f"lifeboat review {quote_argument(agent.name)}")


def _of_proposals(subject: _NoticeSubject, agent: AgentStatus) -> UserNotice:
    text = f"{count_text(agent.proposals, 'proposal')} of the agent for you to accept or reject"
    fix = f"lifeboat proposals list {quote_argument(agent.name)}"
    return _notice(PROPOSAL, subject, "asks for your decision", text, fix)


def decide_home_notices(status: Status, told: NoticeState, now: datetime) -> NoticeDecision:
    """Decide the notices about problems that concern no single agent."""
    state = ERROR if status.problems else OK
    words = "the configuration cannot be used; the last valid settings are in use"
    return _news(_NoticeSubject(HOME, "Lifeboat", state, words, "lifeboat doctor", None), told, now)


class _NoticeSubject(NamedTuple):
    """The subject of a notice: `state` is `ok` or one that needs the user, `words` say why."""

    id: str
    name: str
    state: str
    words: str
    fix: str | None
    verified_at: datetime | None


def _alarm(state: str) -> str:
    """Return the state if it needs the user, otherwise `ok`: being busy, waiting or paused is not reported."""
    return state if does_state_need_user(state) else OK


def _trouble(agent: AgentStatus) -> str:
    """Describe the problem without any name that an agent or a runtime chose. The reasons of `status` may contain such
    names."""
    if agent.state == ERROR:
        if agent.damaged is not None:
            return "the vault of the agent is damaged"
        if agent.missing:
            return (
                "the workspace is missing or does not match its last capture; Lifeboat captures nothing "
                "until the workspace matches again"
            )
        if agent.refusing is not None:
            return _refusal(agent, agent.refusing)
        return "the last capture failed" if agent.failed is not None else "the agent has a problem"
    return {
        HELD: "a capture removed much of the agent's memory and is held; restore the removed data, or "
        "accept the removal",
        FENCED: "another machine writes the agent now",
        NEEDS_KEY: "credentials cannot be opened or restored without your key; captures continue",
        OVERDUE: "the agent has had no verified copy for too long",
    }.get(agent.state, "")


def _refusal(agent: AgentStatus, name: str) -> str:
    """Describe the problem with a remote by the code of its error, because the message may contain any name."""
    code = next(one.code for one in agent.remotes if one.name == name)
    words = {
        "other_vault": "was replaced by a different remote at the same address",
        "remote_damaged": "has lost or changed data",
        "remote_denied": "refuses the requests of this machine",
        "purges_damaged": "has lost its list of purges",
        "remote_forgot": "has lost data",
    }
    return f"the remote {name} {words.get(code, 'refuses the pushed data')}; captures continue"


# States and ages ------------------------------------------------------------------------------------------------


def _news(subject: _NoticeSubject, told: NoticeState, now: datetime) -> NoticeDecision:
    told = _noted(subject, told, now)
    found: list[UserNotice] = []
    wait = _wait(subject.state, told, now)
    if wait is not None and wait <= 0:
        found.append(_of_state(subject, told))
        told, wait = _said(subject, told, now), None
    if told.said != OK and told.said == told.state:
        days, left = _age(subject, told, now)
        if days > told.age:
            # The text of the state contains the age already.
            found += [_of_age(subject, days, now)] if not found else []
            told = msgspec.structs.replace(told, age=days)
        wait = left if wait is None else wait if left is None else min(wait, left)
    return NoticeDecision(found, told, wait)


def _noted(subject: _NoticeSubject, told: NoticeState, now: datetime) -> NoticeState:
    """Return the record with the present state and its beginning. If the clock was set back, the state begins now."""
    moment = times.to_text(now)
    if told.state != subject.state or (told.since is not None and times.parse_time(told.since) > now):
        told = msgspec.structs.replace(told, state=subject.state, since=moment)
    if subject.state == OK and told.said == OK and (told.trouble_since is not None or told.age):
        return msgspec.structs.replace(told, trouble_since=None, age=0)
    if subject.state != OK and told.trouble_since is None:
        return msgspec.structs.replace(told, trouble_since=moment)
    return told


def _wait(state: str, told: NoticeState, now: datetime) -> float | None:
    """Return the seconds until a state is to be reported, or None if it was."""
    if state == told.said:
        return None
    lasted = LASTS - _passed(told.since, now)
    before = told.said_at.get(state)
    quiet = 0.0 if before is None or times.parse_time(before) > now else NOT_AGAIN_FOR - _passed(before, now)
    return max(lasted, quiet)


def _passed(since: str | None, now: datetime) -> float:
    return 0.0 if since is None else (now - times.parse_time(since)).total_seconds()


def _said(subject: _NoticeSubject, told: NoticeState, now: datetime) -> NoticeState:
    said_at = {**told.said_at, subject.state: times.to_text(now)}
    told = msgspec.structs.replace(told, said=subject.state, said_at=said_at)
    return msgspec.structs.replace(told, trouble_since=None, age=0) if subject.state == OK else told


def _age(subject: _NoticeSubject, told: NoticeState, now: datetime) -> tuple[int, float | None]:
    """Return the largest of `AGES` that has passed (0 for none), and the seconds until the next one."""
    seconds = _trouble_seconds(subject, told, now)
    passed = [days for days in AGES if seconds >= days * DAY]
    coming = next((days for days in AGES if seconds < days * DAY and days > told.age), None)
    return max(passed, default=0), None if coming is None else coming * DAY - seconds


def _trouble_seconds(subject: _NoticeSubject, told: NoticeState, now: datetime) -> float:
    verified = 0.0 if subject.verified_at is None else (now - subject.verified_at).total_seconds()
    return max(verified, _passed(told.trouble_since, now))


def _of_state(subject: _NoticeSubject, told: NoticeState) -> UserNotice:
    if subject.state == OK:
        text, fix = "all is well again", None
    else:
        text, fix = subject.words, subject.fix or f"lifeboat status {quote_argument(subject.name)}".rstrip()
    return _notice(subject.state, subject, _TITLES[subject.state], text, fix)


def _of_age(subject: _NoticeSubject, days: int, now: datetime) -> UserNotice:
    unverified = 0.0 if subject.verified_at is None else (now - subject.verified_at).total_seconds()
    if unverified >= days * DAY:
        text = f"the last verified copy is {age_text(unverified)} old"
    else:
        text = f"{subject.words}; this has been so for {count_text(days, 'day')}"
    return _notice(AGE, subject, f"still {_TITLES[subject.state]}", text, subject.fix)


def _notice(kind: str, subject: _NoticeSubject, headline: str, text: str, fix: str | None) -> UserNotice:
    return UserNotice(kind, f"{subject.name}: {headline}", text, fix, (subject.id,), (subject.name,), headline)


_TITLES = {
    OK: "all is well",
    OVERDUE: "overdue",
    NEEDS_KEY: "needs your key",
    FENCED: "moved to another machine",
    HELD: "a removal is held",
    ERROR: "needs you",
}


# Merging --------------------------------------------------------------------------------------------------------


def merge_notices(found: Iterable[UserNotice]) -> list[UserNotice]:
    """Merge notices that are due together: one for all agents in the same situation."""
    groups: dict[tuple[str, str], list[UserNotice]] = {}
    for notice in found:
        groups.setdefault((notice.kind, notice.text), []).append(notice)
    return [group[0] if len(group) == 1 else _as_one(group) for group in groups.values()]


def _as_one(group: list[UserNotice]) -> UserNotice:
    first = group[0]
    names = tuple(name for notice in group for name in notice.names)
    subjects = tuple(subject for notice in group for subject in notice.subjects)
    title = f"{names[0]} and {len(names) - 1} more: {first.headline}"
    fix = None if first.kind == OK else "lifeboat status"
    return UserNotice(first.kind, title, f"{', '.join(names)}: {first.text}", fix, subjects, names)


# Agents that are not protected ----------------------------------------------------------------------------------


def make_purged_notice(agent_id: str, name: str) -> UserNotice:
    """Return the notice that an agent was purged entirely on another machine and was therefore destroyed here as
    well."""
    text = (
        "the agent was purged completely on another of your machines: this machine keeps no copy "
        "of the agent, and did not change its workspace"
    )
    return UserNotice(ERROR, f"Lifeboat: {name} was purged", text, "lifeboat receipts list", (agent_id,), (name,))


def make_offers_notice(new: Collection[JsonObject]) -> UserNotice | None:
    """Return one notice for all agents that were found now and are not protected, or None. `new` is what discovery
    found for the first time; only the `runtime` of each is used."""
    if not new:
        return None
    runtimes = ", ".join(sorted({str(each["runtime"]) for each in new}))
    text = f"{count_text(len(new), 'agent')} on this machine ({runtimes}) {_is(len(new))} not protected yet"
    title = "Lifeboat: a new agent" if len(new) == 1 else "Lifeboat: new agents"
    return UserNotice(OFFER, title, text, "lifeboat agents discover")


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
