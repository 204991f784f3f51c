"""CSS of screens and widgets: every type selector names a widget class that exists."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module

import pytest
from textual.screen import Screen
from textual.widget import Widget

import lifeboat_tui

for _module in pkgutil.walk_packages(lifeboat_tui.__path__, "lifeboat_tui."):
    import_module(_module.name)


def _widget_classes(kind: type[Widget] = Widget) -> Iterator[type[Widget]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _widget_classes(child)


KNOWN = {kind.__name__ for kind in _widget_classes()}
OURS = sorted(
    {kind for kind in _widget_classes() if kind.__module__.startswith("lifeboat_tui.")}, key=lambda kind: kind.__name__
)


def _type_selectors(css: str) -> set[str]:
    """Return the class names among the selectors of a style sheet."""
    selectors = re.sub(r"\{[^}]*\}", " ", css)
    return set(re.findall(r"(?<![\w.#:-])[A-Z]\w*", selectors))


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_every_type_selector_names_a_widget(kind: type[Widget]) -> None:
    css = kind.__dict__.get("DEFAULT_CSS", "") + (kind.__dict__.get("CSS", "") if issubclass(kind, Screen) else "")
    assert _type_selectors(css) <= KNOWN
