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
        yield DoctorFinding(DoctorLevel.OK, name, "you are notified when something needs you" if why is None else why)
    if context.setting(dead_man_ping.SETTING):
        yield DoctorFinding(DoctorLevel.OK, "ping", "an address is called while all is well")
    elif all(problems.values()):
        yield DoctorFinding(
            DoctorLevel.WARNING, "notices", "no notification is set up: you are not told when something needs you", _FIX
        )
