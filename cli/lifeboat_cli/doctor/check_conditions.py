"""Report power and network as Lifeboat sees them, and what waits because of them. Waiting is not a fault."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common.size_texts import size_text
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_core.machine import power_and_network
from lifeboat_core.machine.power_and_network import MachineConditions

TITLE = "Power and network"


def check(context: Context) -> Iterator[DoctorFinding]:
    found = power_and_network.read_conditions(context)
    large = f"transfers larger than {size_text(context.setting('defer.above'))} (setting defer.above) are delayed"
    yield DoctorFinding(DoctorLevel.OK, "power", _power(found, large))
    yield DoctorFinding(DoctorLevel.OK, "network", _network(found, large))


def _power(found: MachineConditions, large: str) -> str:
    if found.on_battery is None:
        source = "no battery found"
    else:
        source = "on battery" if found.on_battery else "on mains power"
    if found.saves_battery:
        return f"{source}, power saving: {large}"
    saving = ", power saving" if found.saver else ""
    if found.on_battery:
        return f"{source}{saving}: verifications of a whole agent are delayed until mains power returns"
    return f"{source}{saving}, so no work is delayed"


def _network(found: MachineConditions, large: str) -> str:
    if found.online is False:
        return "no network: pushes are delayed until the network is available, captures continue"
    how = "online" if found.online else "network state unknown"
    if found.metered:
        return f"{how}, metered: {large}; if the network is not metered: lifeboat config set network.metered no"
    metered = "not metered" if found.metered is False else "not known to be metered"
    return f"{how}, {metered}, so no work is delayed"
