"""A snapshot and the deltas on top of it, as one state with its keys: for `alf apply` and `alf import`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.errors import ApplyError, SignatureError
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import State
from lifeboat_core.exchange.encrypted_archives import Archive
from lifeboat_core.state import state_documents
from lifeboat_keys.signed import sequence_signatures, unopened_credentials

NEEDS_A_SNAPSHOT = "lifeboat alf export RUNTIME FOLDER -o NEW, on the machine that has the agent"


@dataclass(frozen=True, slots=True)
class ArchiveStack:
    """`base` is the snapshot, `state` the one that the last delta leads to. `keys` are the agent's wrapped keys as the
    newest file that has some holds them, None where none does. `unopened` are the labels of the credentials that they
    do not open, and that the base does not hold shut already."""

    base: SnapshotReader
    state: State
    keys: JsonObject | None
    unopened: list[str]


@contextmanager
def open_stack(archives: Sequence[Archive]) -> Iterator[ArchiveStack]:
    """Read a snapshot and its deltas in their order. The state is open inside the `with`.

    The base and each state that a delta makes are held against the digest and the signature that they bear, so that a
    delta of another state under the base's number is refused. Who signed is not looked at. Raises
    ApplyError.BASE_MISMATCH, SignatureError, ArchiveError, ApplyError.
    """
    with ExitStack() as stack:
        base = stack.enter_context(SnapshotReader(archives[0].stream))
        state: State = base
        keys = base.keys
        if len(archives) > 1:  # a snapshot alone is checked when it is restored
            _check_signed(state, archives[0].path)
        for archive in archives[1:]:
            delta = stack.enter_context(DeltaReader(archive.stream))
            below, state = state, _applied(state, delta)
            keys = delta.keys or keys
            _check_made(below, state, archive.path)
        before = _unopened(base, base.keys)
        yield ArchiveStack(base, state, keys, [each for each in _unopened(state, keys) if each not in before])


def _applied(base: State, delta: DeltaReader) -> State:
    try:
        return AppliedState(base, delta)
    except ApplyError as error:
        raise type(error)(error.message, fix=error.fix or NEEDS_A_SNAPSHOT) from error


def _check_signed(state: State, path: Path) -> None:
    """A state of another program bears no digest."""
    digest = state.sequence.digest
    if not digest:
        return
    if merkle.state_digest(state) != digest:
        raise SignatureError(f"{path}: sequence {state.sequence.number} is not the state that was signed")
    sequence_signatures.verify_sequence(state.sequence, None)


def _check_made(base: State, made: State, path: Path) -> None:
    """Bytes that are not what their leaf says, and another digest, both come of a base that is another state."""
    try:
        _check_signed(made, path)
    except SignatureError as error:
        raise ApplyError.BASE_MISMATCH(
            f"{path}: on top of this sequence {base.sequence.number} it does not make the signed sequence "
            f"{made.sequence.number}; it was made from another state of that number, or was changed ({error.message})",
            fix=NEEDS_A_SNAPSHOT,
        ) from error


def _unopened(state: State, keys: JsonObject | None) -> list[str]:
    return unopened_credentials.find_unopened(state_documents.load_credentials(state).values(), keys)
