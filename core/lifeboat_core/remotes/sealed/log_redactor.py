"""Purges of a log: the log holds the redactions, and every file that contains what they name is written again.

First the redaction is held (`LogHead.purges`): from then on no machine writes there what it names. Then the new files
are written, then one head that names them, then the old files are removed, and then the redaction is no longer pending.
After an interruption it stays pending, and the next contact does the rest. If this machine has the states, it makes the
files from them and needs no key; what only the log has is read back with the user's key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import BinaryIO

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.redaction.joined_redactions import find_contested_leaves
from lifeboat_alf.redaction.redacted_state import RedactedState
from lifeboat_alf.redaction.redactions import Redaction, Redactions
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_core.remotes.contract import BundleSource, LeafPlace
from lifeboat_core.remotes.sealed import log_compaction, log_file_names, log_search
from lifeboat_core.remotes.sealed.bundle_store import BundleStore
from lifeboat_core.remotes.sealed.log_compaction import PlannedBundle
from lifeboat_core.remotes.sealed.log_contents import LogContents
from lifeboat_core.remotes.sealed.log_files import HeadMoved
from lifeboat_core.remotes.sealed.log_head import LogHead, LogRow, build_sequence
from lifeboat_core.remotes.sealed.log_heads import TRIES, LoadedHead, LogHeads
from lifeboat_core.remotes.sealed.log_rewriter import LogRewriter, Signers, Write, has_applied_purges
from lifeboat_core.remotes.sealed.log_search import PlacedLeaves, ReadLogFile
from lifeboat_core.remotes.sealed.log_states import LogState
from lifeboat_core.texts.human_text import count_text
from lifeboat_keys.errors import KeysError
from lifeboat_vault.errors import RemoteBusy, RemoteRefused

Here = Callable[[str, JsonObject | None], AbstractContextManager[BundleSource | None]]
"""Opens the states of an agent that this machine has, for bundles that carry these wrapped keys."""
_KEY_AWAY = 3600.0
"""Seconds until it is worth asking again whether the user's key is there."""


class LogRedactor:
    """Purges the logs of one remote."""

    def __init__(
        self, heads: LogHeads, inside: LogContents, shelf: BundleStore, rewriting: LogRewriter, here: Here
    ) -> None:
        self._heads = heads
        self._inside = inside
        self._shelf = shelf
        self._rewriting = rewriting
        self._here = here

    def hold(self, agent_id: str, redaction: Redaction, listed: Collection[str] = ()) -> None:
        """Hold a redaction. `listed` are the ids of those that this machine was told of.

        A redaction that contradicts one that was held since is not held: its machine has to learn of that one first,
        and to say what both leave.

        Raises UnknownAtRemote, AgentErased, RemoteRefused (another one has its id), RemoteBusy.
        """

        def edit(head: LogHead) -> LogHead | None:
            every = self._inside.redactions(head)
            since = Redactions(each for each in every if each.id not in listed)
            if find_contested_leaves(since, redaction) and find_contested_leaves(every, redaction):
                raise RemoteBusy("another machine purged some of the same bytes at the same time", retry_after=1.0)
            known = {each.id: each.digest for each in every}
            if known.get(redaction.id, redaction.digest) != redaction.digest:
                raise RemoteRefused("a different purge already has this id")
            if redaction.id in known:
                return self._inside.signed_again(head, redaction)
            return self._inside.with_redaction(head, redaction)

        self._heads.change(agent_id, edit)

    def settle(self, agent_id: str) -> LoadedHead:
        """Carry out what is pending, and return the head under which nothing is.

        Raises RemoteBusy, also while the user's key is needed and away (then no file has changed); RemoteRefused if a
        redaction does not fit the bytes.
        """
        for _ in range(TRIES):
            loaded = self._heads.load(agent_id)
            if loaded.head.purges is None or not loaded.head.purges.pending:
                return loaded
            try:
                rewritten = self._rewritten(loaded)
                self._rewriting.swept(rewritten)
                done = msgspec.structs.replace(rewritten.head.purges, pending=())  # type: ignore[type-var]
                return self._heads.replace(rewritten, msgspec.structs.replace(rewritten.head, purges=done))
            except HeadMoved:
                continue
            except RedactionInvalid as error:
                raise RemoteRefused(f"{error.title}: {error.message}") from error
        raise RemoteBusy("other machines keep writing to the log of the agent", retry_after=5.0)

    # Rewriting --------------------------------------------------------------------------------------------------

    def _rewritten(self, loaded: LoadedHead) -> LoadedHead:
        """Return the log under a head whose files hold nothing that is named. Raises HeadMoved."""
        head, rows = loaded.head, self._inside.rows(loaded.head)
        made: dict[str, LogRow] = {}
        try:
            signers = self._make(loaded, rows, made)
        except BaseException:
            self._rewriting.take_back(head, [row.stored for row in made.values()])
            raise
        if not made:
            return loaded
        after = [made.get(row.stored.file, row) for row in rows]
        changed = self._inside.with_rows(head, after, signers)
        reach_crash_point(CrashPoint.SEALED_REWRITTEN)
        try:
            return self._heads.replace(
                loaded, msgspec.structs.replace(changed, grown=log_compaction.count_growth(after))
            )
        except HeadMoved:
            self._rewriting.take_back(self._heads.load(head.agent).head, [row.stored for row in made.values()])
            raise

    def _make(self, loaded: LoadedHead, rows: list[LogRow], made: dict[str, LogRow]) -> Signers:
        """Fill `made` with the new row of each file that has to change, by the name of the old file."""
        head, purge = loaded.head, _PendingPurge(loaded.head, self._inside.redactions(loaded.head))
        with self._here(head.agent, self._inside.keys(head)) as found:
            material = found if found is not None and has_applied_purges(found, purge.known) else None
            here = _LocalStates(rows, {} if material is None else material.digests())
            old = [row for row in rows if purge.leaves(row)]
            signers = self._make_of_log(loaded, rows, [row for row in old if not here.has(row)], purge, made)
            if material is not None:
                purge.stand_in(material.places(purge.pending))
                for row in old:
                    if here.has(row) and purge.placed(row).concerns(row):
                        wanted = PlannedBundle(row.number, row.on)
                        made[row.stored.file], signers = self._rewriting.made_row(
                            head, wanted, material.write, row, signers
                        )
        return signers

    def _make_of_log(
        self,
        loaded: LoadedHead,
        rows: list[LogRow],
        unknown: list[LogRow],
        purge: _PendingPurge,
        made: dict[str, LogRow],
    ) -> Signers:
        head, signers = loaded.head, loaded.head.signers
        for read in self._read(loaded, rows, unknown):
            if log_search.has_mention(read, purge.leaves(read.row)):
                wanted, write = PlannedBundle(read.row.number, read.row.on), self._writing(head, read, purge.known)
                made[read.row.stored.file], signers = self._rewriting.made_row(head, wanted, write, read.row, signers)
        return signers

    def _read(self, loaded: LoadedHead, rows: list[LogRow], wanted: list[LogRow]) -> Iterator[ReadLogFile]:
        """Yield the files that only the log has, with the user's key. Raises RemoteBusy."""
        if not wanted:
            return
        names = {row.stored.file for row in wanted}
        places = [at for at, row in enumerate(rows) if row.stored.file in names]
        first = max(at for at, row in enumerate(rows) if row.is_snapshot and at <= places[0])
        run = rows[first : places[-1] + 1]
        try:
            for read in log_search.walk_log_files(
                run, lambda row: self._inside.bundle(loaded, row), self._shelf.unnamed
            ):
                if read.row.stored.file in names:
                    yield read
        except KeysError as error:
            raise make_key_away_error(
                error,
                f"this machine does not have the sequences in {count_text(len(wanted), 'file')} on the remote, and "
                "only your key opens the sequences there",
            ) from error

    def _writing(self, head: LogHead, read: ReadLogFile, known: Redactions) -> Write:
        def write(number: int, on: int | None, out: BinaryIO) -> None:
            state = LogState(RedactedState(read.state, known), build_sequence(read.row, head), known)
            if read.below is None:
                write_snapshot(state, out, keys=self._inside.keys(head))
            else:
                write_delta(diff_states(RedactedState(read.below, known), state), out)

        return write


