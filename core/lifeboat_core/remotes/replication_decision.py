"""Decide what to send to a remote, from what it says now and what the log of this machine says. Pure.

No cursor of this machine is trusted. The remote's head is looked up in the local log. If it is found, one delta leads
from it to the local head; if they are equal, nothing is sent; if it is not found, another machine wrote there, and this
machine is fenced.
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
    """The same, but this machine's own key signed it: there is a copy of this machine, or this machine was set back."""


@dataclass(frozen=True, slots=True)
class LocalHistory:
    """The history of this machine. `number` and `digest` are of the state to be sent; `digest_of` returns the digest of
    a kept sequence, None for others; `devices` are the ids with which this machine signed."""

    number: int
    digest: bytes
    epoch: int
    digest_of: Callable[[int], bytes | None]
    devices: Collection[str]
    known: AcknowledgedState


@dataclass(frozen=True, slots=True)
class ReplicationDecision:
    """What to do. `base` is the number of the head there, for a delta; `why` and `head` belong to a fence."""

    do: ReplicationAction
    base: int | None = None
    why: FenceReason | None = None
    head: RemoteHead | None = None
    epoch: int = 0


def decide_replication(here: LocalHistory, there: RemoteAgent | None) -> ReplicationDecision:
    """Decide as the module says. `there` is None for an agent that the remote does not know."""
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
    """Return whether this machine has or had the state: one that the remote acknowledged, or that was sent without an
    answer, may have been thinned since."""
    found = here.digest_of(head.number)
    if found is not None:
        return found == head.digest
    place, sent = (head.number, head.digest.hex()), here.known.sent or {}
    return place in ((here.known.number, here.known.digest), (sent.get("number"), sent.get("digest")))
