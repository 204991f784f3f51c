"""Who writes an agent: taking that over at every remote that can be reached."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from datetime import timedelta

from lifeboat_alf.common import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import MovedElsewhere
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged_states, remote_registry
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.texts.human_text import age_text, quote_argument
from lifeboat_keys.errors import NoKey
from lifeboat_vault.errors import EpochMoved, RemoteDamaged, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import MOST_EPOCHS, Remote, RemoteHead
from lifeboat_vault.vault import SequenceRow, Vault

RECENTLY = timedelta(hours=24)
"""Whoever wrote within this time may be at work right now."""


@dataclass
class RaisedEpoch:
    """The epoch in force from now on, and why some remotes do not know of it yet, by name."""

    epoch: int
    missed: dict[str, str] = field(default_factory=dict)


def check_takeover_consent(context: Context, name: str, head: RemoteHead | None, take_over: str | None) -> None:
    """Refuse to take an agent from a machine that wrote lately, unless that machine was named. `take_over` is the
    name as it was typed. Raises MovedElsewhere."""
    machine = find_machine_to_name(context, head)
    if head is None or machine is None or (take_over or "").casefold() == machine.casefold():
        return
    age = context.clock.now() - times.parse_time(head.written_at or context.now())
    raise MovedElsewhere(
        f"{machine} wrote {name} {age_text(max(0.0, age.total_seconds()))} ago and would send nothing any more",
        fix=f"the same command with --take-over {quote_argument(machine)}",
    )


def find_machine_to_name(context: Context, head: RemoteHead | None) -> str | None:
    """The machine that has to be named by whoever takes its agent: it wrote this state lately. None: nobody has to."""
    if head is None or not head.written_at or head.writer == _own_device(context):
        return None
    age = context.clock.now() - times.parse_time(head.written_at)
    return None if age > RECENTLY else head.machine or head.writer


def _own_device(context: Context) -> str | None:
    """None in a home without a key, which wrote nothing yet."""
    try:
        return context.keys().device.id
    except NoKey:
        return None


def check_epoch_believable(vault: Vault, epoch: int) -> None:
    """Whether machines of the user may have come to this epoch. Whoever answers for a remote names any number, and what
    this machine once signed in the last epoch there is, nobody could follow. Raises RemoteDamaged."""
    if epoch > vault.epoch + MOST_EPOCHS:
        raise RemoteDamaged(f"it names epoch {epoch}, which no machine of yours can have come to")


def raise_epoch_everywhere(context: Context, vault: Vault, machine: str) -> RaisedEpoch:
    """Begin a new epoch in the vault here, and at every remote that knows the agent and is as far as this machine. One
    that is not, or that cannot be asked, learns of it when it is brought up to date (`enforce_epoch`): in the new
    epoch it would not take what was captured before. Raises EpochMoved when another machine was quicker."""
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


def has_remote_state(vault: Vault, head: RemoteHead) -> bool:
    """Whether a state of a remote is one of this history, also when it was thinned since."""
    row, known = vault.find(head.number), acknowledged_states.load_acknowledged(vault).values()
    if row is None:
        return any((one.number, one.digest) == (head.number, head.digest.hex()) for one in known)
    return row.digest == head.digest


def _is_behind(vault: Vault, newest: SequenceRow | None, head: RemoteHead | None) -> bool:
    """Whether what is newest there is an older state of this history."""
    return head is not None and newest is not None and newest.digest != head.digest and has_remote_state(vault, head)


def _parted(name: str, head: RemoteHead) -> str:
    """Two remotes that different machines wrote to while they could not see each other's."""
    by = head.machine or head.writer or "somebody else"
    return f"it has another history, up to sequence {head.number} by {by}, unless that gives way: --replace {name}"


def _enter(vault: Vault, raised: RaisedEpoch) -> None:
    """Above every epoch that was met anywhere."""
    fenced = [
        known.fenced["epoch"]
        for known in acknowledged_states.load_acknowledged(vault).values()
        if known.fenced is not None
    ]
    met = [epoch for epoch in fenced if epoch <= vault.epoch + MOST_EPOCHS]
    raised.epoch = max(raised.epoch, vault.epoch + 1, *(epoch + 1 for epoch in met))
    vault.enter_epoch(raised.epoch)


def enforce_epoch(vault: Vault, remote: Remote, machine: str) -> None:
    """Tell a remote that has all there is here of the epoch this machine writes in, where it was away when that began.
    Raises EpochMoved when another machine was quicker."""
    begun = remote.agent(vault.agent_id).epoch
    for epoch in range(begun, vault.epoch):
        made = remote.raise_epoch(vault.agent_id, epoch, machine=machine)
        if made != epoch + 1:
            raise RemoteDamaged(f"after epoch {epoch} it begins {made}")
