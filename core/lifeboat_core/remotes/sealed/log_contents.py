"""What is in a log once its head is known: rows, small files, keys."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from typing import BinaryIO

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import NONE, Redaction, Redactions
from lifeboat_core.remotes.sealed import log_file_names
from lifeboat_core.remotes.sealed.bundle_store import BundleStore
from lifeboat_core.remotes.sealed.log_files import SealedFiles
from lifeboat_core.remotes.sealed.log_head import (
    FileReference,
    LogHead,
    LogRedactions,
    LogRow,
    RowSegment,
    build_signature,
)
from lifeboat_core.remotes.sealed.log_heads import LoadedHead, LogHeads
from lifeboat_core.remotes.sealed.log_key import LogCipher, LogKeys, PlainLogKey, find_log_key
from lifeboat_core.remotes.sealed.log_owner import LogOwner
from lifeboat_keys.errors import NotForYourKey
from lifeboat_keys.signed.redaction_signatures import adopt_signatures
from lifeboat_vault.errors import PurgesDamaged, RemoteBusy, RemoteDamaged, UnknownAtRemote

SEGMENT = 128
"""Rows."""
Keep = Callable[[str, BinaryIO], FileReference]
Fetch = Callable[[FileReference], bytes]


def load_rows(head: LogHead, fetch: Fetch) -> list[LogRow]:
    """Return all rows, oldest first. Raises RemoteDamaged."""
    moved = [row for segment in head.segments for row in _read(segment, fetch)]
    return [*moved, *head.rows]


def replace_rows(head: LogHead, rows: Sequence[LogRow], fetch: Fetch, keep: Keep) -> LogHead:
    """Return the head with these rows instead. Unchanged segments at the beginning stay; others are written."""
    segments, count = [], 0
    for segment in head.segments:
        if len(rows) <= count + segment.rows or list(rows[count : count + segment.rows]) != _read(segment, fetch):
            break
        segments.append(segment)
        count += segment.rows
    rest = list(rows[count:])
    while len(rest) >= 2 * SEGMENT:
        segments.append(_write(rest[:SEGMENT], head.generation, keep))
        rest = rest[SEGMENT:]
    size = sum(row.stored.size for row in rows)
    return msgspec.structs.replace(head, segments=tuple(segments), rows=tuple(rest), bytes=size)


def append_row(head: LogHead, row: LogRow, keep: Keep) -> LogHead:
    """Return the head with one more row."""
    rest, segments = [*head.rows, row], list(head.segments)
    if len(rest) >= 2 * SEGMENT:
        segments.append(_write(rest[:SEGMENT], head.generation, keep))
        rest = rest[SEGMENT:]
    size = head.bytes + row.stored.size
    return msgspec.structs.replace(head, segments=tuple(segments), rows=tuple(rest), bytes=size)


def _write(rows: Sequence[LogRow], generation: int, keep: Keep) -> RowSegment:
    name = log_file_names.make_file_name(f"rows-{rows[0].number:012d}", generation, "json")
    return RowSegment(keep(name, BytesIO(json_codec.encode_json(rows))), rows[0].number, rows[-1].number, len(rows))


def _read(segment: RowSegment, fetch: Fetch) -> list[LogRow]:
    try:
        return msgspec.json.decode(fetch(segment.stored), type=list[LogRow])
    except msgspec.DecodeError as error:
        raise RemoteDamaged(f"the file {segment.stored.file} of the remote cannot be read: {error}") from None


_PURGES = "purges"
_WHO_MENDS = "the next sync on a machine that knows every purge of the agent repairs the log"


class LogContents:
    """The contents of the logs of one remote. Raises RemoteDamaged where something differs from what the head says."""

    def __init__(
        self,
        files: SealedFiles,
        heads: LogHeads,
        owner: LogOwner,
        log_keys: LogKeys,
        shelf: BundleStore,
        *,
        sealed: bool,
    ) -> None:
        self._files = files
        self._heads = heads
        self._owner = owner
        self._log_keys = log_keys
        self._shelf = shelf
        self._sealed = sealed

    # The log's key ----------------------------------------------------------------------------------------------

    def key(self, head: LogHead) -> LogCipher:
        """Raises what the keys raise."""
        return self._log_keys.get(head) if self._sealed else PlainLogKey()

    def known_key(self, head: LogHead) -> LogCipher | None:
        """Return the log's key without asking for the user's key."""
        return self._log_keys.known(head) if self._sealed else PlainLogKey()

    def key_if_there(self, head: LogHead) -> LogCipher | None:
        return find_log_key(lambda: self._log_keys.get(head)) if self._sealed else PlainLogKey()

    # Rows and files ---------------------------------------------------------------------------------------------

    def rows(self, head: LogHead) -> list[LogRow]:
        """Return all rows, oldest first."""
        return load_rows(head, lambda stored: self._small(head, stored))

    def with_rows(self, head: LogHead, rows: list[LogRow], signers: dict[str, JsonObject]) -> LogHead:
        """Return the head with these rows instead, and with the signers that they name."""
        made = replace_rows(head, rows, lambda stored: self._small(head, stored), self._keeping(head))
        used = {row.signer for row in rows}
        return msgspec.structs.replace(made, signers={name: rest for name, rest in signers.items() if name in used})

    def with_row(self, head: LogHead, row: LogRow) -> LogHead:
        """Return the head with one more row."""
        return append_row(head, row, self._keeping(head))

    def large(self, head: LogHead) -> set[str]:
        """Return the large artifacts that its states name."""
        return {name for row in self.rows(head) for name in row.large}

    def named(self, head: LogHead) -> set[str]:
        """Return every file that belongs to the log."""
        rows = self.rows(head)
        every = {row.stored.file for row in rows} | {segment.stored.file for segment in head.segments}
        purges = {head.purges.stored.file} if head.purges else set()
        return (
            every | purges | {name for row in rows for name in row.large} | ({head.keys.file} if head.keys else set())
        )

    def bundle(self, loaded: LoadedHead, row: LogRow) -> BinaryIO:
        """Return the content of a row's file, which the caller closes. Raises RemoteBusy when it was removed meanwhile,
        and what the keys raise."""
        try:
            return self.opened(loaded.head, lambda: self._shelf.fetch(loaded.head.agent, row.stored))
        except UnknownAtRemote:
            if not self._heads.is_current(loaded):
                raise RemoteBusy(
                    "another machine rewrote the log of the agent at the same time", retry_after=1.0
                ) from None
            raise RemoteDamaged(f"the file {row.stored.file} is missing on the remote") from None

    def opened(self, head: LogHead, fetch: Callable[[], BinaryIO]) -> BinaryIO:
        """Return what a fetch gives; it may be encrypted for a former key of the user, which the head carries."""
        try:
            return fetch()
        except NotForYourKey:
            if head.log_key is None:
                raise
            self._owner.learn(self._log_keys.get(head).former(head.log_key))
            return fetch()

    # Wrapped keys -----------------------------------------------------------------------------------------------

    def keys(self, head: LogHead) -> JsonObject | None:
        """Return the agent's wrapped keys."""
        if head.keys is None:
            return None
        data = self.key(head).open(log_file_names.KEYS, self._small(head, head.keys))
        try:
            found = json_codec.decode_json(data)
        except msgspec.DecodeError:
            found = None
        if not isinstance(found, dict):
            raise RemoteDamaged("the agent's encrypted keys cannot be read")
        return found

    def with_keys(self, head: LogHead, document: JsonObject) -> LogHead:
        """Return the head with these keys, or the same head if it has them. Keys that were lost or changed there are
        replaced."""
        try:
            if self.keys(head) == document:
                return head
        except RemoteDamaged:
            pass
        data = self.key(head).seal(log_file_names.KEYS, json_codec.encode_json(document))
        name = log_file_names.make_file_name(log_file_names.KEYS, 0, self._suffix)
        return msgspec.structs.replace(head, keys=self._keep(head, name, data))

    # Purges -----------------------------------------------------------------------------------------------------

    def redactions(self, head: LogHead) -> Redactions:
        """Return the redactions that the log holds, in the order in which they came.

        Raises PurgesDamaged, and what the keys raise if this machine has not seen the log's key yet.
        """
        if head.purges is None:
            return NONE
        key = self.key(head)
        try:
            data = key.open(_PURGES, self._small(head, head.purges.stored))
        except RemoteDamaged as error:
            raise PurgesDamaged(f"{error.message}; {_WHO_MENDS}") from error
        try:
            found = Redactions(
                [redactions.decode_redaction(each) for each in msgspec.json.decode(data, type=list[JsonObject])]
            )
        except (msgspec.DecodeError, RedactionInvalid):
            found = NONE
        if len(found) != head.purges.count:
            raise PurgesDamaged(f"the purges in the log cannot be read; {_WHO_MENDS}")
        return found

    def with_mended_purges(self, head: LogHead, candidates: Iterable[Sequence[Redaction]]) -> LogHead | None:
        """Return the head with its list of purges written again, from the first of these lists that matches; None if
        the list is whole, or none matches."""
        try:
            self.redactions(head)
            return None
        except PurgesDamaged:
            assert head.purges is not None
        for known in candidates:
            if len(known) == head.purges.count and {each.id for each in known}.issuperset(head.purges.pending):
                return self._with_purges(head, list(known), head.purges.pending)
        return None

    def with_redaction(self, head: LogHead, redaction: Redaction) -> LogHead:
        """Return the head with one more redaction, which is pending."""
        pending = (*head.purges.pending, redaction.id) if head.purges else (redaction.id,)
        return self._with_purges(head, [*self.redactions(head), redaction], pending)

    def signed_again(self, head: LogHead, redaction: Redaction) -> LogHead | None:
        """Return the head with another signature of a redaction that it holds, if the user who signed the newest state
        made that; None where nothing changes."""
        known = self.redactions(head)
        made = adopt_signatures(known, [redaction])
        if head.purges is None or made is known or not _is_of_writer(head, redaction):
            return None
        return self._with_purges(head, list(made), head.purges.pending)

    def _with_purges(self, head: LogHead, known: list[Redaction], pending: tuple[str, ...]) -> LogHead:
        data = self.key(head).seal(_PURGES, json_codec.encode_json([each.to_json() for each in known]))
        stored = self._keep(head, log_file_names.make_file_name(_PURGES, len(known), self._suffix), data)
        return msgspec.structs.replace(head, purges=LogRedactions(stored, len(known), pending))

    # Small files ------------------------------------------------------------------------------------------------

    @property
    def _suffix(self) -> str:
        return "box" if self._sealed else "json"

    def _small(self, head: LogHead, stored: FileReference) -> bytes:
        try:
            with self._files.read(head.agent, stored.file) as source:
                data = source.read()
        except UnknownAtRemote:
            raise RemoteDamaged(f"the file {stored.file} is missing on the remote") from None
        if (len(data), hashlib.sha256(data).hexdigest()) != (stored.size, stored.sha256):
            raise RemoteDamaged(f"the file {stored.file} of the remote was changed")
        return data

    def _keeping(self, head: LogHead) -> Keep:
        return lambda name, source: self._keep(head, name, source.read())

    def _keep(self, head: LogHead, name: str, data: bytes) -> FileReference:
        self._files.put(head.agent, name, io.BytesIO(data))
        return FileReference(name, len(data), hashlib.sha256(data).hexdigest())


def _is_of_writer(head: LogHead, redaction: Redaction) -> bool:
    """Return whether it was signed under the same key of the user as the newest state there, or on the same device."""
    signature = None if head.newest is None else build_signature(head.newest, head.signers)
    made = redaction.signature or {}
    return signature is None or any(signature.get(name) == made.get(name) for name in ("user", "device"))
