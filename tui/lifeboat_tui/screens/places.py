"""Screens by name, for the keys of the places and for `lifeboat tui SCREEN`. A screen's module is imported when it is
opened."""

from __future__ import annotations

from importlib import import_module

from lifeboat_tui.screens.base import LifeboatScreen

PLACES = {
    "dashboard": ("dashboard", "Dashboard"),
    "timeline": ("timeline", "Timeline"),
    "memories": ("memories", "Memories"),
    "restore": ("restore", "Restore"),
    "purge": ("purge", "Purge"),
    "activity": ("activity", "Activity"),
    "keys": ("keys", "Keys"),
    "remotes": ("remotes", "Remotes"),
    "receipts": ("receipts", "Receipts"),
    "settings": ("settings", "Settings"),
    "doctor": ("doctor", "Doctor"),
    "setup": ("first_run", "FirstRun"),
}
"""{name: (module, class)}."""
OF_AN_AGENT = frozenset({"timeline", "memories", "restore", "purge"})
"""These are made with an agent's id."""


def make(name: str, agent_id: str | None) -> LifeboatScreen:
    """A new screen; without an agent, one that is about an agent gives way to the dashboard."""
    if name in OF_AN_AGENT and agent_id is None:
        name = "dashboard"
    screen: LifeboatScreen = kind(name)(agent_id) if name in OF_AN_AGENT else kind(name)()  # type: ignore[call-arg]
    return screen


def kind(name: str) -> type[LifeboatScreen]:
    """The class of a place."""
    module, called = PLACES[name]
    found: type[LifeboatScreen] = getattr(import_module(f"lifeboat_tui.screens.{module}"), called)
    return found
