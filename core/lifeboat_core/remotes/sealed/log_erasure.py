"""The end of an agent in a log: all its files are removed, and a signed head says so.

Nothing replaces that head except the same one under a newer key of the user.
"""

from __future__ import annotations

import contextlib

import msgspec

from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.remotes.sealed.log_files import HeadMoved, SealedFiles
from lifeboat_core.remotes.sealed.log_head import LogHead
from lifeboat_core.remotes.sealed.log_heads import TRIES, LogHeads
from lifeboat_core.remotes.sealed.log_key import LogKeys
from lifeboat_core.remotes.sealed.log_owner import LogOwner
from lifeboat_vault.errors import AgentErased, RemoteBusy


class LogEraser:
    """Erases agents at one remote."""

    def __init__(
        self, files: SealedFiles, heads: LogHeads, log_keys: LogKeys, owner: LogOwner, *, sealed: bool
    ) -> None:
        self._files = files
        self._owner = owner
        self._heads = heads
        self._log_keys = log_keys
        self._sealed = sealed

    def erase(self, agent_id: str, redaction: Redaction) -> int:
        """Erase an agent, and return how many files were removed.

        The head is replaced first: from then on nothing of the agent exists there. Repeating it is no error. Raises
        UnknownAtRemote, AgentErased (by another redaction), RemoteBusy.
        """
        self._mark(agent_id, redaction)
        return self.finish(agent_id)

    def finish(self, agent_id: str) -> int:
        """Remove what is left of an erased agent; return how many files."""
        found = self._files.names(agent_id)
        if found:
            reach_crash_point(CrashPoint.SEALED_SWEPT)
        for file in found:
            self._files.remove(agent_id, file.name)
        self._files.remove_unfinished(agent_id, lambda _: True)
        self._log_keys.forget(self._files.identity(), agent_id.lower())
        return len(found)

    def _sign_again(self, agent_id: str, redaction: Redaction) -> None:
        """Sign the remaining head under the current key of the user, if its key does not count any more."""
        found = self._heads.of_erased(agent_id)
        if found is None or found.head.erased is None:
            return
        held = redactions.decode_redaction(found.head.erased)
        if held.digest != redaction.digest or self._owner.counts(held):
            return
        with contextlib.suppress(HeadMoved):  # another machine did the same
            self._heads.replace(found, msgspec.structs.replace(found.head, erased=redaction.to_json()))

    def _mark(self, agent_id: str, redaction: Redaction) -> None:
        for _ in range(TRIES):
            try:
                loaded = self._heads.load(agent_id)
            except AgentErased as error:
                if error.redaction is None or error.redaction.get("id") != redaction.id:
                    raise
                self._sign_again(agent_id, redaction)
                return
            before = loaded.head
            place = (before.remote, before.agent, before.number, before.epoch, before.created_at, "", "")
            try:
                self._heads.replace(loaded, LogHead(*place, self._sealed, None, "", erased=redaction.to_json()))
            except HeadMoved:
                continue
            return
        raise RemoteBusy("other machines keep writing to the log of the agent", retry_after=5.0)
