"""Ways of notifying the user, found by the entry point group `lifeboat.notifiers`.

A new notifier is one more module and its entry point: an object with the functions of `Notifier`. Notifiers run in a
worker and import their libraries when they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Protocol

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.home.context import Context
from lifeboat_daemon.notices.notice_rules import UserNotice

GROUP = "lifeboat.notifiers"


class Notifier(Protocol):
    """One way of notifying the user."""

    def is_wanted(self, context: Context) -> bool:
        """Return whether the user's settings ask for it. Raises ConfigError."""
        ...

    def problem(self, context: Context) -> str | None:
        """Return, for people, why this notifier cannot reach the user now, or None if it can. Sends nothing."""
        ...

    def tell(self, context: Context, notice: UserNotice) -> None:
        """Send the notice within seconds. Raises subclasses of LifeboatError, without addresses in the message."""
        ...


def load_notifiers() -> dict[str, Notifier]:
    """Return every installed notifier by name, sorted."""
    return {point.name: point.load() for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def send_notice(context: Context, notice: UserNotice, notifiers: Mapping[str, Notifier]) -> dict[str, str | None]:
    """Send a notice with every notifier that the settings ask for. Return, by name, None for success or the reason of
    the failure. A failing notifier does not affect the others."""
    return {name: _told(context, notice, way) for name, way in notifiers.items() if _is_wanted(context, way)}


def _is_wanted(context: Context, way: Notifier) -> bool:
    try:
        return way.is_wanted(context)
    except LifeboatError:
        return False  # `status` reports what is wrong with the settings.


def _told(context: Context, notice: UserNotice, way: Notifier) -> str | None:
    try:
        why = way.problem(context)
        if why is None:
            way.tell(context, notice)
    except LifeboatError as error:
        return error.message
    return why
