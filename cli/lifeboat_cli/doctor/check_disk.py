"""Check the free space for vaults, by the settings that captures use."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common.size_texts import size_text
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.history import vault_quota
from lifeboat_core.home.context import Context

TITLE = "Disk space"


def check(context: Context) -> Iterator[DoctorFinding]:
    yield _disk(context)
    for agent in list_agents(context):
        yield _vault(context, agent)


def _disk(context: Context) -> DoctorFinding:
    free, wanted = context.files.free_space(context.home.folder), context.setting("vault.min_free")
    found = f"{size_text(free)} of disk space free"
    if free >= wanted:
        return DoctorFinding(DoctorLevel.OK, str(context.home.folder), found)
    found += f", less than the setting vault.min_free ({size_text(wanted)})"
    return DoctorFinding(
        DoctorLevel.ERROR, str(context.home.folder), found, "lifeboat config set artifacts.max_total 500MB"
    )


def _vault(context: Context, agent: Agent) -> DoctorFinding:
    with context.vault(agent.id) as vault:
        found = vault_quota.measure_quota(context, agent, vault)
    taken = f"the vault uses {size_text(found.used)} of {size_text(found.max_size)}"
    if found.used <= found.max_size:
        return DoctorFinding(DoctorLevel.OK, agent.name, taken)
    return DoctorFinding(
        DoctorLevel.WARNING,
        agent.name,
        f"{taken}, so large files are not captured",
        "lifeboat config set vault.max_size 20GB",
    )
