"""Bundles that come out of a log: as they were sent, or made anew where signatures or keys are newer than they are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import BinaryIO

from lifeboat_alf.delta import write_delta
from lifeboat_alf.delta_reader import DeltaReader
from lifeboat_alf.diff import diff
from lifeboat_alf.redactions import Redactions
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.state import State
from lifeboat_core.remotes.sealed import states
from lifeboat_core.remotes.sealed.bundles import Shelf, size_of
from lifeboat_core.remotes.sealed.chain import Chain
from lifeboat_core.remotes.sealed.head import Row, sequence_of, signature_of
from lifeboat_core.remotes.sealed.heads import Loaded
from lifeboat_core.remotes.sealed.inside import Inside
from lifeboat_keys.redacting import signed_as
from lifeboat_vault.errors import UnknownThere
from lifeboat_vault.remote.contract import Bundle, RemoteSequence


class Reading:
    """One log, as it stood when its head was loaded."""

    def __init__(self, inside: Inside, shelf: Shelf, loaded: Loaded) -> None:
        self._inside = inside
        self._shelf = shelf
        self._loaded = loaded
        self._head = loaded.head
        self._chain = Chain(inside.rows(loaded.head))
        self._listed: Redactions | None = None

    def sequences(self) -> Iterator[RemoteSequence]:
        for number in self._chain.numbers:
            row = self._chain.row(number)
            signature = signature_of(row, self._head.signers)
            digest, size = bytes.fromhex(row.digest), row.stored.size
            kind = "snapshot" if row.is_snapshot else "delta"
            yield RemoteSequence(number, row.base, digest, row.epoch, row.time, kind, row.writer, size, signature)

    def snapshot(self, number: int | None) -> Bundle:
        newest = self._head.newest
        if newest is None:
            raise UnknownThere("nothing of the agent was sent there yet")
        path = self._chain.path_to(newest.number if number is None else number)
        file = self._as_sent(path) or self._made_snapshot(path)
        return Bundle("snapshot", path[-1].number, None, file, size_of(file))

    def _as_sent(self, path: list[Row]) -> BinaryIO | None:
        """The file of a snapshot, unless the state or a purge was signed anew since, or its keys wrapped anew."""
        if len(path) > 1:
            return None
        file = self._inside.bundle(self._loaded, path[0])
        with states.damaged(), SnapshotReader(file) as reader:
            same = self._is_signed_so(reader, path[0]) and reader.keys == self._inside.keys(self._head)
        if same:
            return file
        file.close()
        return None

    def _is_signed_so(self, reader: SnapshotReader | DeltaReader, row: Row) -> bool:
        """Whether the signatures in a file are those that the log has."""
        known = reader.redactions
        is_listed_so = not len(known) or signed_as(known, self._redactions()) is known
        return is_listed_so and reader.sequence == sequence_of(row, self._head)

    def _redactions(self) -> Redactions:
        if self._listed is None:
            self._listed = self._inside.redactions(self._head)
        return self._listed

    def _made_snapshot(self, path: list[Row]) -> BinaryIO:
        made = self._shelf.unnamed()
        with self._state(path) as state:
            write_snapshot(state, made, keys=self._inside.keys(self._head))
        return made

    @contextlib.contextmanager
    def _state(self, path: list[Row]) -> Iterator[State]:
        with states.laid(path, lambda row: self._inside.bundle(self._loaded, row), self._shelf.unnamed) as state:
            yield states.Resigned(state, sequence_of(path[-1], self._head), self._redactions())

    def deltas(self, since: int) -> Iterator[Bundle]:
        self._chain.row(since)
        for row in self._chain.path_between(since):
            file = self._inside.bundle(self._loaded, row)
            with states.damaged(), DeltaReader(file) as reader:
                same = self._is_signed_so(reader, row)
            if not same:
                file.close()
                file = self._made_delta(row)
            yield Bundle("delta", row.number, row.on, file, size_of(file))

    def _made_delta(self, row: Row) -> BinaryIO:
        """Of a state that was signed anew since it was sent, or that a purge explains which was."""
        made = self._shelf.unnamed()
        before = self._chain.path_to(row.on or 0)
        with self._state(before) as old, self._state([*before, row]) as new:
            write_delta(diff(old, new), made)
        return made
