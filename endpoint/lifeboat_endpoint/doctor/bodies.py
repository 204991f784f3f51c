"""Check for bodies that a verification found lost or changed and that no machine has sent again yet."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault.remote.remote_contract import RemoteAgent

TITLE = "Damaged data"
NEEDS = ("database", "schema", "objects")


def check(endpoint: Endpoint) -> Iterator[DoctorFinding]:
    agents = [(each, one) for each in endpoint.control.tenants() for one in endpoint.space(each.id).agents()]
    damaged = [(tenant, agent) for tenant, agent in agents if agent.damaged or agent.damaged_states]
    for tenant, agent in damaged:
        result = f"{_damage_text(agent)}; a machine that has the data can send it again"
        fix = f"lifeboat sync {agent.id}"
        yield DoctorFinding(
            DoctorLevel.ERROR, f"{tenant.name}, {agent.id}", result, f"{fix}   # on the agent's own machine"
        )
    if not damaged:
        yield DoctorFinding(DoctorLevel.OK, TITLE, "the last verification found no damage")


def _damage_text(agent: RemoteAgent) -> str:
    found = []
    if agent.damaged:
        found.append(f"{agent.damaged} of the agent's files and records cannot be read")
    if agent.damaged_states:
        found.append(f"{agent.damaged_states} of the agent's sequences have lost or changed rows")
    return ", and ".join(found)
