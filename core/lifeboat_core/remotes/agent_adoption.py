"""`lifeboat agents adopt`: this machine becomes the writer of the agent.

The history of the remotes stays, and the workspace of this machine goes on top of it as one sequence. Nothing is merged
by guess: what the workspace does not hold is removed in that sequence. So the changes are shown first, and the guard
against mass removal applies. The history that this machine had is kept (`displaced_histories`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture import known_installation
from lifeboat_core.capture.capture_report import ROOT_MISSING
from lifeboat_core.capture.capture_run import capture_agent, capture_into
from lifeboat_core.capture.sync_json import report_document
from lifeboat_core.errors import NothingToRestore, UnknownAgent
from lifeboat_core.history import differences
from lifeboat_core.home.context import Context
from lifeboat_core.processes.defer_interrupt import defer_interrupt
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.purge import keep_out
from lifeboat_core.remotes import acknowledged_states, displaced_histories, pulling, remote_registry, writer_epochs
from lifeboat_core.remotes.contract import AgentRemoving, RemoteConfig
from lifeboat_core.remotes.redactions import purge_exchange
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_core.state.state_db import StateDb, delete_cache
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault.errors import AgentErased, EpochMoved, RemoteDenied, UnknownAtRemote, VaultMissing
from lifeboat_vault.remote.remote_contract import Remote, RemoteAgent, RemoteHead
from lifeboat_vault.vault import Vault

_REPLACE = "replace"


def replace_history(
    context: Context, agent: Agent, config: RemoteConfig, *, accept_unsigned: bool, tell: Tell
) -> Path | None:
    """Replace the history of an agent at a remote by the one here; return the folder of the old one.

    The old history is fetched, verified and kept for 90 days, then removed at the remote; the next replication sends
    everything. Return None, and change nothing, if the remote has no other history.

    Raises Busy, SignatureError, RestoreError.UNSIGNED_STATE, RemoteError; RemoteDenied where only the operator of the
    remote may remove an agent.
    """
    with (
        contextlib.closing(open_remote(context, config)) as remote,
        make_scratch_folder(context, _REPLACE, becomes_history=True) as scratch,
        agent_lock(context, agent.id, _REPLACE),
        context.vault(agent.id) as vault,
    ):
        try:
            head = remote.agent(agent.id).head
        except UnknownAtRemote:
            return None
        if head is None or writer_epochs.has_remote_state(vault, head):
            return None
        if not isinstance(remote, AgentRemoving):
            raise RemoteDenied(f"only the operator of {config.name} can remove the agent {agent.name} there")
        staged = scratch / "vault"
        known = [row.redaction for row in vault.redaction_rows()]
        unsigned = accept_unsigned
        pulling.fetch_history(context, remote, agent.id, staged, accept_unsigned=unsigned, tell=tell, known=known)
        kept = displaced_histories.keep_displaced(context, agent.id, staged)
        try:
            remote.remove_agent(agent.id)
        except RemoteDenied:  # nothing is displaced, so nothing is kept
            context.files.replace(kept, staged)
            raise
        acknowledged_states.forget_remote(vault, config.id)
    return kept


KIND = "adopt"


@dataclass(frozen=True, slots=True)
class Adoption:
    """What an adoption would do.

    `remote` is the remote whose history is continued, `head` the newest state there; `own_history` says that this
    machine has all of it already. `changes` is what the workspace changes on top (see `differences.describe_changes`),
    with the counts of memories and what the guard says of them (`held`).
    """

    agent: Agent
    remote: RemoteConfig
    head: RemoteHead
    own_history: bool
    staged: Path | None
    changes: JsonObject
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AdoptionResult:
    """What an adoption did. `missed` are the remotes that do not know of the new epoch yet, with the reason."""

    adoption: Adoption
    epoch: int
    capture: JsonObject
    missed: dict[str, str]
    aside: Path | None

    def to_json(self) -> JsonObject:
        return {
            "id": self.adoption.agent.id,
            "name": self.adoption.agent.name,
            "remote": self.adoption.remote.name,
            "base": self.adoption.head.number,
            "epoch": self.epoch,
            "capture": self.capture,
            "missed": self.missed,
            "aside": None if self.aside is None else str(self.aside),
            "warnings": self.adoption.warnings,
        }


@contextmanager
def prepare_adoption(
    context: Context, agent: Agent, remote: str | None, *, accept_unsigned: bool, tell: Tell
) -> Iterator[Adoption]:
    """Fetch what the remotes have, verify it, and compute what the workspace would change. Write nothing permanent.

    Raises NothingToRestore (no remote has the agent), RemoteError, SignatureError, RestoreError.UNSIGNED_STATE.
    """
    with purge_exchange.heed_erasure(context, agent):
        config, there, known = _chosen(context, agent, remote)
    assert there.head is not None
    with make_scratch_folder(context, KIND, becomes_history=True) as scratch:
        if _goes_on(context, agent, there, there.head):
            with context.vault(agent.id) as vault:
                changes = _changes(context, agent, vault, there.head.number, scratch)
            yield Adoption(agent, config, there.head, True, None, changes)
            return
        staged = scratch / "vault"
        with contextlib.closing(open_remote(context, config)) as opened:
            warnings = pulling.take_keys(context, opened, agent.id)
            unsigned = accept_unsigned
            pulling.fetch_history(context, opened, agent.id, staged, accept_unsigned=unsigned, tell=tell, known=known)
        reach_crash_point(CrashPoint.ADOPT_PULLED)
        with Vault.open(staged, files=context.files, clock=context.clock) as vault:
            changes = _changes(context, agent, vault, there.head.number, scratch)
        yield Adoption(agent, config, there.head, False, staged, changes, warnings)


def adopt_agent(
    context: Context, adoption: Adoption, *, take_over: str | None, tell: Tell = tell_nobody
) -> AdoptionResult:
    """Carry out an adoption. `take_over` names the machine that writes the agent now, if it wrote recently.

    Raises MovedElsewhere, EpochMoved, Busy, and what a capture raises. The same command continues after an
    interruption.
    """
    agent, kept = adoption.agent, None
    writer_epochs.check_takeover_consent(context, agent.name, adoption.head, take_over)
    with agent_lock(context, agent.id, KIND):
        epoch = _check_unmoved(context, adoption)
        _renew_device_of_copy(context, adoption)
        if adoption.staged is not None:
            writer_epochs.begin_in_fetched_history(context, adoption.staged, epoch)
            with defer_interrupt():
                kept = _exchange(context, agent, adoption.staged)
        reach_crash_point(CrashPoint.ADOPT_SET_ASIDE)
        tell("Notifying the remotes", 0, None)
        with context.vault(agent.id) as vault:
            acknowledged_states.note_head(vault, adoption.remote.id, adoption.remote.name, adoption.head, context.now())
            raised = writer_epochs.raise_epoch_everywhere(context, vault, context.keys().own_name)
        reach_crash_point(CrashPoint.ADOPT_EPOCH_RAISED)
    tell("Capturing the workspace", 0, None)
    report = capture_agent(context, agent, kind=KIND)
    reach_crash_point(CrashPoint.ADOPT_SETTLED)
    return AdoptionResult(adoption, raised.epoch, report_document(agent, report), raised.missed, kept)


def _chosen(
    context: Context, agent: Agent, name: str | None
) -> tuple[RemoteConfig, RemoteAgent, tuple[Redaction, ...]]:
    """Return the remote to continue from, the named one or the one with the newest state, and what was purged.

    Each remote is asked for purges and told of them before.
    """
    configs = (
        remote_registry.list_usable_remotes(context) if name is None else [remote_registry.find_remote(context, name)]
    )
    found: list[tuple[RemoteConfig, RemoteAgent]] = []
    failed: list[LifeboatError] = []
    for config in configs:
        try:
            with contextlib.closing(open_remote(context, config)) as remote:
                _exchange_purges(context, agent, config, remote)
                there = remote.agent(agent.id)
        except UnknownAtRemote:
            continue
        except AgentErased:
            raise
        except LifeboatError as error:
            failed.append(error)
            continue
        if there.head is not None:
            found.append((config, there))
    if not found and failed:
        raise failed[0]
    if not found:
        raise NothingToRestore(f"no remote contains the agent {agent.name}", fix="lifeboat remote list")
    config, there = max(found, key=lambda each: (each[1].epoch, _number(each[1])))
    return config, there, _purges(context, agent)


def _exchange_purges(context: Context, agent: Agent, config: RemoteConfig, remote: Remote) -> None:
    with contextlib.suppress(VaultMissing), context.vault(agent.id) as vault:
        purge_exchange.exchange_purges(context, agent, config, vault, remote)


def _purges(context: Context, agent: Agent) -> tuple[Redaction, ...]:
    """Return what the history of this machine knows of purges: another history may take its place."""
    try:
        with context.vault(agent.id) as vault:
            return tuple(row.redaction for row in vault.redaction_rows())
    except VaultMissing:
        return ()


def _number(there: RemoteAgent) -> int:
    return -1 if there.head is None else there.head.number


def _goes_on(context: Context, agent: Agent, there: RemoteAgent, head: RemoteHead) -> bool:
    """Return whether the history of this machine continues from that state.

    If another machine took the agent over since, newer states here belong to an epoch that is over. No remote accepts
    them, so this history is displaced, and the workspace goes on top as one sequence.
    """
    try:
        with context.vault(agent.id) as vault:
            row, newest = vault.find(head.number), vault.head()
            epoch = vault.epoch
    except VaultMissing:  # an adoption was cut off between two renames
        return False
    if row is None or newest is None or row.digest != head.digest:
        return False
    return newest.number == row.number or there.epoch <= epoch


def _changes(context: Context, agent: Agent, vault: Vault, base: int, scratch: Path) -> JsonObject:
    """Return what the workspace changes on top of a state, computed in a copy of the vault."""
    folder = scratch / "preview"
    vault.copy_to(folder)
    with (
        agent_lock(context, agent.id, "compare"),
        Vault.open(folder, files=context.files, clock=context.clock) as copy,
        StateDb.open(scratch / "preview.db", copy.id) as db,
    ):
        report = capture_into(context, agent, copy, db)
        if report.outcome == ROOT_MISSING:
            raise UnknownAgent(
                f"the workspace {agent.workspace} does not exist or is empty",
                fix=f"lifeboat agents move {quote_argument(agent.name)} DIR",
            )
        new = copy.state().sequence.number
        nothing: JsonObject = {"files": [], "records": [], "documents": []}
        found = nothing if new == base else differences.describe_changes(copy.changes(base, new), copy.state(base))
        return {**found, "counts": dict(report.records), "held": report.held}


def _check_unmoved(context: Context, adoption: Adoption) -> int:
    """Check that the remote still has the state that was shown, and return the epoch in force there: the user may have
    taken long to decide. Raises EpochMoved."""
    with contextlib.closing(open_remote(context, adoption.remote)) as remote:
        there = remote.agent(adoption.agent.id)
    if there.head is None or there.head.digest != adoption.head.digest:
        raise EpochMoved(
            f"{adoption.remote.name} has received a newer sequence since you reviewed the changes; review them again",
            epoch=there.epoch,
        )
    return there.epoch


def _renew_device_of_copy(context: Context, adoption: Adoption) -> None:
    """Give this machine a new device key if its own key signed states that it never had.

    Then two machines share one key, as after a home was copied, and must become distinguishable.
    """
    if not adoption.own_history and adoption.head.writer == context.keys().device.id:
        context.keys().renew_device()


def _exchange(context: Context, agent: Agent, staged: Path) -> Path | None:
    """Put the fetched history in the place of this machine's own, and return where that is kept."""
    folder = context.home.vault_folder(agent.id)
    kept_out = _kept_out(context, agent)
    kept = displaced_histories.set_vault_aside(context, agent.id) if folder.exists() else None
    context.files.replace(staged, folder)
    delete_cache(context.home.state_file(agent.id))
    with context.vault(agent.id) as vault:
        known_installation.forget_installation(vault)
        if kept_out is not None:
            vault.set(keep_out.FILTER, kept_out)
    return kept


def _kept_out(context: Context, agent: Agent) -> JsonObject | None:
    """Return what was purged here and may still lie in the workspace: no history holds it any more to derive it
    from."""
    try:
        with context.vault(agent.id) as vault:
            found: JsonObject | None = vault.get(keep_out.FILTER)
            return found
    except VaultMissing:
        return None
