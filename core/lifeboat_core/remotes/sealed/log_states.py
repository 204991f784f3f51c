"""States that are read from a log: a snapshot and the deltas on top of it, as one state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, Self

from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.errors import ArchiveError
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.states.agent_state import Sequence, State, StateView
from lifeboat_core.remotes.sealed.log_head import LogRow
from lifeboat_keys.signed.redaction_signatures import adopt_signatures
from lifeboat_vault.errors import RemoteDamaged

DEPTH = 32
"""How many deltas are applied on top of each other before they become one snapshot."""


class LogState(StateView):
    """A state with the sequence and the redactions that its log has for it: signatures may be newer, nothing else
    differs."""

    def __init__(self, state: State, sequence: Sequence, listed: Redactions) -> None:
        super().__init__(state)
        self._sequence = sequence
        self._redactions = adopt_signatures(state.redactions, listed)

    @property
    def sequence(self) -> Sequence:
        return self._sequence

    @property
    def redactions(self) -> Redactions:
        return self._redactions


class LayeredStates:
    """States of a log one after the other, each a delta on top of the one before. A context manager.

    A state is open until the next but one is asked for. `unnamed` makes files that are gone when they are closed.
    """

    def __init__(self, unnamed: Callable[[], BinaryIO]) -> None:
        self._unnamed = unnamed
        self._open = ExitStack()
        self._former = ExitStack()
        self._depth = 0
        self._state: State | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._former.close()

    @property
    def state(self) -> State:
        """The newest state."""
        assert self._state is not None
        return self._state

    def begin(self, file: BinaryIO) -> SnapshotReader:
        """Start with a snapshot, which is closed with everything else; earlier states are closed."""
        self._former.close()
        self._former, self._open, self._depth = self._open, ExitStack(), 0
        found = self._open.enter_context(SnapshotReader(self._open.enter_context(file)))
        self._state = found
        return found

    def put(self, file: BinaryIO) -> tuple[State, AppliedState, DeltaReader]:
        """Apply a delta; return its base, the state that it makes, and the delta."""
        if self._depth == DEPTH:
            self._flatten()
        below = self.state
        delta = self._open.enter_context(DeltaReader(self._open.enter_context(file)))
        made = AppliedState(below, delta)
        self._state = made
        self._depth += 1
        return below, made, delta

    def _flatten(self) -> None:
        made = self._unnamed()
        try:
            write_snapshot(self.state, made)
            made.seek(0)
        except BaseException:
            made.close()
            raise
        self.begin(made)


@contextmanager
def lay_states(
    path: list[LogRow], fetch: Callable[[LogRow], BinaryIO], unnamed: Callable[[], BinaryIO]
) -> Iterator[State]:
    """Open the state that a path (see `bundle_chain`) leads to inside the `with`. Raises RemoteDamaged."""
    with LayeredStates(unnamed) as layers, raise_as_damaged():
        layers.begin(fetch(path[0]))
        for row in path[1:]:
            layers.put(fetch(row))
        check_state(layers.state, path[-1])
        yield layers.state


def check_state(state: State, row: LogRow) -> None:
    """Raises RemoteDamaged for a state that differs from its row."""
    if (state.sequence.number, state.sequence.digest.hex()) != (row.number, row.digest):
        raise RemoteDamaged(
            f"the files for sequence {row.number} result in another state than the one in the index of the log"
        )


@contextmanager
def raise_as_damaged() -> Iterator[None]:
    try:
        yield
    except ArchiveError as error:
        raise RemoteDamaged(f"a file on the remote was changed: {error.message}") from error
