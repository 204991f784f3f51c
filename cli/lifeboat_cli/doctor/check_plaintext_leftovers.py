"""Find secrets in plain text around the agents, in files that migrations and changes of a runtime left behind. None is
changed."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Iterator

from lifeboat_adapters.credential_types import LeftoverSecretFile
from lifeboat_adapters.errors import AdapterError
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.home.context import Context

TITLE = "Plain-text secrets near the agents"


def check(context: Context) -> Iterator[DoctorFinding]:
    for agent in list_agents(context):
        if agent.workspace.is_dir():
            found = list(_findings(context, agent))
            yield from found or [
                DoctorFinding(DoctorLevel.OK, agent.name, "no leftover file with plain-text secrets was found")
            ]


def _findings(context: Context, agent: Agent) -> Iterator[DoctorFinding]:
    try:
        installation = context.installation(agent)
    except AdapterError:
        return  # The check of the runtimes reports it.
    credentials = context.adapter(agent.runtime).credentials
    for leftover in credentials.leftovers(installation) if credentials is not None else ():
        try:
            mode = stat.S_IMODE(leftover.path.stat().st_mode)
        except FileNotFoundError:
            continue
        yield _finding(agent, leftover, mode)


def _finding(agent: Agent, leftover: LeftoverSecretFile, mode: int) -> DoctorFinding:
    """Return the finding. A file that the runtime needs or writes again is only a fault if others can read it."""
    is_open = bool(mode & (stat.S_IRWXG | stat.S_IRWXO))
    result = f"{leftover.path} (mode {mode:04o}) may contain secrets in plain text: {leftover.what}"
    if leftover.advice:
        result = f"{result}; {leftover.advice}"
    path = shlex.quote(str(leftover.path))
    if not leftover.made_again:
        return DoctorFinding(DoctorLevel.WARNING, agent.name, result, f"rm {path}")
    if is_open:
        return DoctorFinding(
            DoctorLevel.WARNING, agent.name, f"{result}; other users can read this file", f"chmod 600 {path}"
        )
    return DoctorFinding(DoctorLevel.OK, agent.name, f"{result}; private")
