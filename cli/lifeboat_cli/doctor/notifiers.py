"""Whether anybody is told when something needs the user. Nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.home.context import Context
from lifeboat_daemon.notices import notifiers, ping

TITLE = "Who is told"
_FIX = "lifeboat config set ntfy.url https://ntfy.example.com/YOUR-TOPIC"


def check(context: Context) -> Iterator[Finding]:
    problems = {name: way.problem(context) for name, way in notifiers.installed().items() if way.is_wanted(context)}
    for name, why in problems.items():
        yield Finding(Level.OK, name, "you are told when something needs you" if why is None else why)
    if context.setting(ping.SETTING):
        yield Finding(Level.OK, "ping", "an address is called while all is well")
    elif all(problems.values()):
        yield Finding(Level.WARNING, "notices", "nobody is told when something needs you", _FIX)
