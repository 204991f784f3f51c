"""Power and network as Lifeboat sees them, and what waits because of them. Waiting is no fault."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.home.context import Context
from lifeboat_core.machine import conditions
from lifeboat_core.machine.conditions import Conditions
from lifeboat_core.texts.words import size_text

TITLE = "Power and network"


def check(context: Context) -> Iterator[Finding]:
    found = conditions.read(context)
    large = f"transfers above {size_text(context.setting('defer.above'))} (defer.above) wait"
    yield Finding(Level.OK, "power", _power(found, large))
    yield Finding(Level.OK, "network", _network(found, large))


def _power(found: Conditions, large: str) -> str:
    if found.on_battery is None:
        source = "no battery is seen"
    else:
        source = "on battery" if found.on_battery else "at the mains"
    if found.saves_battery:
        return f"{source}, power is being saved: {large}"
    saving = ", power is being saved" if found.saver else ""
    if found.on_battery:
        return f"{source}{saving}: reading back every kept sequence waits for the mains"
    return f"{source}{saving}: nothing waits"


def _network(found: Conditions, large: str) -> str:
    if found.online is False:
        return "there is none: what is sent waits for it, captures go on"
    how = "online" if found.online else "not known"
    if found.metered:
        return f"{how}, metered: {large}; if it is not: lifeboat config set network.metered no"
    metered = "not metered" if found.metered is False else "not known to be metered"
    return f"{how}, {metered}: nothing waits"
