"""Screens by name, for number keys and for `lifeboat tui SCREEN`. The module of a screen is imported when the screen is
opened."""

from __future__ import annotations

from importlib import import_module

from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen

PLACES = {
    "dashboard": ("dashboard_screen", "DashboardScreen"),
    "timeline": ("timeline.timeline_screen", "TimelineScreen"),
    "memories": ("memories.memories_screen", "MemoriesScreen"),
    "restore": ("restore.restore_wizard", "RestoreWizard"),
    "purge": ("purge.purge_wizard", "PurgeWizard"),
    "activity": ("activity.activity_screen", "ActivityScreen"),
    "keys": ("keys.keys_screen", "KeysScreen"),
    "remotes": ("remotes.remotes_screen", "RemotesScreen"),
    "receipts": ("purge.receipts_screen", "ReceiptsScreen"),
    "settings": ("settings_screen", "SettingsScreen"),
    "doctor": ("doctor_screen", "DoctorScreen"),
    "setup": ("first_run.first_run_wizard", "FirstRunWizard"),
}
"""{name: (module, class)}."""
OF_AN_AGENT = frozenset({"timeline", "memories", "restore", "purge"})
"""Screens that are created with an agent's id."""


def make_screen(name: str, agent_id: str | None) -> LifeboatScreen:
    """Create a screen. A screen about an agent is replaced by the dashboard if there is no agent."""
    if name in OF_AN_AGENT and agent_id is None:
        name = "dashboard"
    screen: LifeboatScreen = load_screen_class(name)(agent_id) if name in OF_AN_AGENT else load_screen_class(name)()  # type: ignore[call-arg]
    return screen


def load_screen_class(name: str) -> type[LifeboatScreen]:
    """Import and return the class of a screen."""
    module, called = PLACES[name]
    found: type[LifeboatScreen] = getattr(import_module(f"lifeboat_tui.screens.{module}"), called)
    return found
