"""Find the agent of a remote to which a workspace belongs whose home was lost, and reconnect the two.

The workspace is there and its history is not: nothing in this home connects it with an agent of a remote. So a user who
protects a folder is told which agent it resembles, and can continue as that agent instead of starting another one.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import home_lock
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.capture.sync_json import report_document
from lifeboat_core.errors import AgentError
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell
from lifeboat_core.remotes import pulling, remote_registry, writer_epochs
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.remote_restore import RemoteSource, find_remote_agent, place_history
from lifeboat_core.restore import restore_target
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault.remote.remote_contract import Remote, RemoteAgent

MOST_LOOKED_AT = 5
"""How many agents of a remote are fetched at most for a comparison."""
LARGEST_LOOKED_AT = 64 << 20
"""The largest agent that is fetched for a comparison, in bytes."""
LIKE = 0.5
"""A workspace resembles an agent from this share of its files on."""
_READ_AT_MOST = 4 << 20


@dataclass(frozen=True, slots=True)
class AgentLikeness:
    """How much a folder resembles an agent: `same` of `of` files that the remote has are in it, byte for byte."""

    remote: str
    agent: RemoteAgent
    same: int
    of: int

    def __str__(self) -> str:
        return f"{self.agent.name or self.agent.id} on {self.remote}: {self.same} of {self.of} files are identical"


@dataclass(frozen=True, slots=True)
class ReclaimResult:
    """What a reclaim did. `missed` are the remotes that do not know of it yet, with the reason."""

    agent: Agent
    remote: str
    base: int
    capture: JsonObject
    missed: dict[str, str]
    warnings: list[str]


def find_likenesses(context: Context, workspace: Path, runtime: str | None = None) -> list[AgentLikeness]:
    """Return the agents that an unprotected folder resembles, the closest first.

    Remotes that cannot be asked are skipped: the folder can be protected without them.
    """
    runtime = manage_agents.choose_adapter(context, workspace, runtime).runtime
    own = {one.id for one in agent_files.list_agents(context)}
    found: list[AgentLikeness] = []
    for config in remote_registry.list_usable_remotes(context):
        with contextlib.suppress(LifeboatError), contextlib.closing(open_remote(context, config)) as remote:
            strangers = [one for one in remote.agents() if one.id not in own and one.head is not None]
            near = sorted((one for one in strangers if one.runtime in (runtime, "")), key=_written, reverse=True)
            found += _compared(remote, config, near[:MOST_LOOKED_AT], workspace, runtime)
    return sorted(found, key=lambda one: one.same / one.of, reverse=True)


def _written(agent: RemoteAgent) -> str:
    return "" if agent.head is None else agent.head.written_at


def _compared(
    remote: Remote, config: RemoteConfig, there: list[RemoteAgent], workspace: Path, runtime: str
) -> Iterator[AgentLikeness]:
    for agent in there:
        if agent.bytes > LARGEST_LOOKED_AT:
            continue
        with contextlib.suppress(LifeboatError), pulling.open_remote_state(remote, agent.id, None) as state:
            same, of = _alike(state, workspace, archive_layout.raw_prefix(runtime))
            if of and same / of >= LIKE:
                yield AgentLikeness(config.name, agent, same, of)


def _alike(state: State, workspace: Path, prefix: str) -> tuple[int, int]:
    """Return how many files of a state lie in a folder with the same bytes, and how many files there are."""
    entries = [entry for entry in state.entries(prefix) if entry.sha256 and 0 < entry.size <= _READ_AT_MOST]
    same = sum(_digest(workspace / entry.path.removeprefix(prefix)) == entry.sha256 for entry in entries)
    return same, len(entries)


def _digest(file: Path) -> str | None:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() and not file.is_symlink() else None
    except OSError:
        return None


def reclaim_workspace(
    context: Context,
    workspace: Path,
    remote: str,
    text: str,
    *,
    take_over: str | None,
    accept_unsigned: bool,
    tell: Tell,
) -> ReclaimResult:
    """Protect a folder as an agent that a remote has: with its id and history, and the folder as a new sequence on top.

    Raises AgentError.ALREADY_PROTECTED, AgentError.WORKSPACE_REFUSED, UnknownAgent, MovedElsewhere, SignatureError,
    RestoreError.UNSIGNED_STATE, RemoteError, and what a capture raises. After an interruption, `agents adopt`
    continues.
    """
    workspace, config = restore_target.resolve_target(workspace), remote_registry.find_remote(context, remote)
    with (
        contextlib.closing(open_remote(context, config)) as opened,
        make_scratch_folder(context, "take-up", becomes_history=True) as scratch,
    ):
        source = find_remote_agent(context, opened, config, text)
        _refuse_known(context, source)
        manage_agents.check_workspace(context, workspace)
        writer_epochs.check_takeover_consent(context, source.agent.name or text, source.agent.head, take_over)
        warnings = pulling.take_keys(context, opened, source.agent.id, accept_unsigned=accept_unsigned)
        staged = scratch / "vault"
        pulling.fetch_history(context, opened, source.agent.id, staged, accept_unsigned=accept_unsigned, tell=tell)
        with home_lock(context, "agents add"):
            agent = _register(context, workspace, source, staged)
    with context.vault(agent.id) as vault:
        raised = writer_epochs.raise_epoch_everywhere(context, vault, context.keys().own_name)
    report = capture_agent(context, agent, kind="adopt")
    base = -1 if source.agent.head is None else source.agent.head.number
    return ReclaimResult(agent, config.name, base, report_document(agent, report), raised.missed, warnings)


def _refuse_known(context: Context, source: RemoteSource) -> None:
    for one in agent_files.list_agents(context):
        if one.id == source.agent.id:
            fix = f"lifeboat agents move {quote_argument(one.name)} FOLDER"
            raise AgentError.ALREADY_PROTECTED(
                f"{one.name} is already an agent on this machine, in {one.workspace}", fix=fix
            )


def _register(context: Context, workspace: Path, source: RemoteSource, staged: Path) -> Agent:
    adapter = manage_agents.choose_adapter(context, workspace, None)
    installation = adapter.locate(workspace, context.environment, context.user_home)
    place_history(context, source, staged)
    agent = Agent(
        id=source.agent.id,
        name=manage_agents.choose_free_name(context, source.agent.name or installation.name or workspace.name),
        runtime=adapter.runtime,
        workspace=workspace,
        native_id=installation.native_id,
        added_at=context.now(),
    )
    return manage_agents.save_agent(context, agent)
