"""Heads of logs, read and replaced over `Files`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from lifeboat_alf import ids, times
from lifeboat_alf.seams.clock import Clock
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_core.remotes.sealed import head as document
from lifeboat_core.remotes.sealed.files import Files, HeadMoved
from lifeboat_core.remotes.sealed.head import Head
from lifeboat_core.remotes.sealed.log_key import LogKeys, quietly
from lifeboat_core.remotes.sealed.owner import Owner
from lifeboat_vault.errors import AgentErased, RemoteBusy, RemoteRefused, UnknownThere

TRIES = 8


@dataclass(frozen=True, slots=True)
class Loaded:
    """A head as it stands there. `doubt`: why its signature counts no more, "" when it does."""

    head: Head
    tag: str
    doubt: str = ""


class Heads:
    """`sealed` says whether logs made here are."""

    def __init__(self, files: Files, owner: Owner, log_keys: LogKeys, clock: Clock, *, sealed: bool) -> None:
        self._files = files
        self._owner = owner
        self._log_keys = log_keys
        self._clock = clock
        self._sealed = sealed

    def find(self, agent_id: str) -> Loaded | None:
        """Raises RemoteDamaged, RemoteRefused, AgentErased, and NoKey."""
        found = self._read(agent_id)
        if found is None:
            return None
        head = found.head
        if head.erased is not None:
            raise AgentErased(f"the agent {head.agent} was purged", redaction=head.erased)
        if head.sealed != self._sealed:
            raise RemoteRefused("the log is sealed" if head.sealed else "the log is kept in clear, not sealed")
        return found

    def of_erased(self, agent_id: str) -> Loaded | None:
        """The head of an agent that was purged whole; None where it was not. Raises RemoteDamaged, RemoteRefused."""
        found = self._read(agent_id)
        return None if found is None or found.head.erased is None else found

    def _read(self, agent_id: str) -> Loaded | None:
        trusted = self._owner.trusted
        if not ids.is_uuid(agent_id):
            return None
        found = self._files.head(agent_id)
        if found is None:
            return None
        head, doubt = document.decode(found[0], self._files.identity(), agent_id, trusted)
        return Loaded(head, found[1], doubt)

    def load(self, agent_id: str) -> Loaded:
        """As `find`; raises UnknownThere too."""
        found = self.find(agent_id)
        if found is None:
            raise UnknownThere(f"there is no agent {agent_id}")
        return found

    def create(self, head: Head) -> bool:
        """False when somebody else did meanwhile."""
        try:
            self._files.set_head(head.agent, self._encoded(head), None)
        except HeadMoved:
            return False
        return True

    def replace(self, loaded: Loaded, head: Head) -> Loaded:
        """Put `head` in the place of what was loaded. Raises HeadMoved."""
        made = self._following(loaded.head, head)
        reached(Step.SEALED_HEAD_REPLACED)
        return Loaded(made, self._files.set_head(made.agent, self._encoded(made), loaded.tag))

    def change(self, agent_id: str, edit: Callable[[Head], Head | None]) -> Loaded:
        """Replace the head by what `edit` makes of it, again when another machine was quicker; None changes nothing.
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
        raise RemoteBusy("other machines are writing to the agent all the time", retry_after=5.0)

    def is_current(self, loaded: Loaded) -> bool:
        found = self._files.head(loaded.head.agent)
        return found is not None and found[1] == loaded.tag

    def is_for_a_former_key(self, head: Head) -> bool:
        """Whether the user's key was replaced since the log's key was wrapped for it."""
        return head.log_key is not None and head.log_key.key_id != self._owner.public.key_id

    def _following(self, before: Head, head: Head) -> Head:
        """The log's key follows the user's when that was replaced."""
        wrapped = head.log_key
        if wrapped is not None and self.is_for_a_former_key(head):
            found = quietly(lambda: self._log_keys.get(head))
            wrapped = wrapped if found is None else found.wrapped_for(self._owner.public, self._owner.former)
        now, writer = times.to_text(self._clock.now()), self._owner.device.id
        return msgspec.structs.replace(head, number=before.number + 1, written_at=now, writer=writer, log_key=wrapped)

    def _encoded(self, head: Head) -> bytes:
        return document.encode(head, self._owner.device)
