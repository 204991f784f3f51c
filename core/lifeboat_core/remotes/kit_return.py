"""Bring back every agent of the remotes of a recovery kit: find them, plan all of them, then carry out one after the
other.

The targets are noted before the first one is written, so that a run after a crash continues in the same directories.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from lifeboat_adapters.errors import UnknownRuntime
from lifeboat_adapters.folder import shipped_profiles
from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import read_all, write_atomic
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import file_lock
from lifeboat_core.errors import RestoreError
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell
from lifeboat_core.remotes import agent_adoption, remote_restore, writer_epochs
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.remote_restore import ArrivedAgent, RemoteSource
from lifeboat_core.restore import RestoreOptions, RestorePlan, plan_restore, usual_folders
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault.remote.remote_contract import RemoteAgent

_TARGETS = "kit-return.json"
_ANY_NOTES = "markdown"
"""The runtime that takes the files of any agent."""


def kit_lock(context: Context) -> AbstractContextManager[None]:
    """Hold the lock of a return from a kit: a second one would restore the same agents into the same directories.
    Raises Busy."""
    return file_lock(context, context.home.state_folder / _TARGETS, "setup --kit")


@dataclass(frozen=True, slots=True)
class ReturningAgent:
    """An agent that a remote has and this machine has not. `target` is its workspace here; `machine` must be named
    before the agent is taken over, None if no machine wrote it recently."""

    config: RemoteConfig
    agent: RemoteAgent
    target: Path
    machine: str | None

    @property
    def name(self) -> str:
        return self.agent.name or self.agent.id


@dataclass(frozen=True, slots=True)
class UnfinishedAgent:
    """An agent on this machine whose return was interrupted before this machine became its writer."""

    agent: Agent
    config: RemoteConfig
    machine: str | None


@dataclass
class FoundAgents:
    """What the remotes have: agents to bring back, those whose return was interrupted, and those that are here.
    `problems` says by name why a remote could not be asked."""

    returning: list[ReturningAgent] = field(default_factory=list)
    unfinished: list[UnfinishedAgent] = field(default_factory=list)
    here: list[Agent] = field(default_factory=list)
    problems: dict[str, LifeboatError] = field(default_factory=dict)


def find_returning_agents(context: Context, configs: Iterable[RemoteConfig]) -> FoundAgents:
    """Ask remotes for their agents. Each agent is taken from the remote with its newest state."""
    found, newest = FoundAgents(), dict[str, tuple[RemoteConfig, RemoteAgent]]()
    for config in configs:
        try:
            with contextlib.closing(open_remote(context, config)) as remote:
                there = remote.agents()
        except LifeboatError as error:
            found.problems[config.name] = error
            continue
        for one in there:
            known = newest.get(one.id)
            if one.head is not None and (known is None or _age(one) > _age(known[1])):
                newest[one.id] = config, one
    here = {one.id: one for one in agent_files.list_agents(context)}
    noted, taken = _load_targets(context), {one.workspace for one in here.values()}
    for agent_id, (config, one) in sorted(newest.items(), key=lambda each: each[1][1].name):
        machine = writer_epochs.find_machine_to_name(context, one.head)
        if agent_id not in here:
            target = noted.get(agent_id) or _choose_target(context, one, taken | set(noted.values()))
            taken.add(target)
            found.returning.append(ReturningAgent(config, one, target, machine))
        elif agent_id in noted:
            found.unfinished.append(UnfinishedAgent(here[agent_id], config, machine))
        else:
            found.here.append(here[agent_id])
    return found


def _age(agent: RemoteAgent) -> tuple[int, int]:
    return agent.epoch, -1 if agent.head is None else agent.head.number


def _choose_target(context: Context, agent: RemoteAgent, taken: set[Path]) -> Path:
    """Return the usual workspace of the agent's runtime, or one beside it that no other agent gets. For a runtime that
    is unknown here, it is a folder named after the agent, until the profile in the fetched history says more."""
    word = usual_folders.make_folder_name(agent.name)
    unknown = context.user_home / usual_folders.make_folder_name(agent.runtime) / word
    folder = usual_folders.find_usual_folders(context, agent.name, taken).get(agent.runtime, unknown)
    if folder in taken:
        folder = folder.with_name(f"{folder.name}-{agent.id[:8]}")
    return folder


def _explain_unknown_runtime(context: Context, one: ReturningAgent) -> UnknownRuntime:
    """Return the error for an agent whose runtime has no adapter here, and whose history has no profile."""
    agent = one.agent
    usual = usual_folders.find_usual_folders(context, agent.name, ())
    notes = usual.get(_ANY_NOTES, context.user_home / _ANY_NOTES)
    profile = context.home.profiles_folder / f"{agent.runtime}{shipped_profiles.SUFFIX}"
    return UnknownRuntime(
        f"{one.name} is an agent of {agent.runtime!r}, for which this machine has no adapter. If "
        f"you wrote a folder profile for {agent.runtime!r}, copy it to {profile} and repeat the "
        "command. Otherwise, restore the files of the agent as notes",
        fix=(
            f"lifeboat restore {quote_argument(agent.id)} --from {quote_argument(one.config.name)} "
            f"--to {quote_argument(str(notes))} --runtime {_ANY_NOTES} --with-credentials"
        ),
    )


@dataclass(frozen=True, slots=True)
class PreparedReturn:
    """A plan with its fetched history in `staged`. It is valid inside the `with` only."""

    agent: ReturningAgent
    plan: RestorePlan
    source: RemoteSource
    staged: Path


@contextmanager
def prepare_returns(
    context: Context, agents: Iterable[ReturningAgent], tell: Tell
) -> Iterator[tuple[list[PreparedReturn], dict[str, LifeboatError]]]:
    """Fetch and verify the history of every agent, and plan its restore. Yield the plans, and by id why an agent has
    none."""
    prepared: list[PreparedReturn] = []
    failed: dict[str, LifeboatError] = {}
    noted = _load_targets(context)
    with ExitStack() as stack:
        for one in agents:
            options = RestoreOptions(adopt=True, yes=True, with_credentials=True)
            arrival = remote_restore.prepare_arrival(context, one.config.name, one.agent.id, one.target, options, tell)
            try:
                with convert_system_errors():
                    plan, source, staged = stack.enter_context(arrival)
                    if plan.new_profile is not None and one.agent.id not in noted:
                        plan, one = _place_by_profile(context, plan, one, {each.agent.target for each in prepared})
            except UnknownRuntime:
                failed[one.agent.id] = _explain_unknown_runtime(context, one)
                continue
            except LifeboatError as error:
                failed[one.agent.id] = error
                continue
            prepared.append(PreparedReturn(one, plan, source, staged))
        yield prepared, failed


def _place_by_profile(
    context: Context, plan: RestorePlan, one: ReturningAgent, taken: set[Path]
) -> tuple[RestorePlan, ReturningAgent]:
    """Plan again into the usual workspace of the runtime, now that its profile is known."""
    taken |= {agent.workspace for agent in agent_files.list_agents(context)}
    target = usual_folders.choose_usual_folder(context, plan.adapter, one.agent.name, taken)
    again = plan_restore(context, plan.state, target, replace(plan.options, adopt=False))
    return replace(again, warnings=plan.warnings), replace(one, target=target)


def note_targets(context: Context, prepared: Iterable[PreparedReturn]) -> None:
    """Note where the agents go, before the first one is written."""
    _save_targets(context, {**_load_targets(context), **{one.agent.agent.id: one.agent.target for one in prepared}})


def carry_out_return(context: Context, prepared: PreparedReturn, *, take_over: str | None, tell: Tell) -> ArrivedAgent:
    """Write one agent and become its writer. Its plan is made again, because an agent that was written before may have
    changed the state directory that both use. Raises what `carry_out_arrival` raises."""
    plan = plan_restore(context, prepared.plan.state, prepared.plan.target, replace(prepared.plan.options, adopt=False))
    plan = replace(plan, warnings=prepared.plan.warnings)
    arrived = remote_restore.carry_out_arrival(
        context, plan, prepared.source, prepared.staged, take_over=take_over, tell=tell
    )
    _forget_target(context, prepared.agent.agent.id)
    return arrived


def finish_return(
    context: Context, unfinished: UnfinishedAgent, *, take_over: str | None, tell: Tell
) -> agent_adoption.AdoptionResult:
    """Make this machine the writer of an agent whose files are back. Raises what an adoption raises."""
    agent = unfinished.agent
    with agent_adoption.prepare_adoption(
        context, agent, unfinished.config.name, accept_unsigned=False, tell=tell
    ) as adoption:
        if adoption.changes.get("held"):
            raise RestoreError.CONSENT_NEEDED(
                f"the workspace of {agent.name} lacks much of the data on {unfinished.config.name}; compare both first",
                fix=f"lifeboat agents adopt {quote_argument(agent.name)}",
            )
        done = agent_adoption.adopt_agent(context, adoption, take_over=take_over, tell=tell)
    _forget_target(context, agent.id)
    return done


def _load_targets(context: Context) -> dict[str, Path]:
    try:
        document = json_codec.decode_json(read_all(context.files, context.home.state_folder / _TARGETS))
    except (FileNotFoundError, ValueError):
        return {}
    return {str(name): Path(str(target)) for name, target in document.items()} if isinstance(document, dict) else {}


def _save_targets(context: Context, targets: Mapping[str, Path]) -> None:
    path = context.home.state_folder / _TARGETS
    context.files.make_folders(path.parent, 0o700)
    if targets:
        encoded = json_codec.encode_json({name: str(target) for name, target in targets.items()})
        write_atomic(context.files, path, encoded)
    else:
        with contextlib.suppress(FileNotFoundError):
            context.files.remove(path)


def _forget_target(context: Context, agent_id: str) -> None:
    targets = _load_targets(context)
    if targets.pop(agent_id, None) is not None:
        _save_targets(context, targets)
