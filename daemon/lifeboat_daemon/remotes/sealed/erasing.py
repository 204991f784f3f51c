"""The end of an agent at a log: everything of it goes, and a signed head says so, which nobody replaces any more."""

from __future__ import annotations

from lifeboat_alf.redactions import Redaction
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_daemon.remotes.sealed.files import Files, HeadMoved
from lifeboat_daemon.remotes.sealed.head import Head
from lifeboat_daemon.remotes.sealed.heads import TRIES, Heads
from lifeboat_daemon.remotes.sealed.log_key import LogKeys
from lifeboat_endpoint.errors import AgentErased, RemoteBusy


class Erasing:
    """Of the agents at one remote."""

    def __init__(self, files: Files, heads: Heads, log_keys: LogKeys, *, sealed: bool) -> None:
        self._files = files
        self._heads = heads
        self._log_keys = log_keys
        self._sealed = sealed

    def erase(self, agent_id: str, redaction: Redaction) -> int:
        """How many files were removed. The head goes first: from then on nothing of the agent is there. Again is no
        error. Raises UnknownThere, AgentErased (by another redaction), RemoteBusy."""
        self._mark(agent_id, redaction)
        return self.finish(agent_id)

    def finish(self, agent_id: str) -> int:
        """Remove what lies there of an agent that was erased; how many files."""
        found = self._files.names(agent_id)
        if found:
            reached(Step.SEALED_SWEPT)
        for file in found:
            self._files.remove(agent_id, file.name)
        self._files.remove_unfinished(agent_id, lambda _: True)
        self._log_keys.forget(self._files.identity(), agent_id.lower())
        return len(found)

    def _mark(self, agent_id: str, redaction: Redaction) -> None:
        for _ in range(TRIES):
            try:
                loaded = self._heads.load(agent_id)
            except AgentErased as error:
                if error.redaction is None or error.redaction.get("id") != redaction.id:
                    raise
                return
            before = loaded.head
            place = (before.remote, before.agent, before.number, before.epoch, before.created_at, "", "")
            try:
                self._heads.replace(loaded, Head(*place, self._sealed, None, "", erased=redaction.to_json()))
            except HeadMoved:
                continue
            return
        raise RemoteBusy("other machines are writing to the agent all the time", retry_after=5.0)
