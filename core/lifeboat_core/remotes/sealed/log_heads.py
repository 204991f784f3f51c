"""Heads of logs: read and replaced over `SealedFiles`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from lifeboat_alf.common import ids, times
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_core.remotes.sealed import log_head as document
from lifeboat_core.remotes.sealed.log_files import HeadMoved, SealedFiles
from lifeboat_core.remotes.sealed.log_head import LogHead
from lifeboat_core.remotes.sealed.log_key import LogKeys, find_log_key
from lifeboat_core.remotes.sealed.log_owner import LogOwner
from lifeboat_vault.errors import AgentErased, RemoteBusy, RemoteRefused, UnknownAtRemote

TRIES = 8
LONGEST_CHANGE = 12 * 3600.0
"""Seconds. A head that was loaded longer ago is not replaced: this machine slept, and another one may have removed
the files that were written for the new head, because no head had named them for a day."""
RECENT = 10.0
"""Seconds for which a decision before a replacement may use a head that this process read or wrote. An older head is
found out by the replacement, which compares."""


@dataclass(frozen=True, slots=True)
class LoadedHead:
    """A head as it was read, `loaded_at` in seconds since the boot. `doubt`: why its signature does not count any more,
    "" if it does."""

    head: LogHead
    tag: str
    loaded_at: float
    doubt: str = ""


class LogHeads:
    """The heads at one remote. `sealed` says whether new logs are sealed."""

    def __init__(self, files: SealedFiles, owner: LogOwner, log_keys: LogKeys, clock: Clock, *, sealed: bool) -> None:
        self._files = files
        self._owner = owner
        self._log_keys = log_keys
        self._clock = clock
        self._sealed = sealed
        self._recent: dict[str, LoadedHead] = {}

    def find(self, agent_id: str) -> LoadedHead | None:
        """Raises RemoteDamaged, RemoteRefused, AgentErased, and NoKey."""
        self._recent.pop(agent_id, None)
        found = self._read(agent_id)
        if found is None:
            return None
        head = found.head
        if head.erased is not None:
            raise AgentErased(f"the agent {head.agent} was purged", redaction=head.erased)
        if head.sealed != self._sealed:
            raise RemoteRefused(
                "the log of the agent is encrypted, but the remote is set up as unencrypted"
                if head.sealed
                else "the log of the agent is not encrypted, but the remote is set up as encrypted"
            )
        self._recent[agent_id] = found
        return found

    def of_erased(self, agent_id: str) -> LoadedHead | None:
        """Return the head of an agent that was purged whole; None if it was not. Raises RemoteDamaged,
        RemoteRefused."""
        found = self._read(agent_id)
        return None if found is None or found.head.erased is None else found

    def _read(self, agent_id: str) -> LoadedHead | None:
        trusted = self._owner.trusted
        if not ids.is_uuid(agent_id):
            return None
        loaded_at = self._clock.since_boot()
        found = self._files.head(agent_id)
        if found is None:
            return None
        head, doubt = document.decode_head(found[0], self._files.identity(), agent_id, trusted)
        return LoadedHead(head, found[1], loaded_at, doubt)

    def load(self, agent_id: str) -> LoadedHead:
        """Load a head as `find` does; also raises UnknownAtRemote."""
        found = self.find(agent_id)
        if found is None:
            raise UnknownAtRemote(f"the remote has no agent {agent_id}")
        return found

    def load_recent(self, agent_id: str) -> LoadedHead:
        """Return a head that this process read or wrote within `RECENT` seconds, else `load` it.

        Only for what is decided before a replacement, and for what may be true a moment ago.
        """
        known = self._recent.get(agent_id)
        if known is not None and self._clock.since_boot() - known.loaded_at <= RECENT:
            return known
        return self.load(agent_id)

    def create(self, head: LogHead) -> bool:
        """Create a head; return False if another machine did meanwhile."""
        try:
            self._files.set_head(head.agent, self._encoded(head), None)
        except HeadMoved:
            return False
        return True

    def replace(self, loaded: LoadedHead, head: LogHead) -> LoadedHead:
        """Replace a loaded head by `head`. Raises HeadMoved, also for one that was loaded too long ago."""
        made = self._following(loaded.head, head)
        self._recent.pop(made.agent, None)
        reach_crash_point(CrashPoint.SEALED_HEAD_REPLACED)
        if self.is_outdated(loaded):
            raise HeadMoved(
                f"the log of the agent was read more than {LONGEST_CHANGE / 3600:.0f} hours ago and must be read again"
            )
        tag = self._files.set_head(made.agent, self._encoded(made), loaded.tag)
        replaced = LoadedHead(made, tag, self._clock.since_boot())
        if made.erased is None:
            self._recent[made.agent] = replaced
        return replaced

    def change(self, agent_id: str, edit: Callable[[LogHead], LogHead | None]) -> LoadedHead:
        """Replace the head by what `edit` makes of it, again if another machine was faster; None changes nothing.
        Raises what `edit` raises, and RemoteBusy."""
        for _ in range(TRIES):
            loaded = self.load(agent_id)
            made = edit(loaded.head)
            if made is None:
                return loaded
            try:
                return self.replace(loaded, made)
            except HeadMoved:
                continue
        raise RemoteBusy("other machines keep writing to the log of the agent", retry_after=5.0)

    def is_outdated(self, loaded: LoadedHead) -> bool:
        """Return whether a head was loaded so long ago that files written for its successor may be gone."""
        return self._clock.since_boot() - loaded.loaded_at > LONGEST_CHANGE

    def is_current(self, loaded: LoadedHead) -> bool:
        found = self._files.head(loaded.head.agent)
        return found is not None and found[1] == loaded.tag

    def is_for_a_former_key(self, head: LogHead) -> bool:
        """Return whether the user's key was replaced since the log's key was wrapped for it."""
        return head.log_key is not None and head.log_key.key_id != self._owner.public.key_id

    def _following(self, before: LogHead, head: LogHead) -> LogHead:
        """Wrap the log's key for the new key of the user if that was replaced."""
        wrapped = head.log_key
        if wrapped is not None and self.is_for_a_former_key(head):
            found = find_log_key(lambda: self._log_keys.get(head))
            wrapped = wrapped if found is None else found.wrapped_for(self._owner.public, self._owner.former)
        now, writer = times.to_text(self._clock.now()), self._owner.device.id
        return msgspec.structs.replace(head, number=before.number + 1, written_at=now, writer=writer, log_key=wrapped)

    def _encoded(self, head: LogHead) -> bytes:
        return document.encode_head(head, self._owner.device)
