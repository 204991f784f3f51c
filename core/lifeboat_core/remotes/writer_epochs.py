"""Which machine writes an agent, and how another one takes it over at every remote that can be reached."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from lifeboat_alf.common import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import MovedElsewhere
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged_states, remote_registry
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.texts.human_text import age_text
from lifeboat_keys.errors import NoKey
from lifeboat_vault.errors import EpochMoved, RemoteDamaged, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import MOST_EPOCHS, Remote, RemoteHead
from lifeboat_vault.vault import SequenceRow, Vault

RECENTLY = timedelta(hours=24)
"""A machine that wrote within this time may be at work right now."""


@dataclass
class RaisedEpoch:
    """The epoch in force from now on, and by name why some remotes do not know of it yet."""

    epoch: int
    missed: dict[str, str] = field(default_factory=dict)


def check_takeover_consent(context: Context, name: str, head: RemoteHead | None, take_over: str | None) -> None:
    """Refuse to take an agent from a machine that wrote recently, unless that machine was named.

    `take_over` is the name as it was typed. Raises MovedElsewhere.
    """
    machine = find_machine_to_name(context, head)
    if head is None or machine is None or (take_over or "").casefold() == machine.casefold():
        return
    age = context.clock.now() - times.parse_time(head.written_at or context.now())
    raise MovedElsewhere(
        f"{machine} wrote {name} {age_text(max(0.0, age.total_seconds()))} ago. After a take-over, "
        f"{machine} can no longer push its changes",
    ).with_again("--take-over", machine)


def find_machine_to_name(context: Context, head: RemoteHead | None) -> str | None:
    """Return the machine that must be named to take its agent over, because it wrote this state recently; None for
    none."""
    if head is None or not head.written_at or head.writer == _own_device(context):
        return None
    age = context.clock.now() - times.parse_time(head.written_at)
    return None if age > RECENTLY else head.machine or head.writer


def _own_device(context: Context) -> str | None:
    """Return the id of this machine's device key, None in a home without a key: such a home wrote nothing yet."""
    try:
        return context.keys().device.id
    except NoKey:
        return None


def check_epoch_believable(vault: Vault, epoch: int) -> None:
    """Check that machines of the user can have reached this epoch. Raises RemoteDamaged.

    A remote can name any number, and after this machine signed in the last possible epoch no machine could follow.
    """
    if epoch > vault.epoch + MOST_EPOCHS:
        most = vault.epoch + MOST_EPOCHS
        raise RemoteDamaged(f"the remote states writer epoch {epoch}; the highest that this machine accepts is {most}")


def raise_epoch_everywhere(context: Context, vault: Vault, machine: str) -> RaisedEpoch:
    """Begin a new epoch in this vault, and at every remote that knows the agent and is as far as this machine.

    Any other remote learns of it when it is brought up to date (`enforce_epoch`): in the new epoch it would refuse what
    was captured before. Raises EpochMoved when another machine was faster.
    """
    raised, head = RaisedEpoch(0), vault.head()
    for config in remote_registry.list_usable_remotes(context):
        try:
            with contextlib.closing(open_remote(context, config)) as remote:
                there = remote.agent(vault.agent_id)
                check_epoch_believable(vault, there.epoch)
                epoch = there.epoch
                if not _is_behind(vault, head, there.head):
                    epoch = remote.raise_epoch(vault.agent_id, there.epoch, machine=machine)
        except UnknownAtRemote:
            continue
        except EpochMoved:
            raise
        except LifeboatError as error:
            raised.missed[config.name] = error.message
            continue
        raised.epoch = max(raised.epoch, epoch)
        if there.head is not None and not has_remote_state(vault, there.head):
            raised.missed[config.name] = _parted(config.name, there.head)
        acknowledged_states.note_acknowledged(
            vault, config.id, name=config.name, fenced=None, state="waiting", message="", code=""
        )
    _enter(vault, raised)
    return raised


def begin_in_fetched_history(context: Context, staged: Path, epoch: int) -> None:
    """Let a fetched history begin the epoch after the one in force at its remote, before it becomes this machine's own.

    Otherwise, a machine that is interrupted before it raises the epoch at the remotes would write in an epoch that
    belongs to another machine.
    """
    with Vault.open(staged, files=context.files, clock=context.clock) as vault:
        check_epoch_believable(vault, epoch)
        vault.enter_epoch(epoch + 1)


def has_remote_state(vault: Vault, head: RemoteHead) -> bool:
    """Return whether a state of a remote belongs to this history, also if it was thinned since."""
    row, known = vault.find(head.number), acknowledged_states.load_acknowledged(vault).values()
    if row is None:
        return any((one.number, one.digest) == (head.number, head.digest.hex()) for one in known)
    return row.digest == head.digest


def _is_behind(vault: Vault, newest: SequenceRow | None, head: RemoteHead | None) -> bool:
    """Return whether the newest state is an older state of this history."""
    return head is not None and newest is not None and newest.digest != head.digest and has_remote_state(vault, head)


def _parted(name: str, head: RemoteHead) -> str:
    """Return the error for two remotes to which different machines wrote without contact."""
    writer = head.machine or head.writer or "another machine"
    return (
        f"the remote has another history, up to sequence {head.number} by {writer}; `--replace "
        f"{name}` would replace that history with the local one"
    )


def _enter(vault: Vault, raised: RaisedEpoch) -> None:
    """Enter the epoch above every epoch that was met anywhere and every one in which this machine captured."""
    fenced = [
        known.fenced["epoch"]
        for known in acknowledged_states.load_acknowledged(vault).values()
        if known.fenced is not None
    ]
    met = [epoch for epoch in fenced if epoch <= vault.epoch + MOST_EPOCHS]
    newest = vault.head()
    is_unused = newest is not None and newest.epoch < vault.epoch
    own = vault.epoch if is_unused else vault.epoch + 1
    raised.epoch = max(raised.epoch, own, *(epoch + 1 for epoch in met))
    vault.enter_epoch(raised.epoch)


def enforce_epoch(vault: Vault, remote: Remote, machine: str, *, at_least: int) -> None:
    """Tell a remote that is up to date of the epoch in which this machine writes, if the remote was away when it began.
    The remote is in epoch `at_least` or a later one. Raises EpochMoved when another machine was faster."""
    if at_least >= vault.epoch:
        return
    begun = remote.agent(vault.agent_id).epoch
    for epoch in range(begun, vault.epoch):
        made = remote.raise_epoch(vault.agent_id, epoch, machine=machine)
        if made != epoch + 1:
            raise RemoteDamaged(f"the remote began writer epoch {made}, expected {epoch + 1}")
