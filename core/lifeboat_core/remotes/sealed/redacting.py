"""Purges of a log: the log holds the redactions, and every file that has to do with what they name is written anew.

First the redaction is held (`Head.purges`), and from then on everybody who writes there writes nothing that it names.
Then come the new files, then one head that names them instead, then the old files go, and then the redaction is no
longer pending. Whoever dies in between leaves it pending: the next contact does the rest. Where this machine has the
states, it makes the files of them, and needs no key for it; what only the log has is read back with the user's key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import BinaryIO

import msgspec

from lifeboat_alf.delta import write_delta
from lifeboat_alf.diff import diff
from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.joining import contested
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.redacted_state import RedactedState
from lifeboat_alf.redactions import Redaction, Redactions
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_core.remotes.contract import Material, Place
from lifeboat_core.remotes.sealed import compacting, file_names, looking
from lifeboat_core.remotes.sealed.bundles import Shelf
from lifeboat_core.remotes.sealed.compacting import Make
from lifeboat_core.remotes.sealed.files import HeadMoved
from lifeboat_core.remotes.sealed.head import Head, Row, sequence_of
from lifeboat_core.remotes.sealed.heads import TRIES, Heads, Loaded
from lifeboat_core.remotes.sealed.inside import Inside
from lifeboat_core.remotes.sealed.looking import Placed, Read
from lifeboat_core.remotes.sealed.rewriting import Rewriting, Signers, Write, knows
from lifeboat_core.remotes.sealed.states import Resigned
from lifeboat_keys.errors import KeysError
from lifeboat_vault.errors import RemoteBusy, RemoteRefused

Here = Callable[[str, JsonObject | None], AbstractContextManager[Material | None]]
"""The states of an agent that this machine has, for bundles that carry these wrapped keys."""
_KEY_AWAY = 3600.0
"""Seconds until it is worth asking again whether the user's key is there."""


class Redacting:
    """Of the logs of one remote."""

    def __init__(self, heads: Heads, inside: Inside, shelf: Shelf, rewriting: Rewriting, here: Here) -> None:
        self._heads = heads
        self._inside = inside
        self._shelf = shelf
        self._rewriting = rewriting
        self._here = here

    def hold(self, agent_id: str, redaction: Redaction, listed: Collection[str] = ()) -> None:
        """`listed`: ids of those that were told here. One that contradicts another that was held since is not held: its
        machine has to hear of that first, and to say what both leave.

        Raises UnknownThere, AgentErased, RemoteRefused (another one has its id), RemoteBusy."""

        def edit(head: Head) -> Head | None:
            every = self._inside.redactions(head)
            since = Redactions(each for each in every if each.id not in listed)
            if contested(since, redaction) and contested(every, redaction):
                raise RemoteBusy("another machine purged some of the same bytes meanwhile", retry_after=1.0)
            known = {each.id: each.digest for each in every}
            if known.get(redaction.id, redaction.digest) != redaction.digest:
                raise RemoteRefused("there is another purge of this id")
            if redaction.id in known:
                return self._inside.signed_again(head, redaction)
            return self._inside.with_redaction(head, redaction)

        self._heads.change(agent_id, edit)

    def settle(self, agent_id: str) -> Loaded:
        """Do what is pending; the head under which nothing is. Raises RemoteBusy, also while the user's key is needed
        and away: then every file is as it was; RemoteRefused where a redaction does not fit the bytes."""
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
        raise RemoteBusy("other machines are writing to the agent all the time", retry_after=5.0)

    # Writing anew -----------------------------------------------------------------------------------------------

    def _rewritten(self, loaded: Loaded) -> Loaded:
        """The log under a head whose files hold nothing that is named. Raises HeadMoved."""
        head, rows = loaded.head, self._inside.rows(loaded.head)
        made: dict[str, Row] = {}
        try:
            signers = self._make(loaded, rows, made)
        except BaseException:
            self._rewriting.take_back(head, [row.stored for row in made.values()])
            raise
        if not made:
            return loaded
        after = [made.get(row.stored.file, row) for row in rows]
        changed = self._inside.with_rows(head, after, signers)
        reached(Step.SEALED_REWRITTEN)
        try:
            return self._heads.replace(loaded, msgspec.structs.replace(changed, grown=compacting.grown_of(after)))
        except HeadMoved:
            self._rewriting.take_back(self._heads.load(head.agent).head, [row.stored for row in made.values()])
            raise

    def _make(self, loaded: Loaded, rows: list[Row], made: dict[str, Row]) -> Signers:
        """Fill `made` with the new row of each file that has to be another one, by the name of the old one."""
        head, purge = loaded.head, _Purge(loaded.head, self._inside.redactions(loaded.head))
        with self._here(head.agent, self._inside.keys(head)) as found:
            material = found if found is not None and knows(found, purge.known) else None
            here = _Here(rows, {} if material is None else material.digests())
            old = [row for row in rows if purge.leaves(row)]
            signers = self._make_of_log(loaded, rows, [row for row in old if not here.has(row)], purge, made)
            if material is not None:
                purge.stand_in(material.places(purge.pending))
                for row in old:
                    if here.has(row) and purge.placed(row).concerns(row):
                        wanted = Make(row.number, row.on)
                        made[row.stored.file], signers = self._rewriting.made_row(
                            head, wanted, material.write, row, signers
                        )
        return signers

    def _make_of_log(
        self, loaded: Loaded, rows: list[Row], unknown: list[Row], purge: _Purge, made: dict[str, Row]
    ) -> Signers:
        head, signers = loaded.head, loaded.head.signers
        for read in self._read(loaded, rows, unknown):
            if looking.mentions(read, purge.leaves(read.row)):
                wanted, write = Make(read.row.number, read.row.on), self._writing(head, read, purge.known)
                made[read.row.stored.file], signers = self._rewriting.made_row(head, wanted, write, read.row, signers)
        return signers

    def _read(self, loaded: Loaded, rows: list[Row], wanted: list[Row]) -> Iterator[Read]:
        """The files that only the log has, with the user's key. Raises RemoteBusy."""
        if not wanted:
            return
        names = {row.stored.file for row in wanted}
        places = [at for at, row in enumerate(rows) if row.stored.file in names]
        first = max(at for at, row in enumerate(rows) if row.is_snapshot and at <= places[0])
        run = rows[first : places[-1] + 1]
        try:
            for read in looking.walk(run, lambda row: self._inside.bundle(loaded, row), self._shelf.unnamed):
                if read.row.stored.file in names:
                    yield read
        except KeysError as error:
            raise key_away(error, f"{len(wanted)} files there are of states that this machine does not have") from error

    def _writing(self, head: Head, read: Read, known: Redactions) -> Write:
        def write(number: int, on: int | None, out: BinaryIO) -> None:
            state = Resigned(RedactedState(read.state, known), sequence_of(read.row, head), known)
            if read.below is None:
                write_snapshot(state, out, keys=self._inside.keys(head))
            else:
                write_delta(diff(RedactedState(read.below, known), state), out)

        return write


