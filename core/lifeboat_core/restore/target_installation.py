"""The runtime around the folder of a restore: as it stands, as it was last found, or as the restore makes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from lifeboat_adapters.contract import Adapter, Installation
from lifeboat_adapters.errors import AdapterError
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.processes import runtime_programs
from lifeboat_core.restore import restore_target
from lifeboat_core.restore.restore_options import RestoreOptions


class TargetInstallation(NamedTuple):
    """`is_new` says that the runtime knows nothing of the agent yet: the restore makes its folder, or its part of
    it."""

    installation: Installation | None
    is_new: bool = False

    def with_remote(self, allowed: bool, server: str) -> TargetInstallation:
        """The same; `allowed` says whether servers may be asked that hold memories, `server` where one is."""
        found = self.installation
        return self if found is None else self._replace(installation=replace(found, remote=allowed, server=server))


def find_target_installation(
    context: Context, adapter: Adapter, folder: Path, state: State, own: Agent | None, options: RestoreOptions
) -> TargetInstallation:
    """The runtime that a restore is for: the one that was asked for, the one around the target, the one that was last
    found around the agent (`own`) that is restored in place, or the one that is made. Raises
    RestoreError.TARGET_REFUSED."""
    if options.state_dir is not None:
        named = restore_target.check_state_dir(context, options.state_dir, folder)
        return TargetInstallation(find_installation_in(context, adapter, folder, state, named))
    found = locate_installation(context, adapter, folder)
    if own is not None and (found is None or found.state_dir is None):
        found = _remembered(context, adapter, own) or found
    if found is not None and found.state_dir is not None:
        found = _asked(context, adapter, folder, state, found, found.state_dir)
        return TargetInstallation(found, is_new=own is None and not adapter.is_configured(found))
    home = adapter.home_around(folder)
    if home is None:
        return TargetInstallation(found)
    return TargetInstallation(
        find_installation_in(context, adapter, folder, state, restore_target.check_new_state_dir(context, home)),
        is_new=True,
    )


def find_installation_in(
    context: Context, adapter: Adapter, folder: Path, state: State, state_dir: Path
) -> Installation:
    """The installation that a state folder is, or will be, for an agent in a workspace. A folder that is new gets the
    layout of the program that is here."""
    around = (state_dir, folder, state, context.environment, context.user_home)
    found = adapter.install_into(*around, "")
    if found.program is None:
        return found
    said = runtime_programs.run_program(
        (str(found.program), "--version"), environment=context.environment, timeout_seconds=20
    )
    return adapter.install_into(*around, said.output if said.ok else "")


def _asked(
    context: Context, adapter: Adapter, folder: Path, state: State, found: Installation, state_dir: Path
) -> Installation:
    """An installation for the program that is here now. What was remembered of it, or is left of it, may be of another
    release, and one key that a release does not know makes every command of it fail."""
    if found.config is not None and found.config.parent != state_dir:
        return found
    try:
        made = find_installation_in(context, adapter, folder, state, state_dir)
    except AdapterError:  # its configuration cannot be read now: what was found is of the last one that could be
        return found
    return replace(found, layout=made.layout)


def locate_installation(context: Context, adapter: Adapter, folder: Path) -> Installation | None:
    """The runtime around a folder, also when the folder is empty or gone; None for a folder that stands alone."""
    try:
        return adapter.locate(folder, context.environment, context.user_home)
    except AdapterError:
        pass
    for found in adapter.discover(context.environment, context.user_home):
        if restore_target.resolve_target(found.workspace) == folder and found.state_dir is not None:
            known = Installation(adapter.runtime, folder, found.native_id, found.name, state_dir=found.state_dir)
            return replace(known, program=adapter.find_program(context.environment))
    return None


def _remembered(context: Context, adapter: Adapter, agent: Agent) -> Installation | None:
    """The runtime around an agent's own workspace as captures last found it: its folder may be lost as well. Its
    program is the one that is here now."""
    from lifeboat_core.capture import known_installation

    with context.vault(agent.id) as vault:
        found = known_installation.recall_installation(vault, agent)
    return None if found is None else replace(found, program=adapter.find_program(context.environment))
