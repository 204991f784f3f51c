"""Take agents of the reference client over (`lifeboat setup --from-alf`), under their ids, with the history of the
client and its service."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import home_lock
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.capture.sync_json import is_whole, report_document
from lifeboat_core.errors import AgentError, NoAlfClient
from lifeboat_core.exchange.agent_import import OTHERWISE
from lifeboat_core.exchange.alf_client import TrackedAgent
from lifeboat_core.exchange.alf_history import ClientHistory, fill_vault
from lifeboat_core.exchange.alf_service import HostedService
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_core.texts.human_text import quote_argument

FOUND, PROTECTED, KNOWN, KEPT, FAILED = "found", "protected", "known", "kept", "failed"


@dataclass(slots=True)
class TakenAgent:
    """What became of one agent of the client.

    `outcome`: `protected`; `known` (this home had it already); `kept` (its history is here, its workspace is not);
    `failed`; `found` if nothing was to be changed. `sequences` are the numbers of the client's states that are kept.
    """

    id: str
    outcome: str
    name: str = ""
    workspace: Path | None = None
    sequences: list[int] = field(default_factory=list)
    capture: JsonObject | None = None
    warnings: list[str] = field(default_factory=list)
    error: JsonObject | None = None
    next: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Return whether nothing is left to do for this agent."""
        is_captured = self.capture is None or is_whole(self.capture)
        return self.outcome in (FOUND, PROTECTED, KNOWN) and not self.warnings and self.error is None and is_captured

    def to_json(self) -> JsonObject:
        return {**asdict(self), "workspace": None if self.workspace is None else str(self.workspace)}


def find_likely_workspaces(
    context: Context, named: Sequence[Path], usual: Path | None, found: Sequence[str]
) -> list[Path]:
    """Return the folders in which an agent of the client may live: those that the user names, the one in its settings,
    those of agents found on this machine, and the defaults of the runtimes."""
    defaults = (".openclaw/workspace", ".zeroclaw/workspace")
    known = [agent.workspace for agent in agent_files.list_agents(context)]
    likely = [*named, *([usual] if usual else []), *(Path(each) for each in found), *known]
    return [*likely, *(context.user_home / each for each in defaults)]


def preview_take_over(context: Context, tracked: TrackedAgent, workspace: Path | None) -> TakenAgent:
    """Return what would become of an agent, without changing anything."""
    known = next((one for one in agent_files.list_agents(context) if one.id == tracked.id), None)
    if known is not None:
        return TakenAgent(tracked.id, KNOWN, known.name, known.workspace)
    sequences = [] if tracked.sequence is None or tracked.snapshot is None else [tracked.sequence]
    return TakenAgent(tracked.id, FOUND, workspace=workspace, sequences=sequences)


def take_over(
    context: Context, tracked: TrackedAgent, workspace: Path | None, service: HostedService | None, tell: Tell
) -> TakenAgent:
    """Protect an agent of the client under its id, with its history below the present workspace. A failure is in the
    result, and leaves the agent unchanged. Can be repeated."""
    taken = preview_take_over(context, tracked, workspace)
    if taken.outcome == KNOWN:
        return taken
    try:
        _take_over(context, tracked, taken, service, tell)
    except LifeboatError as error:
        taken.outcome = FAILED if taken.outcome == FOUND else taken.outcome
        taken.error = {"code": error.code, "title": error.title, "message": error.message, "fix": error.fix}
    return taken


def _take_over(
    context: Context, tracked: TrackedAgent, taken: TakenAgent, service: HostedService | None, tell: Tell
) -> None:
    folder = taken.workspace if taken.workspace is not None and taken.workspace.is_dir() else None
    if folder is not None:
        _refuse_protected(context, folder)
        manage_agents.check_workspace(context, folder)
    with make_scratch_folder(context, "from-alf", becomes_history=True) as scratch:
        hosted = []
        if service is not None:
            tell("Fetching the history from the ALF service", 0, None)
            hosted = service.fetch_history(tracked.id, scratch)
        staged = scratch / "vault"
        made = fill_vault(context, staged, tracked, hosted, scratch)
        taken.sequences, taken.warnings = made.sequences, made.warnings
        if folder is None and not made.sequences:
            raise NoAlfClient(
                f"the agent {tracked.id} has neither a workspace nor a snapshot on this machine",
                fix="lifeboat setup --from-alf --hosted --workspace FOLDER",
            )
        with home_lock(context, "setup"):
            agent = _register(context, taken, made, folder, staged)
    taken.name, taken.workspace = agent.name, agent.workspace
    if folder is None:
        taken.outcome = KEPT
        name, to = quote_argument(agent.name), quote_argument(str(agent.workspace))
        taken.next = [
            f"lifeboat restore {name} --to {to} --adopt --accept-unsigned",
            f"lifeboat agents resume {name}",
        ]
        return
    taken.outcome = PROTECTED
    tell("Capturing", 0, None)
    taken.capture = report_document(agent, capture_agent(context, agent, kind="adopt"))


def _refuse_protected(context: Context, folder: Path) -> None:
    """Raise AgentError.ALREADY_PROTECTED for a protected folder: two agents of one workspace would capture each other's
    changes."""
    for one in agent_files.list_agents(context):
        if Path(os.path.realpath(one.workspace)) == folder:
            raise AgentError.ALREADY_PROTECTED(
                f"{folder} is already the workspace of the agent {one.name}, which has another id ({one.id})",
                fix=f"lifeboat agents remove {quote_argument(one.name)}, then repeat the command",
            )


def _register(context: Context, taken: TakenAgent, made: ClientHistory, folder: Path | None, staged: Path) -> Agent:
    """Move the vault into place, then register the agent, because an agent without a vault would be an error."""
    native_id, runtime, name = "", made.runtime, made.name
    if folder is not None:
        adapter = context.recognise(folder)
        installation = adapter.locate(folder, context.environment, context.user_home)
        native_id, runtime, name = installation.native_id, adapter.runtime, installation.name or name or folder.name
    elif runtime not in {adapter.runtime for adapter in context.adapters()}:
        runtime = OTHERWISE
    context.keys().ensure()
    context.files.make_folders(context.home.vaults_folder, 0o700)
    manage_agents.set_aside_vault(context, taken.id)
    context.files.replace(staged, context.home.vault_folder(taken.id))
    free = manage_agents.choose_free_name(context, name or taken.id)
    agent = Agent(
        id=taken.id,
        name=free,
        runtime=runtime,
        workspace=folder or taken.workspace or context.user_home / free,
        native_id=native_id,
        added_at=context.now(),
        watched=folder is not None,
    )
    return manage_agents.save_agent(context, agent)
