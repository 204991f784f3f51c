"""Base class of screens about one agent."""

from __future__ import annotations

from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen


class AgentScreen(LifeboatScreen):
    """Screen about the agent `agent_id`."""

    def __init__(self, agent_id: str) -> None:
        super().__init__()
        self.agent_id = agent_id
        self.is_outdated = False
        """True after another screen was opened that may have changed what is shown."""

    @property
    def agent_name(self) -> str:
        """Return the agent's name, or its id while the name is unknown."""
        agent = self.lifeboat.find_agent(self.agent_id)
        return self.agent_id if agent is None else agent.name

    def crumbs(self) -> tuple[str, ...]:
        return ("lifeboat", self.agent_name, self.NAME.lower())

    def on_screen_resume(self) -> None:
        """Reload after a change: without a daemon no event reports it."""
        if self.is_outdated:
            self.is_outdated = False
            self.reload()
