"""Screens of the dashboard where findings of the doctor can be fixed."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from lifeboat_core.documents.doctor_documents import Finding


@dataclass(frozen=True, slots=True)
class FindingFix:
    """Place to fix a finding. `screen` is a name in `screen_registry.PLACES`, or `receipts`, or the app's action
    `start_daemon`; `agent` is the agent's name if the screen is about one; `label` says what enter does."""

    screen: str
    label: str
    agent: str | None = None


_PLACES = (
    (("doctor", "--remote"), "remotes", "open the remotes (press t there to test a remote)", False),
    (("keys",), "keys", "open the screen with the keys", False),
    (("config",), "settings", "open the settings", False),
    (("remote",), "remotes", "open the remotes", False),
    (("agents", "adopt"), "remotes", "open the remotes", False),
    (("agents", "discover"), "setup", "open the list of agents found on this machine", False),
    (("agents",), "dashboard", "open the dashboard", False),
    (("sync",), "dashboard", "open the dashboard (press s there to capture and push)", False),
    (("receipts",), "receipts", "open the receipts", False),
    (("daemon", "start"), "start_daemon", "start the daemon", False),
    (("restore",), "restore", "open the restore", True),
    (("verify",), "timeline", "open the timeline", True),
    (("purge",), "purge", "open the purge", True),
)
"""First words of a fix command, with its screen, label, and whether the screen is about an agent. Longer beginnings
come before shorter ones."""
_PROGRAM = "lifeboat"


def find_fix(found: Finding) -> FindingFix | None:
    """Return the screen for a fix command, None if only a shell can run it."""
    program, *words = split_fix_command(found.fix) or [""]
    if program != _PROGRAM or tuple(words[:2]) == ("agents", "cut"):  # no screen edits live files
        return None
    for beginning, screen, label, is_of_agent in _PLACES:
        rest = words[len(beginning) :]
        if tuple(words[: len(beginning)]) == beginning:
            agent = rest[0] if is_of_agent and rest and not rest[0].startswith("-") else None
            return None if is_of_agent and agent is None else FindingFix(screen, label, agent)
    return None


def is_command_choice(fix: str | None) -> bool:
    """Return True if the fix lists several alternative commands, which cannot be pasted as one."""
    return split_fix_command(fix).count(_PROGRAM) > 1


def split_fix_command(fix: str | None) -> list[str]:
    """Return the words of a fix command, or [] if the fix is no command."""
    try:
        return shlex.split(fix or "")
    except ValueError:
        return []
