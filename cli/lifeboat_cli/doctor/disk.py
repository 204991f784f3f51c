"""Room for the vaults, by the settings that captures go by."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents.agent import Agent, everyone
from lifeboat_core.history import room
from lifeboat_core.home.context import Context
from lifeboat_core.texts.words import size_text

TITLE = "Space on the disk"


def check(context: Context) -> Iterator[Finding]:
    yield _disk(context)
    for agent in everyone(context):
        yield _vault(context, agent)


def _disk(context: Context) -> Finding:
    free, wanted = context.files.free_space(context.home.folder), context.setting("vault.min_free")
    found = f"{size_text(free)} are free"
    if free >= wanted:
        return Finding(Level.OK, str(context.home.folder), found)
    found += f", less than vault.min_free ({size_text(wanted)})"
    return Finding(Level.ERROR, str(context.home.folder), found, "lifeboat config set artifacts.max_total 500MB")


def _vault(context: Context, agent: Agent) -> Finding:
    with context.vault(agent.id) as vault:
        found = room.measure(context, agent, vault)
    taken = f"the vault takes {size_text(found.used)} of {size_text(found.max_size)}"
    if found.used <= found.max_size:
        return Finding(Level.OK, agent.name, taken)
    return Finding(
        Level.WARNING, agent.name, f"{taken}: large files are not taken", "lifeboat config set vault.max_size 20GB"
    )
