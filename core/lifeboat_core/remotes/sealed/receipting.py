"""What this machine says, signed, about a purge of a log when nothing of it is left to do there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from lifeboat_alf import times
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.redactions import Redaction
from lifeboat_alf.seams.clock import Clock
from lifeboat_core.remotes.sealed import looking
from lifeboat_core.remotes.sealed.bundles import Shelf
from lifeboat_core.remotes.sealed.files import Files
from lifeboat_core.remotes.sealed.head import Row
from lifeboat_core.remotes.sealed.heads import Loaded
from lifeboat_core.remotes.sealed.inside import Inside
from lifeboat_core.remotes.sealed.looking import Read
from lifeboat_core.remotes.sealed.owner import Owner
from lifeboat_core.remotes.sealed.redacting import Here
from lifeboat_keys import receipts
from lifeboat_keys.errors import KeysError
from lifeboat_keys.receipts import Head, VaultReceipt


@dataclass(slots=True)
class _Search:
    """What was read back: files of the log, those of them that were read, named leaves that were met, and items that
    still are what was purged."""

    files: int = 0
    read: int = 0
    hits: int = 0


class Receipts:
    """Of the logs of one remote. `kind` and `name` say which: one word, and what its user calls it."""

    def __init__(
        self,
        files: Files,
        inside: Inside,
        shelf: Shelf,
        owner: Owner,
        here: Here,
        clock: Clock,
        *,
        kind: str,
        name: str,
    ) -> None:
        self._files = files
        self._inside = inside
        self._shelf = shelf
        self._owner = owner
        self._here = here
        self._clock = clock
        self._kind = kind
        self._name = name

    def of(self, loaded: Loaded, redaction: Redaction) -> JsonObject:
        """Every file of the log is read back, as far as the user's key is there. Raises RemoteDamaged, RemoteBusy."""
        search, met = _Search(), set[bytes]()
        self._look(loaded, redaction, search, met)
        met |= self._standing(loaded, redaction)
        newest = loaded.head.newest
        return self._signed(
            redaction,
            applied=loaded.head.generation,
            leaves=len(met),
            objects=len(met),
            head=None if newest is None else Head(newest.number, newest.digest),
            search=search,
        )

    def of_erased(self, redaction: Redaction, removed: int) -> JsonObject:
        """For an agent of which so many files were removed, and nothing is left."""
        return self._signed(redaction, applied=1, leaves=0, objects=removed, head=None, search=_Search())

    def _look(self, loaded: Loaded, redaction: Redaction, search: _Search, met: set[bytes]) -> None:
        rows = self._inside.rows(loaded.head)
        search.files = len(self._files.names(loaded.head.agent))
        if not rows:
            return
        try:
            for read in self._read(loaded, rows):
                search.read += 1
                search.hits += looking.old_bytes(read, redaction.leaves)
                met.update(looking.mentioned(read, redaction.leaves))
        except KeysError:  # it says how many were read
            return

    def _read(self, loaded: Loaded, rows: list[Row]) -> Iterator[Read]:
        """Every file, beside the states of this machine where it has them all: a log of a thousand deltas, laid over
        each other, takes a minute."""

        def fetch(row: Row) -> BinaryIO:
            return self._inside.bundle(loaded, row)

        with self._here(loaded.head.agent, None) as material:
            digests = {} if material is None else material.digests()
            if material is not None and all(digests.get(row.number) == row.digest for row in rows):
                yield from looking.walk_known(rows, fetch, material.state)
                return
        yield from looking.walk(rows, fetch, self._shelf.unnamed)

    def _standing(self, loaded: Loaded, redaction: Redaction) -> set[bytes]:
        """The named leaves that stand in states which are there and here."""
        with self._here(loaded.head.agent, None) as material:
            if material is None:
                return set()
            digests, rows = material.digests(), self._inside.rows(loaded.head)
            shared = [row.number for row in rows if digests.get(row.number) == row.digest]
            places = material.places(redaction.leaves.keys())
            return {place.leaf for place in places if any(place.holds(number) for number in shared)}

    def _signed(
        self,
        redaction: Redaction,
        *,
        applied: int,
        leaves: int,
        objects: int,
        head: Head | None,
        search: _Search,
    ) -> JsonObject:
        made = VaultReceipt(
            vault_id=self._files.identity(),
            kind=self._kind,
            name=self._name[: receipts.LONGEST_TEXT],
            agent_id=redaction.agent_id,
            redaction_id=redaction.id,
            redaction_digest=redaction.digest.hex(),
            applied=applied,
            leaves=leaves,
            objects=objects,
            remaining=search.hits,
            completed_at=times.to_text(self._clock.now()),
            head=head,
            found={"files": search.files, "read": search.read, "hits": search.hits},
        )
        return receipts.sign_with_device(made, self._owner.device).to_json()
