"""Ways of telling somebody, found by the entry point group `lifeboat.notifiers`. A new one is one more file and its
entry point: an object with the functions of `Notifier`. They run in a worker and import what they need when they do.
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
    """One way of telling somebody."""

    def is_wanted(self, context: Context) -> bool:
        """Whether the user's settings ask for it. Raises ConfigError."""
        ...

    def problem(self, context: Context) -> str | None:
        """Why nobody can be told this way now, for people; None when somebody can. Sends nothing."""
        ...

    def tell(self, context: Context, notice: UserNotice) -> None:
        """Tell, within seconds. Raises what is derived from LifeboatError, without addresses in its message."""
        ...


def load_notifiers() -> dict[str, Notifier]:
    """Every notifier by its name, sorted."""
    return {point.name: point.load() for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def send_notice(context: Context, notice: UserNotice, notifiers: Mapping[str, Notifier]) -> dict[str, str | None]:
    """Tell in every way that is wanted. By name: None where it was told, else why not. One way that fails stands in the
    way of no other."""
    return {name: _told(context, notice, way) for name, way in notifiers.items() if _is_wanted(context, way)}


def _is_wanted(context: Context, way: Notifier) -> bool:
    try:
        return way.is_wanted(context)
    except LifeboatError:
        return False  # `status` says what is wrong with the settings


def _told(context: Context, notice: UserNotice, way: Notifier) -> str | None:
    try:
        why = way.problem(context)
        if why is None:
            way.tell(context, notice)
    except LifeboatError as error:
        return error.message
    return why