class _PendingPurge:
    """What is pending in a log, and which of it a file may contain: a file that was written when it was known contains
    none."""

    def __init__(self, head: LogHead, known: Redactions) -> None:
        pending = () if head.purges is None else head.purges.pending
        numbered = [(number, each) for number, each in enumerate(known, 1) if each.id in pending]
        self.known = known
        self.pending = {leaf for _, each in numbered for leaf in each.leaves}
        self._numbered = numbered
        self._by_generation: dict[int, set[bytes]] = {}
        self._places: list[LeafPlace] = []
        self._placed: dict[int, PlacedLeaves] = {}

    def leaves(self, row: LogRow) -> set[bytes]:
        generation = log_file_names.parse_generation(row.stored.file)
        if generation not in self._by_generation:
            found = {leaf for number, each in self._numbered if number > generation for leaf in each.leaves}
            self._by_generation[generation] = found
        return self._by_generation[generation]

    def stand_in(self, places: list[LeafPlace]) -> None:
        """Note where pending content occurs in the states of this machine."""
        self._places = places

    def placed(self, row: LogRow) -> PlacedLeaves:
        """Return the places of the leaves that a file may contain."""
        generation, leaves = log_file_names.parse_generation(row.stored.file), self.leaves(row)
        if generation not in self._placed:
            self._placed[generation] = PlacedLeaves(place for place in self._places if place.leaf in leaves)
        return self._placed[generation]


class _LocalStates:
    """Which files of a log this machine can make: those between states that it has."""

    def __init__(self, rows: list[LogRow], digests: Mapping[int, str]) -> None:
        self._numbers = {row.number for row in rows if digests.get(row.number) == row.digest}

    def has(self, row: LogRow) -> bool:
        return row.number in self._numbers and (row.on is None or row.on in self._numbers)


def make_key_away_error(error: KeysError, reason: str) -> RemoteBusy:
    """Return the error for a purge that waits for the user's key."""
    return RemoteBusy(
        f"a purge on the remote waits for your key: {reason} ({error.message})", retry_after=_KEY_AWAY, fix=error.fix
    )
