"""Read a snapshot with deltas on top as one state with its keys, for `alf apply` and `alf import`."""

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

NEEDS_A_SNAPSHOT = "lifeboat alf export RUNTIME FOLDER -o NEW"
"""A new snapshot, made on the machine that has the agent."""


@dataclass(frozen=True, slots=True)
class ArchiveStack:
    """`base` is the snapshot, `state` the result of the last delta. `keys` are the agent's wrapped keys from the newest
    file that has some, None when none has. `unopened` are the labels of credentials that they do not open, except those
    that the base's keys do not open either."""

    base: SnapshotReader
    state: State
    keys: JsonObject | None
    unopened: list[str]


@contextmanager
def open_stack(archives: Sequence[Archive]) -> Iterator[ArchiveStack]:
    """Read a snapshot and its deltas in order. The state is open inside the `with`.

    The base and each resulting state are compared with their digest and signature, so that a delta of another state
    under the base's number is refused. The signer is not checked. Raises ApplyError.BASE_MISMATCH, SignatureError,
    ArchiveError, ApplyError.
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
        raise error.with_message(error.message, fix=error.fix or NEEDS_A_SNAPSHOT) from error


def _check_signed(state: State, path: Path) -> None:
    """Check the digest and signature of a state. One of another program has no digest."""
    digest = state.sequence.digest
    if not digest:
        return
    if merkle.state_digest(state) != digest:
        raise SignatureError(f"{path}: sequence {state.sequence.number} does not match its signature")
    sequence_signatures.verify_sequence(state.sequence, None)


def _check_made(base: State, made: State, path: Path) -> None:
    """Raise ApplyError.BASE_MISMATCH for a wrong result: wrong bytes or another digest both mean that the base is
    another state."""
    try:
        _check_signed(made, path)
    except SignatureError as error:
        raise ApplyError.BASE_MISMATCH(
            f"applying {path} to sequence {base.sequence.number} does not result in the signed sequence "
            f"{made.sequence.number}. Either {path} was changed, or {path} was made from a different sequence "
            f"{base.sequence.number} than this one ({error.message})",
            fix=NEEDS_A_SNAPSHOT,
        ) from error


def _unopened(state: State, keys: JsonObject | None) -> list[str]:
    return unopened_credentials.find_unopened(state_documents.load_credentials(state).values(), keys)
