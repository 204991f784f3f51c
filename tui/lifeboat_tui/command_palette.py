"""The command palette: all actions of the screen and the app, and all agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.fuzzy import Matcher

from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen

if TYPE_CHECKING:
    from lifeboat_tui.dashboard_app import LifeboatApp

Entry = tuple[str, str, Callable[[], object]]


class ActionCommands(Provider):
    """Actions for the palette. A refused action shows the reason in place of its help."""

    def _entries(self) -> Iterator[Entry]:
        screen = self.screen
        if not isinstance(screen, LifeboatScreen):
            return
        for act in screen.acts():
            refusal = screen.refusal(act)
            said = act.help if refusal is None else f"Unavailable: {refusal}"
            yield f"{act.label.capitalize()} ({act.key_text})", make_plain(said), partial(screen.action_act, act.name)
        app = cast("LifeboatApp", screen.app)
        for agent in app.status.agents if app.status is not None else ():
            name = make_plain(agent.name)
            yield f"Agent: {name}", f"Timeline of {name}", partial(app.go, "timeline", agent.id)

    async def discover(self) -> Hits:
        for title, said, run in self._entries():
            yield DiscoveryHit(Content(title), run, text=title, help=_literally(said))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, said, run in self._entries():
            score = max(matcher.match(title), matcher.match(said) * 0.8)
            if score > 0:
                yield Hit(score, _highlighted(matcher, title), run, text=title, help=_literally(said))


def _literally(text: str) -> str:
    """Escape a text for the help of a palette entry, which is read as markup. An agent's name may contain any
    characters."""
    return text.replace("[", r"\[")


def _highlighted(matcher: Matcher, title: str) -> Content:
    """Highlight the matching letters of a title like `Matcher.highlight`, which would read the title as markup."""
    content = Content(title)
    _score, places = matcher.fuzzy_search.match(matcher.query, title)
    for place in places:
        content = content.stylize(matcher.match_style, place, place + 1)
    return content
