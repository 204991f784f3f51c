"""Where in the dashboard a finding of the doctor is put right."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from lifeboat_core.documents.doctor_documents import Finding


@dataclass(frozen=True, slots=True)
class FindingFix:
    """`screen` by its name in `screens.places`, or `receipts`, or the app's act `start_daemon`; `agent` by name where
    the place is about one; `label` for people."""

    screen: str
    label: str
    agent: str | None = None


_PLACES = (
    (("doctor", "--remote"), "remotes", "the second copies (t tests one)", False),
    (("keys",), "keys", "the keys", False),
    (("config",), "settings", "the settings", False),
    (("remote",), "remotes", "the second copies", False),
    (("agents", "adopt"), "remotes", "the second copies", False),
    (("agents", "discover"), "setup", "the search for agents", False),
    (("agents",), "dashboard", "the dashboard", False),
    (("sync",), "dashboard", "the dashboard (s syncs)", False),
    (("receipts",), "receipts", "the receipts", False),
    (("daemon", "start"), "start_daemon", "nothing, but starts the service", False),
    (("restore",), "restore", "the way back", True),
    (("verify",), "timeline", "the timeline", True),
    (("purge",), "purge", "the purge", True),
)
"""First words of the command that helps, the longest first of those that begin alike: the screen, and whether it is an
agent's."""
_PROGRAM = "lifeboat"


def find_fix(found: Finding) -> FindingFix | None:
    """The place of a finding, by the command that helps; None where only a shell does."""
    program, *words = split_fix_command(found.fix) or [""]
    if program != _PROGRAM or tuple(words[:2]) == ("agents", "cut"):  # no screen cuts
        return None
    for beginning, screen, label, is_of_agent in _PLACES:
        rest = words[len(beginning) :]
        if tuple(words[: len(beginning)]) == beginning:
            agent = rest[0] if is_of_agent and rest and not rest[0].startswith("-") else None
            return None if is_of_agent and agent is None else FindingFix(screen, label, agent)
    return None


def is_command_choice(fix: str | None) -> bool:
    """Whether what helps is a choice of several commands, which cannot be pasted as one."""
    return split_fix_command(fix).count(_PROGRAM) > 1


def split_fix_command(fix: str | None) -> list[str]:
    """The words of what helps; none of what is no command line."""
    try:
        return shlex.split(fix or "")
    except ValueError:
        return []
