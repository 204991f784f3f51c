"""Actions: each has a method, a unique key, and a help text."""

from __future__ import annotations

from importlib import import_module

import pytest

from lifeboat_tui.dashboard_app import LifeboatApp
from lifeboat_tui.screens import screen_registry
from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen
from lifeboat_tui.user_actions import EVERYWHERE, PLACES, UserAction


def screens() -> list[type[LifeboatScreen]]:
    for module, _ in screen_registry.PLACES.values():
        import_module(f"lifeboat_tui.screens.{module}")
    for module in ("timeline.diff_screen", "memories.memory_screen", "purge.receipts_screen"):
        import_module(f"lifeboat_tui.screens.{module}")
    found, left = [], [LifeboatScreen]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        if kind.NAME:  # base classes without a name are not screens
            found.append(kind)
    return sorted(found, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", screens(), ids=lambda kind: kind.__name__)
def test_every_act_of_a_screen_can_be_done(kind: type[LifeboatScreen]) -> None:
    for act in (*kind.ACTS, *EVERYWHERE):
        assert callable(getattr(kind, f"do_{act.name}", None)), act.name


@pytest.mark.parametrize("kind", screens(), ids=lambda kind: kind.__name__)
def test_no_key_means_two_things(kind: type[LifeboatScreen]) -> None:
    acts = (*kind.ACTS, *EVERYWHERE, *PLACES)
    keys = [key for act in acts for key in act.key.split(",")]
    assert len(keys) == len(set(keys)), sorted(key for key in keys if keys.count(key) > 1)


@pytest.mark.parametrize("kind", screens(), ids=lambda kind: kind.__name__)
def test_every_screen_says_what_it_is_for(kind: type[LifeboatScreen]) -> None:
    assert kind.NAME and len(kind.HELP.strip()) > 80


@pytest.mark.parametrize("kind", screens(), ids=lambda kind: kind.__name__)
def test_the_footer_holds_six_keys_of_a_screen_at_most(kind: type[LifeboatScreen]) -> None:
    assert sum(act.footer for act in kind.ACTS) <= 6


@pytest.mark.parametrize("act", PLACES, ids=lambda act: act.name)
def test_the_app_can_do_every_act_of_the_places(act: UserAction) -> None:
    assert callable(getattr(LifeboatApp, f"do_{act.name}", None))


def test_keys_read_as_people_say_them() -> None:
    assert [UserAction("x", key, "", "").key_text for key in ("escape", "ctrl+o", "question_mark", "P")] == [
        "esc",
        "^o",
        "?",
        "P",
    ]
