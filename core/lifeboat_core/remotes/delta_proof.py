"""Check a delta before it is sent: what a machine makes of it that has nothing but bundles."""

from __future__ import annotations

from typing import BinaryIO

from lifeboat_alf.archive import artifact_index
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.errors import AlfError
from lifeboat_alf.states.agent_state import (
    ABSENT_LEAF,
    BodyAbsent,
    Entry,
    State,
    StateView,
)


class BundledState(StateView):
    """A `State` as bundles alone give it: without the bytes of large artifacts."""

    def body(self, path: str) -> bytes:
        """Raises KeyError, BodyAbsent."""
        entry = self._state.entry(path)
        if entry is not None and artifact_index.is_referenced(entry.meta):
            raise BodyAbsent(path)
        return self._state.body(path)


def find_unreadable(base: State, file: BinaryIO, new: State) -> list[str]:
    """Return what a reader with bundles up to `base` and the delta in `file` lacks of `new`: paths, or why the delta
    cannot be applied.

    If the base can be read in this way, an empty list proves that `new` can be, too. `file` is left at its beginning.
    """
    try:
        with DeltaReader(file) as delta:
            made = AppliedState(BundledState(base), delta)
            return [path for path, entry in made.changed_entries.items() if entry and _is_lacking(made, new, entry)]
    except BodyAbsent as error:
        return [str(error.args[0])]
    except AlfError as error:
        return [error.message]
    finally:
        file.seek(0)


def _is_lacking(made: State, new: State, entry: Entry) -> bool:
    """Return whether bytes that this machine has and that bundles carry differ from what the reader makes."""
    if artifact_index.is_referenced(entry.meta) or entry.leaf.digest == ABSENT_LEAF:
        return False
    try:
        return not made.redactions.hold(entry.leaf, made.body(entry.path))
    except BodyAbsent:
        return _is_held(new, entry.path)


def _is_held(state: State, path: str) -> bool:
    try:
        state.body(path)
    except BodyAbsent:
        return False
    return True
