"""The command palette: every act of the screen and of the app, and every agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from lifeboat_tui.screens.base import LifeboatScreen

if TYPE_CHECKING:
    from lifeboat_tui.app import LifeboatApp

Entry = tuple[str, str, Callable[[], object]]


class ActCommands(Provider):
    """What can be done now. An act that is refused says why instead of its help."""

    def _entries(self) -> Iterator[Entry]:
        screen = self.screen
        if not isinstance(screen, LifeboatScreen):
            return
        for act in screen.acts():
            refusal = screen.refusal(act)
            said = act.help if refusal is None else f"Not now: {refusal}"
            yield f"{act.label.capitalize()} ({act.key_text})", said, partial(screen.action_act, act.name)
        app = cast("LifeboatApp", screen.app)
        for agent in app.status.agents if app.status is not None else ():
            yield f"Agent: {agent.name}", f"The timeline of {agent.name}", partial(app.go, "timeline", agent.id)

    async def discover(self) -> Hits:
        for title, said, run in self._entries():
            yield DiscoveryHit(title, run, help=said)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, said, run in self._entries():
            score = max(matcher.match(title), matcher.match(said) * 0.8)
            if score > 0:
                yield Hit(score, matcher.highlight(title), run, help=said)
