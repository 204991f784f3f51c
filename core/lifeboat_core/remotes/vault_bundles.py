"""Make bundles for remotes from the local vault, in unnamed files of the home that are gone with the process."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO, cast

from lifeboat_alf.archive import artifact_index
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.errors import AlfError
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.states.agent_state import (
    ABSENT_LEAF,
    BodyAbsent,
    Entry,
    State,
    StateView,
)
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell
from lifeboat_core.remotes.contract import LeafPlace
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_vault.remote.remote_contract import RemoteBundle
from lifeboat_vault.vault import Vault


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


"""(what is being done, done, total in bytes)"""


@contextmanager
def make_snapshot(context: Context, vault: Vault, number: int, keys: JsonObject | None) -> Iterator[RemoteBundle]:
    """Make a snapshot of one state, with the agent's wrapped keys."""
    with _file(context) as file:
        write_snapshot(vault.state(number), file, keys=keys)
        yield _bundle(RemoteBundle("snapshot", number, None, file, 0))


@contextmanager
def make_delta(context: Context, vault: Vault, base: int, number: int) -> Iterator[RemoteBundle]:
    """Make the delta from one kept sequence to another."""
    with _file(context) as file:
        write_delta(vault.changes(base, number), file)
        yield _bundle(RemoteBundle("delta", number, base, file, 0))


@contextmanager
def make_delta_from(context: Context, base: State, vault: Vault, number: int) -> Iterator[RemoteBundle]:
    """Make the delta from a state that the vault does not keep any more to one that it keeps."""
    with _file(context) as file:
        write_delta(diff_states(base, vault.state(number)), file)
        yield _bundle(RemoteBundle("delta", number, base.sequence.number, file, 0))


class VaultBundleSource:
    """Makes every bundle that a remote wants which cannot make any itself (see `contract.BundleSource`)."""

    def __init__(self, vault: Vault, keys: JsonObject | None) -> None:
        self._vault = vault
        self._keys = keys

    def numbers(self) -> Collection[int]:
        return {row.number for row in self._vault.sequences()}

    def gone(self) -> Collection[int]:
        """Return the sequences that were thinned according to the audit. What this vault never had is for other
        machines to drop."""
        rows = (row for row in self._vault.audit_rows() if row.kind == "thin")
        return {int(number) for row in rows for number in row.details["sequences"]}

    def write(self, number: int, on: int | None, out: BinaryIO) -> None:
        if on is None:
            write_snapshot(self._vault.state(number), out, keys=self._keys)
        else:
            write_delta(self._vault.changes(on, number), out)

    def digests(self) -> Mapping[int, str]:
        return {row.number: row.digest.hex() for row in self._vault.sequences()}

    def state(self, number: int) -> State:
        return self._vault.state(number)

    def redactions(self) -> Redactions:
        return self._vault.redactions

    def places(self, leaves: Collection[bytes]) -> list[LeafPlace]:
        named = set(leaves)
        held = [
            LeafPlace(item.leaf.digest, item.first, item.last)
            for item in self._vault.history()
            if item.leaf.digest in named
        ]
        return [*held, *self._gone(named)]

    def _gone(self, named: set[bytes]) -> Iterator[LeafPlace]:
        """Return where a record that is gone stood, from one kept state to the next."""
        if not len(self._vault.redactions):
            return
        numbers = [row.number for row in self._vault.sequences()]
        since: dict[bytes, int] = {}
        for number in numbers:
            here = {gone.leaf.digest for gone in self._vault.state(number).gone()} & named
            yield from (LeafPlace(leaf, since.pop(leaf), number) for leaf in since.keys() - here)
            since |= {leaf: number for leaf in here - since.keys()}
        yield from (LeafPlace(leaf, first, None) for leaf, first in since.items())


def track_reading(bundle: RemoteBundle, tell: Tell) -> RemoteBundle:
    """Return the same bundle, with a file that tells how much of it was read."""
    file = cast(BinaryIO, _TrackedFile(bundle.file, bundle.size, tell))
    return RemoteBundle(bundle.kind, bundle.number, bundle.base, file, bundle.size)


@contextmanager
def _file(context: Context) -> Iterator[BinaryIO]:
    with convert_system_errors(), tempfile.TemporaryFile(dir=context.home.run_folder) as file:
        yield cast(BinaryIO, file)


def _bundle(bundle: RemoteBundle) -> RemoteBundle:
    bundle.size = bundle.file.tell()
    bundle.file.seek(0)
    return bundle


class _TrackedFile:
    """A file that tells how much of it was read."""

    def __init__(self, file: BinaryIO, size: int, tell: Tell) -> None:
        self._file = file
        self._size = size
        self._tell = tell

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._tell("sending", self._file.tell(), self._size)
        return data

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)
