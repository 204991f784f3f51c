"""Rules for appending a signed sequence.

The functions have no side effects, because they run twice: before and inside of the transaction.
"""

from __future__ import annotations

from lifeboat_alf.states.agent_state import Sequence
from lifeboat_vault.errors import EpochBehind, RemoteRefused, StaleBase
from lifeboat_vault.remote.remote_contract import MOST_EPOCHS
from lifeboat_vault.vault import SequenceRow

MOST_NUMBERS = 1 << 24
LARGEST_FIRST = 1 << 40
"""`MOST_NUMBERS` is how far one push may go beyond the head, `LARGEST_FIRST` the largest number of a first sequence.

Numbers end at 2^53. A client that could take the last number in one step would prevent all further pushes. Machines
increase the number by one, so they never get near the limit.
"""


def is_head(sequence: Sequence, head: SequenceRow | None) -> bool:
    """Whether the sequence is the head already."""
    return (
        head is not None and bool(sequence.digest) and (head.number, head.digest) == (sequence.number, sequence.digest)
    )


def check_fit(sequence: Sequence, base: int | None, head: SequenceRow | None, epoch: int) -> None:
    """Check that a sequence fits on top of the head.

    `base` is the number that a delta goes on top of, None for a snapshot; `epoch` is the one in force. Raises
    EpochBehind, StaleBase, RemoteRefused, in this order.
    """
    if sequence.epoch < epoch:
        raise EpochBehind(
            f"writer epoch {sequence.epoch} of the agent has ended; the current writer epoch is {epoch}", epoch=epoch
        )
    newest = None if head is None else head.number
    if base != newest:
        raise StaleBase(_mismatch(base, newest), sequence=newest)
    if newest is not None and sequence.number <= newest:
        raise RemoteRefused(f"sequence {sequence.number} cannot follow sequence {newest}")
    _check_step(sequence, newest, epoch)


def _check_step(sequence: Sequence, newest: int | None, epoch: int) -> None:
    largest = LARGEST_FIRST if newest is None else newest + MOST_NUMBERS
    if sequence.number > largest:
        raise RemoteRefused(f"the next sequence must be at most {largest}, not {sequence.number}")
    if sequence.epoch > epoch + MOST_EPOCHS:
        most = epoch + MOST_EPOCHS
        raise RemoteRefused(
            f"writer epoch {sequence.epoch} is too high: the current one is {epoch}, and the highest allowed is {most}"
        )


def _mismatch(base: int | None, newest: int | None) -> str:
    if newest is None:
        return "the endpoint has no history of the agent, so it cannot apply a delta; push a snapshot instead"
    if base is None:
        return f"the endpoint has a history of the agent up to sequence {newest}; push a delta instead of a snapshot"
    return f"the newest sequence at the endpoint is {newest}, not the given base {base}"
