"""Bundles that are read from a log: as they were sent, or made again if signatures or keys are newer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import BinaryIO

from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.states.agent_state import State
from lifeboat_core.remotes.sealed import log_states
from lifeboat_core.remotes.sealed.bundle_chain import BundleChain
from lifeboat_core.remotes.sealed.bundle_store import BundleStore, measure_file
from lifeboat_core.remotes.sealed.log_contents import LogContents
from lifeboat_core.remotes.sealed.log_head import LogRow, build_sequence, build_signature
from lifeboat_core.remotes.sealed.log_heads import LoadedHead
from lifeboat_keys.signed.redaction_signatures import adopt_signatures
from lifeboat_vault.errors import UnknownAtRemote
from lifeboat_vault.remote.remote_contract import RemoteBundle, RemoteSequence


class LogReader:
    """One log as it was when its head was loaded."""

    def __init__(self, inside: LogContents, shelf: BundleStore, loaded: LoadedHead) -> None:
        self._inside = inside
        self._shelf = shelf
        self._loaded = loaded
        self._head = loaded.head
        self._chain = BundleChain(inside.rows(loaded.head))
        self._listed: Redactions | None = None

    def sequences(self) -> Iterator[RemoteSequence]:
        for number in self._chain.numbers:
            row = self._chain.row(number)
            signature = build_signature(row, self._head.signers)
            digest, size = bytes.fromhex(row.digest), row.stored.size
            kind = "snapshot" if row.is_snapshot else "delta"
            yield RemoteSequence(number, row.base, digest, row.epoch, row.time, kind, row.writer, size, signature)

    def snapshot(self, number: int | None) -> RemoteBundle:
        newest = self._head.newest
        if newest is None:
            raise UnknownAtRemote("nothing of the agent has been pushed to the remote yet")
        path = self._chain.path_to(newest.number if number is None else number)
        file = self._as_sent(path) or self._made_snapshot(path)
        return RemoteBundle("snapshot", path[-1].number, None, file, measure_file(file))

    def _as_sent(self, path: list[LogRow]) -> BinaryIO | None:
        """Return the file of a snapshot, unless the state or a purge was signed again since, or its keys were wrapped
        again."""
        if len(path) > 1:
            return None
        file = self._inside.bundle(self._loaded, path[0])
        with log_states.raise_as_damaged(), SnapshotReader(file) as reader:
            same = self._is_signed_so(reader, path[0]) and reader.keys == self._inside.keys(self._head)
        if same:
            return file
        file.close()
        return None

    def _is_signed_so(self, reader: SnapshotReader | DeltaReader, row: LogRow) -> bool:
        """Return whether the signatures in a file are those that the log has."""
        known = reader.redactions
        is_listed_so = not len(known) or adopt_signatures(known, self._redactions()) is known
        return is_listed_so and reader.sequence == build_sequence(row, self._head)

    def _redactions(self) -> Redactions:
        if self._listed is None:
            self._listed = self._inside.redactions(self._head)
        return self._listed

    def _made_snapshot(self, path: list[LogRow]) -> BinaryIO:
        made = self._shelf.unnamed()
        with self._state(path) as state:
            write_snapshot(state, made, keys=self._inside.keys(self._head))
        return made

    @contextlib.contextmanager
    def _state(self, path: list[LogRow]) -> Iterator[State]:
        with log_states.lay_states(
            path, lambda row: self._inside.bundle(self._loaded, row), self._shelf.unnamed
        ) as state:
            yield log_states.LogState(state, build_sequence(path[-1], self._head), self._redactions())

    def deltas(self, since: int) -> Iterator[RemoteBundle]:
        self._chain.row(since)
        for row in self._chain.path_between(since):
            file = self._inside.bundle(self._loaded, row)
            with log_states.raise_as_damaged(), DeltaReader(file) as reader:
                same = self._is_signed_so(reader, row)
            if not same:
                file.close()
                file = self._made_delta(row)
            yield RemoteBundle("delta", row.number, row.on, file, measure_file(file))

    def _made_delta(self, row: LogRow) -> BinaryIO:
        """Make the delta to a state that was signed again since it was sent, or whose purge was."""
        made = self._shelf.unnamed()
        before = self._chain.path_to(row.on or 0)
        with self._state(before) as old, self._state([*before, row]) as new:
            write_delta(diff_states(old, new), made)
        return made
