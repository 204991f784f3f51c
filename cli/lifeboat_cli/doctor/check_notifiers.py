"""Check whether the user is notified when something needs attention. Nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_daemon.notices import dead_man_ping, notifiers

TITLE = "Notifications"
_FIX = "lifeboat config set ntfy.url https://ntfy.example.com/YOUR-TOPIC"


def check(context: Context) -> Iterator[DoctorFinding]:
    problems = {
        name: way.problem(context) for name, way in notifiers.load_notifiers().items() if way.is_wanted(context)
    }
    for name, why in problems.items():
        yield DoctorFinding(
            DoctorLevel.OK,
            name,
            "Lifeboat sends a notification when a problem needs your attention" if why is None else why,
        )
    if context.setting(dead_man_ping.SETTING):
        yield DoctorFinding(
            DoctorLevel.OK, "ping", "Lifeboat calls the configured address regularly while there is no problem"
        )
    elif all(problems.values()):
        yield DoctorFinding(
            DoctorLevel.WARNING,
            "notices",
            "no notification is configured, so Lifeboat does not report problems to you",
            _FIX,
        )
