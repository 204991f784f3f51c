"""Bundles that arrive in parts, or without the token. They are kept encrypted until they are complete, then pushed.

A part is identified by the SHA-256 of its bytes; one that arrived for an earlier upload of the agent is not sent again.
An upload that is not finished within a day is swept.
"""

from __future__ import annotations

import hashlib
import io
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lifeboat_alf.common import times
from lifeboat_endpoint.service import tenant_statements as sql
from lifeboat_endpoint.service.bundle_receiver import BundleReceiver, SentBundle
from lifeboat_endpoint.service.remote_errors import as_remote
from lifeboat_endpoint.service.tenant_service import TenantResources, TenantService
from lifeboat_endpoint.service.tenant_tables import open_sealed
from lifeboat_vault.errors import RemoteRefused, RemoteTooLarge, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import BundleKind

_MACHINE = "upload machine"
_PART = "upload part"
_MOST_PARTS = 4096


@dataclass(frozen=True, slots=True)
class ExpectedPart:
    """A part of a bundle: SHA-256 (hex) and size in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class UploadState:
    """An unfinished upload.

    `missing` are the SHA-256s of parts that have not arrived. `done` is the number of the sequence that it became.
    `size` in bytes, of all parts that are known.
    """

    id: str
    agent_id: str
    kind: BundleKind
    base: int | None
    machine: str
    expires_at: str
    done: int | None = None
    missing: list[str] = field(default_factory=list)
    size: int = 0


class Uploads(TenantService):
    """The uploads of one tenant. Belongs to one thread."""

    def __init__(self, resources: TenantResources, receiver: BundleReceiver) -> None:
        super().__init__(resources)
        self._receiver = receiver

    def begin(
        self,
        agent_id: str,
        kind: BundleKind,
        base: int | None = None,
        parts: Sequence[ExpectedPart] | None = None,
        machine: str = "",
    ) -> UploadState:
        """Begin an upload. With `parts` None the bundle arrives as one body (`put_body`).

        Raises UnknownAtRemote, RemoteRefused, RemoteTooLarge, RemoteFull.
        """
        self._receiver.open_row(agent_id)
        self._check_parts(parts or ())
        self._quota.check(sum(part.size for part in parts or ()))
        self._drop(self._too_many(agent_id))
        made = secrets.token_hex(16)
        now = self._clock.now()
        expires = times.to_text(now + self._limits.upload_life)
        sealed = self._keys.sealer(agent_id).seal(_MACHINE, machine.encode())
        with as_remote(), self._metadata.transaction():
            self._receiver.open_row(agent_id)  # check again: an agent that was purged meanwhile gets no upload
            self._metadata.execute(sql.ADD_UPLOAD, (made, agent_id, kind, base, sealed, times.to_text(now), expires))
            for position, part in enumerate(parts or ()):
                token = self._token(agent_id, part.sha256)
                # A part of an earlier upload of this agent need not be sent again.
                known = self._metadata.row(sql.KNOWN_PART, (token, part.size, agent_id))
                self._metadata.execute(
                    sql.ADD_PART, (made, position, token, part.size, None if known is None else known[0])
                )
        return self.get(made)

    def _too_many(self, agent_id: str) -> list[str]:
        """Return the oldest unfinished uploads, which have to go for one more, so that a client cannot fill the disk
        with them."""
        with as_remote():
            found = [upload_id for (upload_id,) in self._metadata.rows(sql.UNFINISHED, (agent_id,))]
        return found[: max(0, len(found) - self._limits.uploads + 1)]

    def _check_parts(self, parts: Sequence[ExpectedPart]) -> None:
        if len(parts) > _MOST_PARTS:
            raise RemoteTooLarge(f"the upload has {len(parts)} parts; the endpoint accepts at most {_MOST_PARTS}")
        for part in parts:
            if len(part.sha256) != 64 or part.sha256.strip("0123456789abcdef") or part.size < 0:
                raise RemoteRefused("each part of an upload needs a SHA-256 in hexadecimal and a size")
            if part.size > self._limits.part_bytes:
                raise RemoteTooLarge(
                    f"a part of the upload has {part.size} bytes; the endpoint accepts at most "
                    f"{self._limits.part_bytes}"
                )

    def get(self, upload_id: str) -> UploadState:
        """Return an upload. Raises UnknownAtRemote."""
        with as_remote():
            row = self._metadata.row(sql.UPLOAD, (upload_id,))
            if row is None or times.parse_time(row[6]) <= self._clock.now():
                raise UnknownAtRemote("the upload is unknown: it was never started, or it was not finished in time")
            agent_id = row[1]
            parts = list(self._metadata.rows(sql.PARTS, (upload_id,)))
            missing = [self._keys.sealer(agent_id).text(_PART, token) for _, token, _, body in parts if body is None]
            machine = open_sealed(self._keys, agent_id, _MACHINE, row[4]).decode()
        size = sum(size for _, _, size, _ in parts)
        return UploadState(row[0], row[1], row[2], row[3], machine, row[6], row[7], list(dict.fromkeys(missing)), size)

    def put_part(self, upload_id: str, sha256: str, data: bytes) -> None:
        """Store one part. Repeating it is not an error. Raises UnknownAtRemote, RemoteRefused."""
        if hashlib.sha256(data).hexdigest() != sha256:
            raise RemoteRefused("the sent content does not match this part of the upload")
        upload = self.get(upload_id)
        with as_remote():
            token = self._token(upload.agent_id, sha256)
            sizes = {size for _, found, size, _ in self._metadata.rows(sql.PARTS, (upload_id,)) if found == token}
            if sizes != {len(data)}:
                raise RemoteRefused("the upload has no such part")
            # The part arrived before.
            if sha256 not in upload.missing:
                return
            body = self._bodies.put(upload.agent_id, data)
            with self._metadata.transaction():
                taken = self._metadata.execute(sql.FILL_PARTS, (body, upload_id, token))
        # Another request stored the part meanwhile.
        if not taken:
            self._bodies.remove(body)

    def put_body(self, upload_id: str, chunks: Iterable[bytes]) -> int:
        """Store the whole bundle as it arrives; return its size in bytes. It replaces what an earlier attempt sent.

        Raises UnknownAtRemote, RemoteTooLarge, RemoteFull.
        """
        agent_id = self.get(upload_id).agent_id
        made, is_named = list[tuple[str, int]](), False
        try:
            with self._quota.taking() as taking:
                for piece in _pieces(chunks, self._limits.part_bytes):
                    taking.more(len(piece))
                    with as_remote():
                        made.append((self._bodies.put(agent_id, piece), len(piece)))
                with as_remote():
                    is_named = True
                    self._replace_parts(upload_id, made)
        except BaseException as error:
            # A commit that was not answered may have named them. Then they are in use; otherwise they are swept.
            if not is_named or isinstance(error, UnknownAtRemote):
                for body, _ in made:
                    self._bodies.remove(body)
            raise
        return sum(size for _, size in made)

    def _replace_parts(self, upload_id: str, made: list[tuple[str, int]]) -> None:
        with self._metadata.transaction():
            if self._metadata.row(sql.UPLOAD, (upload_id,)) is None:
                raise UnknownAtRemote("the upload has already ended")
            before = self._drop_parts(upload_id)
            for position, (body, size) in enumerate(made):
                self._metadata.execute(sql.ADD_PART, (upload_id, position, None, size, body))
        self._remove_unused(before)

    def sent(self, upload: UploadState) -> SentBundle:
        """Return the whole bundle, in memory. Raises UnknownAtRemote, RemoteRefused while parts are missing."""
        with as_remote():
            parts = list(self._metadata.rows(sql.PARTS, (upload.id,)))
            if not parts or any(body is None for *_, body in parts):
                raise RemoteRefused("some parts of the upload are missing")
            data = b"".join(self._bodies.read(upload.agent_id, body) for *_, body in parts)
        return SentBundle(upload.kind, io.BytesIO(data), len(data), upload.base, machine=upload.machine)

    def finish(self, upload_id: str, number: int) -> None:
        """Drop the parts of an upload that became a sequence, and remember its number for repeated requests."""
        with as_remote():
            with self._metadata.transaction():
                bodies = self._drop_parts(upload_id)
                self._metadata.execute(sql.FINISH_UPLOAD, (number, upload_id))
            self._remove_unused(bodies)

    def abort(self, upload_id: str) -> None:
        self._drop([upload_id])

    def sweep(self, now: datetime) -> int:
        """Drop uploads that were not finished in time; return how many."""
        with as_remote():
            old = [found for (found,) in self._metadata.rows(sql.OLD_UPLOADS, (times.to_text(now),))]
        self._drop(old)
        return len(old)

    def drop_of(self, agent_id: str) -> int:
        """Drop all uploads of an agent; return how many."""
        found = [upload_id for (upload_id,) in self._metadata.rows(sql.UPLOADS_OF, (agent_id,))]
        self._drop(found)
        return len(found)

    def drop_all(self) -> None:
        """Drop all uploads; they have to begin again under another data key."""
        self._drop([found for (found,) in self._metadata.rows(sql.UPLOADS)])

    def _drop(self, upload_ids: list[str]) -> None:
        with as_remote():
            for upload_id in upload_ids:
                with self._metadata.transaction():
                    bodies = self._drop_parts(upload_id)
                    self._metadata.execute(sql.DROP_UPLOAD, (upload_id,))
                self._remove_unused(bodies)

    def _drop_parts(self, upload_id: str) -> list[str]:
        """Delete the rows of the parts, in the caller's transaction; return their bodies."""
        bodies = [body for *_, body in self._metadata.rows(sql.PARTS, (upload_id,)) if body is not None]
        self._metadata.execute(sql.DROP_PARTS, (upload_id,))
        return bodies

    def _remove_unused(self, bodies: list[str]) -> None:
        """Remove bodies after the commit. The next sweep removes those that a crash leaves."""
        for body in dict.fromkeys(bodies):
            if self._metadata.row(sql.BODY_USED, (body,)) is None:
                self._bodies.remove(body)

    def _token(self, agent_id: str, sha256: str) -> str:
        return self._keys.sealer(agent_id).token(_PART, sha256)


def _pieces(chunks: Iterable[bytes], size: int) -> Iterable[bytes]:
    """Yield the same bytes in pieces of `size`."""
    waiting = bytearray()
    for chunk in chunks:
        waiting += chunk
        while len(waiting) >= size:
            yield bytes(waiting[:size])
            del waiting[:size]
    if waiting:
        yield bytes(waiting)