class _Purge:
    """What is pending in a log, and which of it a file may hold: one that was written when it was known holds none."""

    def __init__(self, head: Head, known: Redactions) -> None:
        pending = () if head.purges is None else head.purges.pending
        numbered = [(number, each) for number, each in enumerate(known, 1) if each.id in pending]
        self.known = known
        self.pending = {leaf for _, each in numbered for leaf in each.leaves}
        self._numbered = numbered
        self._by_generation: dict[int, set[bytes]] = {}
        self._places: list[Place] = []
        self._placed: dict[int, Placed] = {}

    def leaves(self, row: Row) -> set[bytes]:
        generation = file_names.generation(row.stored.file)
        if generation not in self._by_generation:
            found = {leaf for number, each in self._numbered if number > generation for leaf in each.leaves}
            self._by_generation[generation] = found
        return self._by_generation[generation]

    def stand_in(self, places: list[Place]) -> None:
        """Where what is pending stands in the states of this machine."""
        self._places = places

    def placed(self, row: Row) -> Placed:
        """The places of those leaves that a file may hold."""
        generation, leaves = file_names.generation(row.stored.file), self.leaves(row)
        if generation not in self._placed:
            self._placed[generation] = Placed(place for place in self._places if place.leaf in leaves)
        return self._placed[generation]


class _Here:
    """Which files of a log this machine can make: those between states that it has."""

    def __init__(self, rows: list[Row], digests: Mapping[int, str]) -> None:
        self._numbers = {row.number for row in rows if digests.get(row.number) == row.digest}

    def has(self, row: Row) -> bool:
        return row.number in self._numbers and (row.on is None or row.on in self._numbers)


def key_away(error: KeysError, why: str) -> RemoteBusy:
    """What waits for the user's key, and waits there."""
    return RemoteBusy(
        f"a purge is held there and waits for your key: {why} ({error.message})", retry_after=_KEY_AWAY, fix=error.fix
    )
