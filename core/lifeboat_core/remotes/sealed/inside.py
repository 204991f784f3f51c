"""What is inside a log once its head is known: rows, small files, keys."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Sequence
from typing import BinaryIO

import msgspec

from lifeboat_alf import codec, redactions
from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.redactions import NONE, Redaction, Redactions
from lifeboat_core.remotes.sealed import file_names, index
from lifeboat_core.remotes.sealed.bundles import Shelf
from lifeboat_core.remotes.sealed.files import Files
from lifeboat_core.remotes.sealed.head import FileReference, Head, Purges, Row, signature_of
from lifeboat_core.remotes.sealed.heads import Heads, Loaded
from lifeboat_core.remotes.sealed.log_key import LogKeys, PlainLogKey, Sealing, quietly
from lifeboat_core.remotes.sealed.owner import Owner
from lifeboat_keys.errors import NotForYourKey
from lifeboat_keys.redacting import signed_as
from lifeboat_vault.errors import PurgesDamaged, RemoteBusy, RemoteDamaged, UnknownThere

_PURGES = "purges"
_WHO_MENDS = "the next sync of a machine that knows every purge of the agent writes it again"


class Inside:
    """Of the logs of one remote. Raises RemoteDamaged where something is not what the head says."""

    def __init__(
        self, files: Files, heads: Heads, owner: Owner, log_keys: LogKeys, shelf: Shelf, *, sealed: bool
    ) -> None:
        self._files = files
        self._heads = heads
        self._owner = owner
        self._log_keys = log_keys
        self._shelf = shelf
        self._sealed = sealed

    # The log's key ----------------------------------------------------------------------------------------------

    def key(self, head: Head) -> Sealing:
        """Raises what the keys raise."""
        return self._log_keys.get(head) if self._sealed else PlainLogKey()

    def known_key(self, head: Head) -> Sealing | None:
        """Nobody is asked for the user's key."""
        return self._log_keys.known(head) if self._sealed else PlainLogKey()

    def key_if_there(self, head: Head) -> Sealing | None:
        return quietly(lambda: self._log_keys.get(head)) if self._sealed else PlainLogKey()

    # Rows and files ---------------------------------------------------------------------------------------------

    def rows(self, head: Head) -> list[Row]:
        """All of them, oldest first."""
        return index.rows_of(head, lambda stored: self._small(head, stored))

    def with_rows(self, head: Head, rows: list[Row], signers: dict[str, JsonObject]) -> Head:
        """The head with these rows instead, and of the signers those that they name."""
        made = index.with_rows(head, rows, lambda stored: self._small(head, stored), self._keeping(head))
        used = {row.signer for row in rows}
        return msgspec.structs.replace(made, signers={name: rest for name, rest in signers.items() if name in used})

    def with_row(self, head: Head, row: Row) -> Head:
        """The head with one more row."""
        return index.with_row(head, row, self._keeping(head))

    def large(self, head: Head) -> set[str]:
        """The large artifacts that its states name."""
        return {name for row in self.rows(head) for name in row.large}

    def named(self, head: Head) -> set[str]:
        """Every file that belongs to the log."""
        rows = self.rows(head)
        every = {row.stored.file for row in rows} | {segment.stored.file for segment in head.segments}
        purges = {head.purges.stored.file} if head.purges else set()
        return (
            every | purges | {name for row in rows for name in row.large} | ({head.keys.file} if head.keys else set())
        )

    def bundle(self, loaded: Loaded, row: Row) -> BinaryIO:
        """The content of a row's file, which the caller closes. Raises RemoteBusy when it was let go meanwhile, and
        what the keys raise."""
        try:
            return self.opened(loaded.head, lambda: self._shelf.fetch(loaded.head.agent, row.stored))
        except UnknownThere:
            if not self._heads.is_current(loaded):
                raise RemoteBusy("the log was rewritten meanwhile", retry_after=1.0) from None
            raise RemoteDamaged(f"{row.stored.file} is gone") from None

    def opened(self, head: Head, fetch: Callable[[], BinaryIO]) -> BinaryIO:
        """What a fetch gives; it may be encrypted for a former key of the user, which the head brings along."""
        try:
            return fetch()
        except NotForYourKey:
            if head.log_key is None:
                raise
            self._owner.learn(self._log_keys.get(head).former(head.log_key))
            return fetch()

    # Wrapped keys -----------------------------------------------------------------------------------------------

    def keys(self, head: Head) -> JsonObject | None:
        """The agent's wrapped keys."""
        if head.keys is None:
            return None
        data = self.key(head).open(file_names.KEYS, self._small(head, head.keys))
        try:
            found = codec.decode(data)
        except msgspec.DecodeError:
            found = None
        if not isinstance(found, dict):
            raise RemoteDamaged("the agent's wrapped keys cannot be read")
        return found

    def with_keys(self, head: Head, document: JsonObject) -> Head:
        """The same head where it has them already. What was lost or changed there gives way."""
        try:
            if self.keys(head) == document:
                return head
        except RemoteDamaged:
            pass
        data = self.key(head).seal(file_names.KEYS, codec.encode(document))
        name = file_names.new(file_names.KEYS, 0, self._suffix)
        return msgspec.structs.replace(head, keys=self._keep(head, name, data))

    # Purges -----------------------------------------------------------------------------------------------------

    def redactions(self, head: Head) -> Redactions:
        """Those that the log holds, in the order in which they came. Raises PurgesDamaged, and what the keys raise,
        where this machine has not seen the log's key yet."""
        if head.purges is None:
            return NONE
        key = self.key(head)
        try:
            data = key.open(_PURGES, self._small(head, head.purges.stored))
        except RemoteDamaged as error:
            raise PurgesDamaged(f"{error.message}; {_WHO_MENDS}") from error
        try:
            found = Redactions(
                [redactions.from_json(each) for each in msgspec.json.decode(data, type=list[JsonObject])]
            )
        except (msgspec.DecodeError, RedactionInvalid):
            found = NONE
        if len(found) != head.purges.count:
            raise PurgesDamaged(f"the purges that the log holds cannot be read; {_WHO_MENDS}")
        return found

    def with_mended_purges(self, head: Head, candidates: Iterable[Sequence[Redaction]]) -> Head | None:
        """The head with its list of purges written again, from the first of these lists that can be it; None where the
        list is whole, or none can be."""
        try:
            self.redactions(head)
            return None
        except PurgesDamaged:
            assert head.purges is not None
        for known in candidates:
            if len(known) == head.purges.count and {each.id for each in known}.issuperset(head.purges.pending):
                return self._with_purges(head, list(known), head.purges.pending)
        return None

    def with_redaction(self, head: Head, redaction: Redaction) -> Head:
        """The head with one more, which is pending."""
        pending = (*head.purges.pending, redaction.id) if head.purges else (redaction.id,)
        return self._with_purges(head, [*self.redactions(head), redaction], pending)

    def signed_again(self, head: Head, redaction: Redaction) -> Head | None:
        """The head with another signature of one that it holds, if that is of the user who signed the newest state
        there is now; None where nothing changes."""
        known = self.redactions(head)
        made = signed_as(known, [redaction])
        if head.purges is None or made is known or not _is_of_writer(head, redaction):
            return None
        return self._with_purges(head, list(made), head.purges.pending)

    def _with_purges(self, head: Head, known: list[Redaction], pending: tuple[str, ...]) -> Head:
        data = self.key(head).seal(_PURGES, codec.encode([each.to_json() for each in known]))
        stored = self._keep(head, file_names.new(_PURGES, len(known), self._suffix), data)
        return msgspec.structs.replace(head, purges=Purges(stored, len(known), pending))

    # Small files ------------------------------------------------------------------------------------------------

    @property
    def _suffix(self) -> str:
        return "box" if self._sealed else "json"

    def _small(self, head: Head, stored: FileReference) -> bytes:
        try:
            with self._files.read(head.agent, stored.file) as source:
                data = source.read()
        except UnknownThere:
            raise RemoteDamaged(f"{stored.file} is gone") from None
        if (len(data), hashlib.sha256(data).hexdigest()) != (stored.size, stored.sha256):
            raise RemoteDamaged(f"{stored.file} is not the file that was written")
        return data

    def _keeping(self, head: Head) -> index.Keep:
        return lambda name, source: self._keep(head, name, source.read())

    def _keep(self, head: Head, name: str, data: bytes) -> FileReference:
        self._files.put(head.agent, name, io.BytesIO(data))
        return FileReference(name, len(data), hashlib.sha256(data).hexdigest())


def _is_of_writer(head: Head, redaction: Redaction) -> bool:
    """Whether it was signed under the same key of the user as the newest state there, or on the same device."""
    signature = None if head.newest is None else signature_of(head.newest, head.signers)
    made = redaction.signature or {}
    return signature is None or any(signature.get(name) == made.get(name) for name in ("user", "device"))
