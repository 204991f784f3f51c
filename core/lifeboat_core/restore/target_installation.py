"""Find the runtime around the target of a restore: as it is, as it was last found, or as the restore creates it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from lifeboat_adapters.contract import Adapter, Installation
from lifeboat_adapters.errors import AdapterError, RuntimeConfigError
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.folder_explanations import CERTAIN, refuse_other_runtime
from lifeboat_core.home.context import Context
from lifeboat_core.processes import runtime_programs
from lifeboat_core.restore import restore_target
from lifeboat_core.restore.restore_options import RestoreOptions


class TargetInstallation(NamedTuple):
    """`is_new`: the runtime does not know the agent yet; the restore creates the state directory, or the agent's part
    of it."""

    installation: Installation | None
    is_new: bool = False

    def with_remote(self, allowed: bool, server: str) -> TargetInstallation:
        """Return a copy; `allowed` says whether memory servers may be asked, `server` where one is."""
        found = self.installation
        return self if found is None else self._replace(installation=replace(found, remote=allowed, server=server))


def find_target_installation(
    context: Context, adapter: Adapter, folder: Path, state: State, own: Agent | None, options: RestoreOptions
) -> TargetInstallation:
    """Return the runtime that a restore is for: the one asked for, the one around the target, the one last found around
    the agent (`own`) that is restored in place, or a new one. Raises RestoreError.TARGET_REFUSED, and
    NotAWorkspace.OTHER_RUNTIME for a folder that is certainly a workspace of another runtime."""
    if own is None and folder.is_dir():
        refuse_other_runtime(context, adapter, folder, claimed=CERTAIN)
    if options.state_dir is not None:
        named = restore_target.check_state_dir(context, options.state_dir, folder)
        return TargetInstallation(find_installation_in(context, adapter, folder, state, named))
    found = locate_installation(context, adapter, folder)
    if own is not None and (found is None or found.state_dir is None):
        found = _remembered(context, adapter, own) or found
    if found is not None and found.state_dir is not None:
        found = _asked(context, adapter, folder, state, found, found.state_dir)
        is_known = own is not None or adapter.placement is None or adapter.placement.is_configured(found)
        return TargetInstallation(found, is_new=not is_known)
    home = adapter.placement.home_around(folder) if adapter.placement is not None else None
    if home is None:
        alone = adapter.placement.stand_alone(folder) if found is None and adapter.placement is not None else None
        return TargetInstallation(found or alone)
    return TargetInstallation(
        find_installation_in(context, adapter, folder, state, restore_target.check_new_state_dir(context, home)),
        is_new=True,
    )


def find_installation_in(
    context: Context, adapter: Adapter, folder: Path, state: State, state_dir: Path
) -> Installation:
    """Return the installation that a state directory is, or will be, for an agent in a workspace. A new one gets the
    layout of the program on this machine."""
    if adapter.placement is None:
        raise RuntimeConfigError(f"{folder} has no state directory of the runtime")
    around = (state_dir, folder, state, context.environment, context.user_home)
    found = adapter.placement.install_into(*around, "")
    if found.program is None:
        return found
    said = runtime_programs.run_program(
        (str(found.program), "--version"), environment=context.environment, timeout_seconds=20
    )
    return adapter.placement.install_into(*around, said.output if said.ok else "")


def _asked(
    context: Context, adapter: Adapter, folder: Path, state: State, found: Installation, state_dir: Path
) -> Installation:
    """Return an installation for the program that is here now. The remembered or remaining one may be of another
    release, and one unknown key makes every command of a release fail."""
    if found.config is not None and found.config.parent != state_dir:
        return found
    try:
        made = find_installation_in(context, adapter, folder, state, state_dir)
    except AdapterError:  # the configuration cannot be read now, so keep the last known installation
        return found
    return replace(found, layout=made.layout)


def locate_installation(context: Context, adapter: Adapter, folder: Path) -> Installation | None:
    """Return the runtime around a folder, also an empty or missing one; None for a folder that stands alone."""
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
    """Return the runtime around an agent's own workspace as captures last found it, because its state directory may be
    lost too. The program is the one that is here now."""
    from lifeboat_core.capture import known_installation

    with context.vault(agent.id) as vault:
        found = known_installation.recall_installation(vault, agent)
    return None if found is None else replace(found, program=adapter.find_program(context.environment))
