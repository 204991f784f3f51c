"""Where in the dashboard a finding of the doctor is put right."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from lifeboat_tui.documents.doctor import Finding


@dataclass(frozen=True, slots=True)
class Place:
    """`screen` by its name in `screens.places`, or `receipts`, or the app's act `start_daemon`; `agent` by name where
    the place is about one; `label` for people."""

    screen: str
    label: str
    agent: str | None = None


_PLACES = (
    ("lifeboat keys", "keys", "the keys", False),
    ("lifeboat config", "settings", "the settings", False),
    ("lifeboat remote", "remotes", "the second copies", False),
    ("lifeboat agents adopt", "remotes", "the second copies", False),
    ("lifeboat agents discover", "setup", "the search for agents", False),
    ("lifeboat agents", "dashboard", "the dashboard", False),
    ("lifeboat sync", "dashboard", "the dashboard (s syncs)", False),
    ("lifeboat receipts", "receipts", "the receipts", False),
    ("lifeboat daemon start", "start_daemon", "nothing, but starts the service", False),
    ("lifeboat restore", "restore", "the way back", True),
    ("lifeboat verify", "timeline", "the timeline", True),
    ("lifeboat purge", "purge", "the purge", True),
)
"""Beginnings of what helps, the longest first of those that begin alike: the screen, and whether it is an agent's."""


def place_of(found: Finding) -> Place | None:
    """The place of a finding, by the command that helps; None where only a shell does."""
    fix = found.fix or ""
    if fix.startswith("lifeboat doctor --remote"):
        return Place("remotes", "the second copies (t tests one)")
    if fix.startswith("lifeboat agents cut "):
        return None  # no screen does it
    for beginning, screen, label, is_of_agent in _PLACES:
        if fix == beginning or fix.startswith(f"{beginning} "):
            agent = _agent_in(fix, beginning) if is_of_agent else None
            return None if is_of_agent and agent is None else Place(screen, label, agent)
    return None


def _agent_in(fix: str, beginning: str) -> str | None:
    """The agent that a command names first."""
    try:
        words = shlex.split(fix.removeprefix(beginning))
    except ValueError:
        return None
    return words[0] if words and not words[0].startswith("-") else None
