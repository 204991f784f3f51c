"""Agents whose description is lost: rewrite it from `state/` and their vaults, or report them.

`lifeboat_core.agents.agent` reads a lost `agents/<id>.toml` from its copy in `state/`. If both are lost, the vault
still knows which folder was captured.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import home_lock
from lifeboat_core.errors import Busy
from lifeboat_core.home.context import Context
from lifeboat_core.system_refusals import convert_system_errors


def rebuild_lost_agents(context: Context) -> list[str]:
    """Write the lost files of agents again and return a sentence for each. `describe_lost_agents` reports the others.

    Light while nothing is lost. Does nothing while another command, which may be making an agent, holds the home's
    lock.
    """
    with contextlib.suppress(LifeboatError, OSError):
        if not (agent_files.ids_with_lost_file(context) or agent_files.ids_without_description(context)):
            return []
        with home_lock(context, "rebuild agents", timeout=0):
            return [*_from_copies(context), *_from_vaults(context)]
    return []


def describe_lost_agents(context: Context) -> list[str]:
    """Return for people the vaults that were captured here and whose agent is lost."""
    try:
        with convert_system_errors():
            lost = sorted(agent_files.ids_without_description(context))
            captured = [agent_id for agent_id in lost if _is_from_here(context, agent_id)]
        if not captured:
            return []
        with contextlib.suppress(Busy), home_lock(context, "status", timeout=0):
            return [_lost_words(agent_id) for agent_id in captured if agent_id not in agent_files.all_ids(context)]
    except LifeboatError as error:
        return [error.message]
    return []


def _lost_words(agent_id: str) -> str:
    return (
        f"the file agents/{agent_id}.toml is missing, and the agent's vault does not contain the "
        "path of the workspace, so Lifeboat cannot capture this agent. Restore "
        f"agents/{agent_id}.toml from a backup of the home"
    )


def _from_copies(context: Context) -> list[str]:
    said = []
    for agent_id in sorted(agent_files.ids_with_lost_file(context)):
        with contextlib.suppress(
            LifeboatError, OSError
        ):  # `describe_lost_agents` reports this one, and the others are written
            agent = agent_files.load_agent(context, agent_id)
            if agent_id in agent_files.ids_with_file(context):
                said.append(
                    f"the file agents/{agent_id}.toml ({agent.name}) was missing; Lifeboat restored the file from "
                    "the copy in the home of Lifeboat"
                )
    return said


def _from_vaults(context: Context) -> list[str]:
    said = []
    for agent_id in sorted(agent_files.ids_without_description(context)):
        with contextlib.suppress(LifeboatError, OSError):
            agent = _described(context, agent_id)
            if agent is not None:
                agent_files.save_agent(context, agent)
                said.append(
                    f"the file agents/{agent_id}.toml ({agent.name}) was missing; Lifeboat "
                    "created it again from the vault, with default settings for this agent"
                )
    return said


def _described(context: Context, agent_id: str) -> Agent | None:
    """Return the agent as its vault knows it; None if that does not say which folder was captured."""
    from lifeboat_core.capture import known_installation
    from lifeboat_core.restore import wanted_contents

    with context.vault(agent_id) as vault:
        known, head = vault.get(known_installation.DECISION) or {}, vault.head()
        if head is None or not known.get("workspace"):
            return None
        state = vault.state()
        return Agent(
            id=agent_id,
            name=str(known.get("agent") or wanted_contents.read_agent_name(state)),
            runtime=wanted_contents.find_source_runtime(state),
            workspace=Path(str(known["workspace"])),
            native_id=str(known["native_id"]),
            added_at=context.now(),
        )


def _is_from_here(context: Context, agent_id: str) -> bool:
    """Return whether a workspace was captured into a vault, which is not so for an interrupted import. A vault that
    does not open counts as captured."""
    from lifeboat_core.capture import known_installation

    try:
        with context.vault(agent_id) as vault:
            return vault.get(known_installation.DECISION) is not None
    except LifeboatError:
        return True
