"""Sealed agents, which the endpoint cannot read: files that never change, and one head per agent.

The files are encrypted under the user's key before they arrive, and once more under the tenant's key, so that revoking
the tenant's key makes them unreadable. A file exists once its row exists; its body is written first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lifeboat_alf.common import times
from lifeboat_endpoint.service import sealed_statements as sql
from lifeboat_endpoint.service.remote_errors import as_remote
from lifeboat_endpoint.service.tenant_service import TenantService
from lifeboat_endpoint.service.tenant_tables import open_sealed
from lifeboat_vault import errors

HEAD_BYTES = 4 << 20
"""The largest head. A client moves older rows into files, so that its head stays far below."""
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,99}")
_HEAD = "sealed head"


@dataclass(frozen=True, slots=True)
class StoredSealedFile:
    """A sealed file. `size` in bytes as the client sent it; `written_at` (timestamp) and `age` (seconds) by the
    endpoint's clock."""

    name: str
    size: int
    written_at: str
    age: float


class _KeyChanged(errors.VaultBusy):
    """The data key changed, so no row was written. Unlike after an unanswered commit, the body can be removed."""


class SealedFileStore(TenantService):
    """Sealed files of one tenant. Belongs to one thread.

    Every method raises UnknownAtRemote for an unknown agent, RemoteRefused for one that is not sealed.
    """

    @as_remote()
    def names(self, agent_id: str) -> list[StoredSealedFile]:
        """Return the files of an agent, sorted by name."""
        self._check_agent(agent_id)
        now = self._clock.now()
        return [
            StoredSealedFile(name, size, written_at, max(0.0, (now - times.parse_time(written_at)).total_seconds()))
            for name, size, written_at in self._metadata.rows(sql.FILES, (agent_id,))
        ]

    @as_remote()
    def put(self, agent_id: str, name: str, data: bytes) -> None:
        """Store a file durably. Repeating it with the same bytes is not an error, because a response may have been
        lost.

        Raises RemoteRefused (the name is taken or invalid), RemoteTooLarge, RemoteFull.
        """
        self._check_agent(agent_id)
        if not _NAME.fullmatch(name):
            raise errors.RemoteRefused(
                "the name of a file must consist of 1 to 100 lower-case letters, digits, dots and dashes"
            )
        if len(data) > self._limits.bundle_bytes:
            raise errors.RemoteTooLarge(
                f"the file has {len(data)} bytes; the endpoint accepts at most {self._limits.bundle_bytes}"
            )
        # Files never change, so only the same bytes are accepted.
        if self._row(agent_id, name) is not None:
            self._refuse_other(agent_id, name, data)
            return
        with self._quota.taking(len(data)):
            self._put(agent_id, name, data)

    def _put(self, agent_id: str, name: str, data: bytes) -> None:
        # `_named` compares the key inside of the transaction.
        key_id = self._keys.sealer(agent_id).key_id
        body = self._bodies.put(agent_id, data)
        try:
            if not self._named(agent_id, name, len(data), body, key_id):
                self._refuse_other(agent_id, name, data)
        except (errors.UnknownAtRemote, errors.AgentErased, _KeyChanged):
            self._bodies.remove(body)
            raise

    def _named(self, agent_id: str, name: str, size: int, body: str, key_id: str) -> bool:
        """Give the body its name; return False if another body got the same name first.

        The other process was first then, and this body is an orphan. Raises UnknownAtRemote, AgentErased if the agent
        was removed meanwhile, VaultBusy if its key changed: the process that seals all named files again did not see
        this body, and will destroy its key.
        """
        with self._metadata.transaction():
            self._check_agent(agent_id)
            if self._keys.sealer(agent_id).key_id != key_id:
                raise _KeyChanged("another process changed the data keys")
            if self._row(agent_id, name) is not None:
                return False
            self._metadata.execute(sql.ADD_FILE, (agent_id, name, size, body, self._now()))
        return True

    @as_remote()
    def get(self, agent_id: str, name: str) -> bytes:
        """Return a file. Raises UnknownAtRemote, RemoteDamaged, KeyRevoked."""
        self._check_agent(agent_id)
        row = self._row(agent_id, name)
        if row is None:
            raise errors.UnknownAtRemote(f"unknown file {name!r}")
        try:
            return self._bodies.read(agent_id, row[1])
        except errors.VaultDamaged:
            now = self._row(agent_id, name)  # it may have been sealed again a moment ago, into another body
            if now is None or now == row:
                raise
            return self._bodies.read(agent_id, now[1])

    @as_remote()
    def remove(self, agent_id: str, name: str) -> None:
        """Remove a file. A missing one is not an error."""
        self._check_agent(agent_id)
        with self._metadata.transaction():
            row = self._row(agent_id, name)
            self._metadata.execute(sql.DROP_FILE, (agent_id, name))
        if row is not None:
            self._bodies.remove(row[1])

    def remove_agent(self, agent_id: str) -> list[str]:
        """Delete all rows of an agent, in the caller's transaction; return the bodies that the caller removes
        afterwards."""
        found = [body for (body,) in self._metadata.rows(sql.BODIES_OF, (agent_id,))]
        self._metadata.execute(sql.DROP_FILES, (agent_id,))
        self._metadata.execute(sql.DROP_HEAD, (agent_id,))
        return found

    @as_remote()
    def head(self, agent_id: str) -> tuple[bytes, str] | None:
        """Return the bytes and the tag of the head, None without one."""
        self._check_agent(agent_id)
        row = self._metadata.row(sql.HEAD, (agent_id,))
        return None if row is None else (open_sealed(self._keys, agent_id, _HEAD, bytes(row[1])), str(row[0]))

    @as_remote()
    def set_head(self, agent_id: str, data: bytes, expected: str | None) -> str:
        """Replace the head if its tag is `expected` (None: there is none); return the new tag.

        Raises HeadMoved, RemoteTooLarge, RemoteFull.
        """
        self._check_agent(agent_id)
        if len(data) > HEAD_BYTES:
            raise errors.RemoteTooLarge(
                f"the index of the log has {len(data)} bytes; the endpoint accepts at most {HEAD_BYTES}"
            )
        known = self._metadata.row(sql.HEAD_SIZE, (agent_id,))
        # A smaller head is always accepted, because clients that make room send one first
        if known is None or len(data) > known[0]:
            self._quota.check(len(data))
        tag = hashlib.sha256(data).hexdigest()
        with self._metadata.transaction():
            self._check_agent(agent_id)
            sealed = self._keys.sealer(agent_id).seal(_HEAD, data)
            row = self._metadata.row(sql.HEAD_TAG, (agent_id,))
            if (None if row is None else row[0]) != expected:
                raise errors.HeadMoved("another machine wrote to the remote at the same time")
            self._metadata.execute(sql.DROP_HEAD, (agent_id,))
            self._metadata.execute(sql.ADD_HEAD, (agent_id, tag, len(data), sealed, self._now()))
        return tag

    def reseal(self) -> None:
        """Seal every file and head under the current keys."""
        for agent_id, name in list(self._metadata.rows(sql.ALL_FILES)):
            self._reseal_file(agent_id, name)
        for (agent_id,) in list(self._metadata.rows(sql.ALL_HEADS)):
            with self._metadata.transaction():
                found = self._metadata.row(sql.HEAD, (agent_id,))
                if found is not None:
                    data = open_sealed(self._keys, agent_id, _HEAD, bytes(found[1]))
                    sealed = self._keys.sealer(agent_id).seal(_HEAD, data)
                    self._metadata.execute(sql.SET_HEAD_DATA, (sealed, agent_id))

    def check(self) -> Iterator[str]:
        """Read every file and head; yield a sentence for each one that is damaged."""
        for agent_id, name in list(self._metadata.rows(sql.ALL_FILES)):
            row = self._row(agent_id, name)
            try:
                held = row is None or len(self._bodies.read(agent_id, row[1])) == row[0]
            except errors.VaultDamaged as error:
                yield f"the sealed file {name} of the agent {agent_id} cannot be read: {error.message}"
                continue
            if not held:
                yield f"the sealed file {name} of the agent {agent_id} has an unexpected size"
        for (agent_id,) in list(self._metadata.rows(sql.ALL_HEADS)):
            yield from self._check_head(agent_id)

    def _check_head(self, agent_id: str) -> Iterator[str]:
        row = self._metadata.row(sql.HEAD, (agent_id,))
        if row is None:
            return
        try:
            data = open_sealed(self._keys, agent_id, _HEAD, bytes(row[1]))
        except errors.VaultDamaged as error:
            yield f"the index of the sealed log of the agent {agent_id} cannot be read: {error.message}"
            return
        if hashlib.sha256(data).hexdigest() != row[0]:
            yield f"the index of the sealed log of the agent {agent_id} was changed"

    def _reseal_file(self, agent_id: str, name: str) -> None:
        row = self._row(agent_id, name)
        if row is None:
            return
        data, key_id = self._bodies.read(agent_id, row[1]), self._keys.sealer(agent_id).key_id
        body, changed = self._bodies.put(agent_id, data), 0
        with self._metadata.transaction():
            if self._keys.sealer(agent_id).key_id == key_id:
                # Replace only the body that was read: another file may have the name by now.
                changed = self._metadata.execute(sql.SET_BODY, (body, agent_id, name, row[1]))
        # Remove whichever of the two bodies has no row now.
        self._bodies.remove(row[1] if changed else body)

    def _row(self, agent_id: str, name: str) -> tuple[int, str] | None:
        """Return (size, body)."""
        found = self._metadata.row(sql.FILE, (agent_id, name))
        return None if found is None else (int(found[0]), str(found[1]))

    def _refuse_other(self, agent_id: str, name: str, data: bytes) -> None:
        if self.get(agent_id, name) != data:
            raise errors.RemoteRefused(f"another file already has the name {name!r}")

    def _check_agent(self, agent_id: str) -> None:
        if not self._roster.get(agent_id).sealed:
            raise errors.RemoteRefused("the agent is not sealed at this endpoint")

    def _now(self) -> str:
        return times.to_text(self._clock.now())
