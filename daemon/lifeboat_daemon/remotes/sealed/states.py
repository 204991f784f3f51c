"""States read out of a log: a snapshot and the deltas on top of it, as one state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from lifeboat_alf.apply import AppliedState
from lifeboat_alf.delta_reader import DeltaReader
from lifeboat_alf.errors import ArchiveError
from lifeboat_alf.redactions import Redactions
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.state import Entry, GoneRecord, Record, Sequence, State
from lifeboat_daemon.remotes.sealed.head import Row
from lifeboat_endpoint.errors import RemoteDamaged

DEPTH = 32
"""Deltas that are laid over each other before they are made one snapshot."""


class Resigned:
    """A state under the sequence that its log has for it: the signature may be newer, nothing else differs."""

    def __init__(self, state: State, sequence: Sequence) -> None:
        self._state = state
        self._sequence = sequence

    @property
    def sequence(self) -> Sequence:
        return self._sequence

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return self._state.entries(prefix)

    def entry(self, path: str) -> Entry | None:
        return self._state.entry(path)

    def body(self, path: str) -> bytes:
        return self._state.body(path)

    def records(self, partition: str | None = None) -> Iterator[Record]:
        return self._state.records(partition)

    def record(self, record_id: str) -> Record | None:
        return self._state.record(record_id)

    def gone(self) -> Iterator[GoneRecord]:
        return self._state.gone()

    @property
    def redactions(self) -> Redactions:
        return self._state.redactions


@contextmanager
def laid(path: list[Row], fetch: Callable[[Row], BinaryIO], unnamed: Callable[[], BinaryIO]) -> Iterator[State]:
    """The state that a path (see `chain`) leads to, open as long as the `with` lasts. Raises RemoteDamaged."""
    with ExitStack() as stack, damaged():
        layers = stack.enter_context(ExitStack())
        state: State = layers.enter_context(SnapshotReader(layers.enter_context(fetch(path[0]))))
        for count, row in enumerate(path[1:], 1):
            if count % DEPTH == 0:
                made = unnamed()
                try:
                    write_snapshot(state, made)
                    made.seek(0)
                except BaseException:
                    made.close()
                    raise
                layers.close()
                layers = stack.enter_context(ExitStack())
                state = layers.enter_context(SnapshotReader(layers.enter_context(made)))
            delta = layers.enter_context(DeltaReader(layers.enter_context(fetch(row))))
            state = AppliedState(state, delta)
        if (state.sequence.number, state.sequence.digest.hex()) != (path[-1].number, path[-1].digest):
            raise RemoteDamaged(f"the files of sequence {path[-1].number} make another state")
        yield state


@contextmanager
def damaged() -> Iterator[None]:
    try:
        yield
    except ArchiveError as error:
        raise RemoteDamaged(f"a file there is not what was written: {error.message}") from error
