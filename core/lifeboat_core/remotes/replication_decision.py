"""What is to be sent to a remote: decided from what it says now and what this machine's own log says. Pure.

Nothing is believed from a cursor kept here. The remote's head is looked up in the local log: found, one delta leads
from it to the local head; equal, nothing is to be done; not found, somebody else wrote there, and this machine is
fenced.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum

from lifeboat_core.remotes.acknowledged_states import AcknowledgedState
from lifeboat_vault.remote.remote_contract import RemoteAgent, RemoteHead


class ReplicationAction(StrEnum):
    NOTHING = "nothing"
    SNAPSHOT = "snapshot"
    DELTA = "delta"
    FENCED = "fenced"
    FORGOT = "forgot"


class FenceReason(StrEnum):
    """Why this machine may not write."""

    MOVED = "moved"
    """Another machine took the agent over: the epoch in force there is higher."""
    FOREIGN = "foreign"
    """The head there is a state that this machine never had."""
    CLONED = "cloned"
    """So it is, but this machine's own key signed it: there is a copy of this machine, or this one was set back."""


@dataclass(frozen=True, slots=True)
class LocalHistory:
    """This machine. `number` and `digest` are of the state to be sent; `digest_of` gives the digest of a kept sequence,
    None for others; `devices` are the ids this machine signed with."""

    number: int
    digest: bytes
    epoch: int
    digest_of: Callable[[int], bytes | None]
    devices: Collection[str]
    known: AcknowledgedState


@dataclass(frozen=True, slots=True)
class ReplicationDecision:
    """`base` is the number of the head there, for a delta; `why` and `head` for a fence."""

    do: ReplicationAction
    base: int | None = None
    why: FenceReason | None = None
    head: RemoteHead | None = None
    epoch: int = 0


def decide_replication(here: LocalHistory, there: RemoteAgent | None) -> ReplicationDecision:
    """See the module. `there` is None for an agent that the remote does not know."""
    if there is not None and there.epoch > here.epoch:
        return ReplicationDecision(ReplicationAction.FENCED, why=FenceReason.MOVED, head=there.head, epoch=there.epoch)
    head = None if there is None else there.head
    if head is None:
        return ReplicationDecision(
            ReplicationAction.SNAPSHOT if here.known.number is None else ReplicationAction.FORGOT
        )
    if not _is_ours(here, head):
        why = FenceReason.CLONED if head.writer in here.devices else FenceReason.FOREIGN
        return ReplicationDecision(ReplicationAction.FENCED, why=why, head=head, epoch=head.epoch)
    if here.known.number is not None and head.number < here.known.number:
        return ReplicationDecision(ReplicationAction.FORGOT, base=head.number, head=head)
    if head.number >= here.number:
        return ReplicationDecision(ReplicationAction.NOTHING, base=head.number, head=head)
    return ReplicationDecision(ReplicationAction.DELTA, base=head.number, head=head)


def _is_ours(here: LocalHistory, head: RemoteHead) -> bool:
    """Whether this machine has the state, or had it: what the remote acknowledged, or was sent without a word that it
    arrived, may have been thinned since."""
    found = here.digest_of(head.number)
    if found is not None:
        return found == head.digest
    place, sent = (head.number, head.digest.hex()), here.known.sent or {}
    return place in ((here.known.number, here.known.digest), (sent.get("number"), sent.get("digest")))
