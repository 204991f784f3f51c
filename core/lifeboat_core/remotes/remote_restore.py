"""`lifeboat restore --from`: restore an agent from a remote or from a displaced history into a folder, also on a
machine that never had it. The original machine stays the writer unless the agent is taken over."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from lifeboat_alf.common import times
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.states.agent_state import Sequence, State
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents import manage_agents as registered_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import home_lock
from lifeboat_core.errors import AgentError, NothingToRestore, UnknownAgent
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.remotes import acknowledged_states, displaced_histories, pulling, remote_registry, writer_epochs
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.redactions import purge_exchange
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.writer_epochs import RaisedEpoch
from lifeboat_core.restore import RestoreOptions, RestoreReport, carry_out_plan, plan_restore
from lifeboat_core.restore.plan_opening import find_sequence_at
from lifeboat_core.restore.restore_captures import capture_restored
from lifeboat_core.restore.restore_finish import note_withheld, write_restore_receipt
from lifeboat_core.restore.restore_plan import RestorePlan
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_core.restore.target_installation import locate_installation
from lifeboat_core.texts.human_text import age_text, count_text, quote_argument, sequences_text, time_text
from lifeboat_vault.remote.remote_contract import Remote, RemoteAgent
from lifeboat_vault.vault import Vault

_AHEAD = timedelta(days=1)
"""A sequence that is signed with a time this far in the future was captured under a wrong clock."""
_RECENT = timedelta(days=1)
"""The age up to which the newest state of a remote needs no warning."""


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """Where an agent comes from: the remote, and what it says of the agent."""

    config: RemoteConfig
    agent: RemoteAgent


@dataclass(frozen=True, slots=True)
class ArrivedAgent:
    """An agent that this machine writes from now on."""

    report: RestoreReport
    raised: RaisedEpoch


def find_remote_agent(context: Context, remote: Remote, config: RemoteConfig, text: str) -> RemoteSource:
    """Return the agent that a user means, by its name here or there, its id, or the beginning of the id.

    Raises UnknownAgent, AgentError.AMBIGUOUS_AGENT.
    """
    known = [one.id for one in agent_files.list_agents(context) if text.casefold() in (one.name.casefold(), one.id)]
    there = remote.agents()
    for fits in (
        lambda one: one.id in known,
        lambda one: one.id == text.lower(),
        lambda one: one.name.casefold() == text.casefold(),
        lambda one: len(text) >= 8 and one.id.startswith(text.lower()),
    ):
        found = [one for one in there if fits(one)]
        if len(found) > 1:
            raise AgentError.AMBIGUOUS_AGENT(
                f"several agents on {config.name} match {text!r}: "
                f"{', '.join(one.id for one in found)}. Give the id of one of them"
            )
        if found:
            return RemoteSource(config, found[0])
    raise UnknownAgent(f"{config.name} has no agent {text!r}", fix=f"lifeboat agents list --remote {config.name}")


@contextmanager
def open_remote_plan(
    context: Context, name: str, text: str, target: Path | None, options: RestoreOptions, tell: Tell = tell_nobody
) -> Iterator[RestorePlan]:
    """Plan to restore what a remote has, into a folder or in place. The plan is valid inside the `with` only."""
    if displaced_histories.is_displaced_name(name):
        agent = agent_files.find_agent(context, text)
        with displaced_histories.open_displaced(context, agent.id, name) as kept:
            if kept is None:
                raise NothingToRestore(f"{agent.name} has no replaced history with the name {name}")
            with _newest(context, agent) as newest:
                yield plan_restore(
                    context, kept.state(find_sequence_at(kept, options.at)), target, options, newest, partial=True
                )
        return
    config = remote_registry.find_remote(context, name)
    with contextlib.closing(open_remote(context, config)) as remote:
        pulling.follow_transfer(remote, tell)
        source = find_remote_agent(context, remote, config, text)
        known = _known(context, source.agent.id)
        taken = pulling.take_keys(context, remote, source.agent.id, accept_unsigned=options.accept_unsigned)
        purged = _purged(context, remote, config, source.agent.id, known, options)
        warnings = [*taken, *_held_there(source, options.at)]
        number = _number(remote, source, options.at, context.clock.now())
        with (
            pulling.open_remote_state(remote, source.agent.id, number, purged) as state,
            _newest(context, known) as newest,
        ):
            made = plan_restore(context, state, target, options, newest, partial=True)
            pulling.follow_transfer(remote, tell_nobody)
            if known is None and options.at is None:
                warnings += _warn_if_old(source, state.sequence, context.clock.now())
            yield replace(made, warnings=[*warnings, *made.warnings])


def _purged(
    context: Context, remote: Remote, config: RemoteConfig, agent_id: str, known: Agent | None, options: RestoreOptions
) -> Redactions:
    """Return what was purged of an agent, here or anywhere. Nothing of it is restored, even while it waits at the
    remote. Raises AgentErased, RemoteError."""
    unsigned = options.accept_unsigned
    if known is None:
        return Redactions(pulling.fetch_redactions(context, remote, agent_id, accept_unsigned=unsigned))
    with purge_exchange.heed_erasure(context, known):
        there = pulling.fetch_redactions(context, remote, agent_id, accept_unsigned=unsigned)
        with context.vault(agent_id) as vault:
            purge_exchange.exchange_purges(context, known, config, vault, remote)
            return Redactions((*(row.redaction for row in vault.redaction_rows()), *there))


def _held_there(source: RemoteSource, at: int | str | None) -> Iterator[str]:
    """Return a warning for a state whose removals look like an accident: most users do not want it back."""
    held = source.agent.held
    if held is not None and at is None:
        before = held.get("previous")
        advice = "" if before is None else f". To restore the sequence before it, use --at {before}"
        yield (
            f"the newest sequence on {source.config.name} is held, because it removed much: "
            f"{held.get('reason')}{advice}"
        )


def _warn_if_old(source: RemoteSource, newest: Sequence, now: datetime) -> Iterator[str]:
    """Yield a warning if the newest state of a remote is old. A machine without history cannot tell whether the remote
    was reset to an older backup; the user can."""
    age = now - times.parse_time(newest.time)
    if age > _RECENT:
        name, remote = source.agent.name or source.agent.id, source.config.name
        yield (
            f"the newest sequence of {name} on {remote} is {newest.number}, captured {time_text(newest.time)}, "
            f"{age_text(age.total_seconds())} ago. If {name} changed after that, {remote} lacks those changes: "
            "look for a later sequence at your other remotes"
        )


@contextmanager
def _newest(context: Context, agent: Agent | None) -> Iterator[State | None]:
    """Return what this machine captured last of an agent that it knows."""
    if agent is None:
        yield None
        return
    with context.vault(agent.id) as vault:
        yield vault.state() if vault.head() is not None else None


def _known(context: Context, agent_id: str) -> Agent | None:
    return next((one for one in agent_files.list_agents(context) if one.id == agent_id), None)


def _number(remote: Remote, source: RemoteSource, at: int | str | None, now: datetime) -> int | None:
    """Return the sequence with a number or at a time. Raises NothingToRestore."""
    name = source.agent.name or source.agent.id
    if source.agent.head is None:
        raise NothingToRestore(f"{source.config.name} has no sequence of {name} yet")
    if at is None:
        return None
    rows = [(row.number, row.time) for row in remote.sequences(source.agent.id)]
    if isinstance(at, int) or at.isdigit():
        if int(at) not in [number for number, _ in rows]:
            raise NothingToRestore(f"{source.config.name} does not have sequence {at} of {name}; {_kept(rows)}")
        return int(at)
    moment = _moment(at)
    ahead = [number for number, time in rows if times.parse_time(time) > now + _AHEAD]
    if ahead:
        raise NothingToRestore(
            f"{source.config.name} has {sequences_text(ahead)} of {name} with a time in the "
            f"future, so Lifeboat cannot find a sequence by its time. Give the number of a sequence; {_kept(rows)}"
        )
    before = [number for number, time in rows if times.parse_time(time) <= moment]
    if not before:
        raise NothingToRestore(f"the history of {name} on {source.config.name} begins after {at}")
    return before[-1]


def _kept(rows: list[tuple[int, str]]) -> str:
    if not rows:
        return "the remote has no sequence"
    first, last = rows[0][0], rows[-1][0]
    return f"the remote has {count_text(len(rows), 'sequence')} ({(first if first == last else f'{first} to {last}')})"


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise NothingToRestore(f"{text!r} is neither a sequence number nor a time like 2026-11-20T18:00") from None


# An agent that lives here from now on -----------------------------------------------------------------------------


@contextmanager
def prepare_arrival(
    context: Context, name: str, text: str, target: Path, options: RestoreOptions, tell: Tell
) -> Iterator[tuple[RestorePlan, RemoteSource, Path]]:
    """Plan to restore an agent that this machine does not have; its whole history is fetched and verified first.

    Raises AgentError.ALREADY_PROTECTED for an agent on this machine: that is adopted, or moved.
    """
    config = remote_registry.find_remote(context, name)
    with (
        contextlib.closing(open_remote(context, config)) as remote,
        make_scratch_folder(context, "arrive", becomes_history=options.adopt) as scratch,
    ):
        source = find_remote_agent(context, remote, config, text)
        known = _known(context, source.agent.id)
        if known is not None:
            fix = f"lifeboat agents adopt {quote_argument(known.name)}"
            raise AgentError.ALREADY_PROTECTED(f"{known.name} is already an agent on this machine", fix=fix)
        taken = pulling.take_keys(context, remote, source.agent.id, accept_unsigned=options.accept_unsigned)
        warnings = [*taken, *_held_there(source, options.at)]
        staged = scratch / "vault"
        unsigned = options.accept_unsigned
        pulling.fetch_history(context, remote, source.agent.id, staged, accept_unsigned=unsigned, tell=tell)
        with Vault.open(staged, files=context.files, clock=context.clock) as vault:
            state = vault.state(find_sequence_at(vault, options.at))
            made = plan_restore(context, state, target, replace(options, adopt=False))
            if options.at is None:
                warnings += _warn_if_old(source, state.sequence, context.clock.now())
            yield replace(made, warnings=[*warnings, *made.warnings]), source, staged


def carry_out_arrival(
    context: Context,
    made: RestorePlan,
    source: RemoteSource,
    staged: Path,
    *,
    take_over: str | None,
    tell: Tell = tell_nobody,
) -> ArrivedAgent:
    """Write the workspace, put the history in its place, register the agent, and become its writer.

    Raises what `carry_out_plan` raises, MovedElsewhere, EpochMoved. After an interruption, the same command or `agents
    adopt` continues.
    """
    name = source.agent.name or made.agent_name
    writer_epochs.check_takeover_consent(context, name, source.agent.head, take_over)
    report = carry_out_plan(context, made, tell)
    with home_lock(context, "restore"):
        agent = _register(context, made, source, staged)
    report = replace(report, name=agent.name, adopted=True)
    note_withheld(context, report)
    with context.vault(agent.id) as vault:
        raised = writer_epochs.raise_epoch_everywhere(context, vault, context.keys().own_name)
    report = capture_restored(context, report)
    write_restore_receipt(context, report)
    return ArrivedAgent(report, raised)


def _register(context: Context, made: RestorePlan, source: RemoteSource, staged: Path) -> Agent:
    place_history(context, source, staged)
    installation = locate_installation(context, context.adapter(made.runtime), made.target)
    wanted = source.agent.name or made.agent_name
    agent = Agent(
        id=made.agent_id,
        name=registered_agents.choose_free_name(context, wanted),
        runtime=made.runtime,
        workspace=made.target,
        native_id="" if installation is None else installation.native_id,
        added_at=context.now(),
    )
    return registered_agents.save_agent(context, agent)


def place_history(context: Context, source: RemoteSource, staged: Path) -> None:
    """Put a fetched history in the place of the agent's vault, in a new epoch, before the agent is registered.

    An agent without a vault would be a fault; a vault without an agent belongs to no agent yet.
    """
    agent_id, head = source.agent.id, source.agent.head
    context.files.make_folders(context.home.vaults_folder, 0o700)
    # First what can be refused: the vault that is there stays then.
    writer_epochs.begin_in_fetched_history(context, staged, source.agent.epoch)
    registered_agents.set_aside_vault(context, agent_id)
    context.files.replace(staged, context.home.vault_folder(agent_id))
    if head is not None:
        with context.vault(agent_id) as vault:
            acknowledged_states.note_head(vault, source.config.id, source.config.name, head, context.now())
