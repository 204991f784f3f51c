"""How safe the agents are: one decision for the command line, the dashboard and notifications.

Pure and light. `safe`, which is shown in green, means all of this: no agent is in a state other than `ok` or `syncing`,
the newest sequence of every agent is verified and on a remote that is not on the same disk, and the recovery words of
the key were proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

from lifeboat_core.health.remote_health import RemoteFacts
from lifeboat_core.health.state_words import NEEDS_THE_USER, OK, SYNCING
from lifeboat_core.texts.human_text import count_text, join_names, quote_argument

UNCAPTURED, UNVERIFIED, ONLY_HERE, WORDS_UNPROVEN = "uncaptured", "unverified", "only_here", "words_unproven"
SAME_DISK = "same_disk"
"""Codes of gaps."""
MOST_NAMED = 3
"""Agents that one sentence names."""


class SafetyLevel(StrEnum):
    """`none`: there is no agent. `problem`: something needs the user. `incomplete`: not everything is safe yet."""

    NONE = "none"
    SAFE = "safe"
    INCOMPLETE = "incomplete"
    PROBLEM = "problem"


class SafetyFacts(msgspec.Struct, frozen=True):
    """The facts about one agent. `verified` is the newest sequence that was verified, on this machine or on a remote;
    `is_known`: its vault could be opened."""

    name: str
    state: str = OK
    sequence: int | None = None
    verified: int | None = None
    remotes: tuple[RemoteFacts, ...] = ()
    is_known: bool = True


class SafetyGap(msgspec.Struct, frozen=True):
    """What is missing for `safe`: a code, a sentence, and the command that helps."""

    code: str
    text: str
    fix: str


class SafetyJudgement(msgspec.Struct, frozen=True):
    level: SafetyLevel
    gaps: tuple[SafetyGap, ...] = ()


def does_state_need_user(state: str) -> bool:
    """Return whether an agent in this state is shown in red, is notified about, and fails `status --check`."""
    return state in NEEDS_THE_USER


def describe_steps_left(gaps: int) -> str:
    """Return how many steps are left until the agents are safe; "" if none is."""
    return f"{count_text(gaps, 'step')} left to be fully safe" if gaps else ""


def judge_safety(agents: Sequence[SafetyFacts], problems: Iterable[str], *, words_proven: bool) -> SafetyJudgement:
    """Return how safe all agents together are. `problems` are those that concern no single agent."""
    has_problem = any(problems) or any(does_state_need_user(agent.state) for agent in agents)
    if not agents:
        return SafetyJudgement(SafetyLevel.PROBLEM if has_problem else SafetyLevel.NONE)
    gaps = tuple(_gaps([agent for agent in agents if agent.is_known], words_proven=words_proven))
    if has_problem:
        return SafetyJudgement(SafetyLevel.PROBLEM, gaps)
    is_safe = not gaps and all(agent.is_known and agent.state in (OK, SYNCING) for agent in agents)
    return SafetyJudgement(SafetyLevel.SAFE if is_safe else SafetyLevel.INCOMPLETE, gaps)


def _gaps(agents: Sequence[SafetyFacts], *, words_proven: bool) -> Iterator[SafetyGap]:
    captured = [agent for agent in agents if agent.sequence is not None]
    if uncaptured := [agent for agent in agents if agent.sequence is None]:
        yield SafetyGap(UNCAPTURED, f"{_names(uncaptured)}: nothing is captured yet.", _command("sync", uncaptured))
    if never := [agent for agent in captured if agent.verified is None]:
        yield SafetyGap(UNVERIFIED, f"{_names(never)}: no copy has ever been verified.", _command("verify", never[:1]))
    if older := [agent for agent in captured if agent.verified is not None and not _is_verified(agent)]:
        text = f"{_names(older)}: the newest sequence is not verified yet."
        yield SafetyGap(UNVERIFIED, text, _command("verify", older[:1]))
    if alone := [agent for agent in captured if not _has_copies(agent)]:
        text = f"{_names(alone)}: the only copy is on this machine."
        fix = _command("sync", alone) if any(agent.remotes for agent in alone) else "lifeboat remote add NAME URL"
        yield SafetyGap(ONLY_HERE, text, fix)
    copied = [agent for agent in captured if _has_copies(agent)]
    if behind := [agent for agent in copied if not any(_has_newest(agent, remote) for remote in agent.remotes)]:
        text = f"{_names(behind)}: the newest sequence is on this machine only."
        yield SafetyGap(ONLY_HERE, text, _command("sync", behind))
    if beside := [agent for agent in copied if agent not in behind and not _is_elsewhere(agent)]:
        text = f"{_names(beside)}: all remotes with the newest sequence are on the same disk as the home of Lifeboat."
        yield SafetyGap(SAME_DISK, text, "lifeboat remote add NAME URL")
    if not words_proven:
        yield SafetyGap(
            WORDS_UNPROVEN,
            "You have not yet proven that you have the 24 recovery words of your key.",
            "lifeboat keys init",
        )


def _is_verified(agent: SafetyFacts) -> bool:
    return agent.sequence is not None and agent.verified is not None and agent.verified >= agent.sequence


def _has_copies(agent: SafetyFacts) -> bool:
    return any(remote.sequence is not None for remote in agent.remotes)


def _is_elsewhere(agent: SafetyFacts) -> bool:
    """Return whether a remote on another disk or machine has the newest sequence; optional remotes count too."""
    return any(_has_newest(agent, remote) and not remote.same_disk for remote in agent.remotes)


def _has_newest(agent: SafetyFacts, remote: RemoteFacts) -> bool:
    return remote.sequence is not None and agent.sequence is not None and remote.sequence >= agent.sequence


def _names(agents: Sequence[SafetyFacts]) -> str:
    named = [agent.name for agent in agents[:MOST_NAMED]]
    return join_names([*named, f"{len(agents) - MOST_NAMED} more"] if len(agents) > MOST_NAMED else named)


def _command(operation: str, agents: Sequence[SafetyFacts]) -> str:
    """Return the command for one agent, or for all of them."""
    return f"lifeboat {operation} {quote_argument(agents[0].name)}" if len(agents) == 1 else f"lifeboat {operation}"
