"""The signed receipt of this machine for a purge of a log, once nothing of it is left to do there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_core.remotes.sealed import log_search
from lifeboat_core.remotes.sealed.bundle_store import BundleStore
from lifeboat_core.remotes.sealed.log_contents import LogContents
from lifeboat_core.remotes.sealed.log_files import SealedFiles
from lifeboat_core.remotes.sealed.log_head import LogRow
from lifeboat_core.remotes.sealed.log_heads import LoadedHead
from lifeboat_core.remotes.sealed.log_owner import LogOwner
from lifeboat_core.remotes.sealed.log_redactor import Here
from lifeboat_core.remotes.sealed.log_search import ReadLogFile
from lifeboat_keys.errors import KeysError
from lifeboat_keys.signed import vault_receipts
from lifeboat_keys.signed.vault_receipts import ReceiptHead, VaultReceipt


@dataclass(slots=True)
class _ReadBackCounts:
    """What was read back: files of the log, those of them that were read, and items that still are what was purged."""

    files: int = 0
    read: int = 0
    hits: int = 0


class LogReceipts:
    """Makes receipts for the logs of one remote. `kind` is one word for it, and `name` the user's name for it."""

    def __init__(
        self,
        files: SealedFiles,
        inside: LogContents,
        shelf: BundleStore,
        owner: LogOwner,
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

    def of(self, loaded: LoadedHead, redaction: Redaction) -> JsonObject:
        """Read back every file of the log, as far as the user's key is there, and sign what was found. Raises
        RemoteDamaged, RemoteBusy."""
        search, met = _ReadBackCounts(), set[bytes]()
        self._look(loaded, redaction, search, met)
        met |= self._standing(loaded, redaction)
        newest = loaded.head.newest
        return self._signed(
            redaction,
            applied=loaded.head.generation,
            leaves=len(met),
            objects=len(met),
            head=None if newest is None else ReceiptHead(newest.number, newest.digest),
            search=search,
        )

    def of_erased(self, redaction: Redaction, removed: int) -> JsonObject:
        """Sign that so many files of an agent were removed and nothing is left."""
        return self._signed(redaction, applied=1, leaves=0, objects=removed, head=None, search=_ReadBackCounts())

    def _look(self, loaded: LoadedHead, redaction: Redaction, search: _ReadBackCounts, met: set[bytes]) -> None:
        rows = self._inside.rows(loaded.head)
        search.files = len(self._files.names(loaded.head.agent))
        if not rows:
            return
        try:
            for read in self._read(loaded, rows):
                search.read += 1
                search.hits += log_search.count_old_items(read, redaction.leaves)
                met.update(log_search.find_mentioned(read, redaction.leaves))
        except KeysError:  # the receipt says how many files were read
            return

    def _read(self, loaded: LoadedHead, rows: list[LogRow]) -> Iterator[ReadLogFile]:
        """Yield every file.

        If this machine has all states, they are used: applying a thousand deltas to each other takes a minute.
        """

        def fetch(row: LogRow) -> BinaryIO:
            return self._inside.bundle(loaded, row)

        with self._here(loaded.head.agent, None) as material:
            digests = {} if material is None else material.digests()
            if material is not None and all(digests.get(row.number) == row.digest for row in rows):
                yield from log_search.walk_with_states(rows, fetch, material.state)
                return
        yield from log_search.walk_log_files(rows, fetch, self._shelf.unnamed)

    def _standing(self, loaded: LoadedHead, redaction: Redaction) -> set[bytes]:
        """Return the named leaves that stand in states which exist both there and here."""
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
        head: ReceiptHead | None,
        search: _ReadBackCounts,
    ) -> JsonObject:
        made = VaultReceipt(
            vault_id=self._files.identity(),
            kind=self._kind,
            name=self._name[: vault_receipts.LONGEST_TEXT],
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
        return vault_receipts.sign_with_device(made, self._owner.device).to_json()
