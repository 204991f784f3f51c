"""What a machine that replicates to a log asks about purges (see `Remote.redactions`, `Remote.redact`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError, RedactionInvalid, SignatureError
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import WHOLE_AGENT, Redaction
from lifeboat_core.remotes.sealed.log_contents import LogContents
from lifeboat_core.remotes.sealed.log_erasure import LogEraser
from lifeboat_core.remotes.sealed.log_heads import LogHeads
from lifeboat_core.remotes.sealed.log_owner import LogOwner
from lifeboat_core.remotes.sealed.log_receipts import LogReceipts
from lifeboat_core.remotes.sealed.log_redactor import LogRedactor
from lifeboat_keys.signed import redaction_signatures as signed
from lifeboat_vault.errors import AgentErased, RemoteRefused
from lifeboat_vault.remote.remote_contract import RemoteRedaction


class LogPurges:
    """The purges of the logs of one remote. Only this user keeps them, so a purge waits there for the user's key at
    most."""

    def __init__(
        self,
        heads: LogHeads,
        inside: LogContents,
        owner: LogOwner,
        redacting: LogRedactor,
        erasing: LogEraser,
        receipts: LogReceipts,
    ) -> None:
        self._heads = heads
        self._inside = inside
        self._owner = owner
        self._redacting = redacting
        self._erasing = erasing
        self._receipts = receipts
        self._listed: dict[str, frozenset[str]] = {}

    def held(self, agent_id: str) -> list[JsonObject]:
        """Finish what was interrupted, if possible, and return the redactions. Raises UnknownAtRemote, and what the
        keys raise if this machine has not seen the log's key."""
        try:
            head = self._heads.load(agent_id).head
        except AgentErased as error:
            with contextlib.suppress(LifeboatError):
                self._erasing.finish(agent_id)
            return [] if error.redaction is None else [error.redaction]
        if head.purges is not None and head.purges.pending:
            with contextlib.suppress(LifeboatError):  # the caller that wants a receipt is told why
                head = self._redacting.settle(agent_id).head
        every = self._inside.redactions(head)
        self._listed[agent_id] = frozenset(each.id for each in every)
        return [each.to_json() for each in every]

    def redact(self, agent_id: str, document: JsonObject) -> RemoteRedaction:
        """Raises UnknownAtRemote, AgentErased, RemoteRefused, RemoteBusy (the redaction is held, and waits for the
        user's key)."""
        redaction = self._checked(agent_id, document)
        if redaction.scope == WHOLE_AGENT:
            removed = self._erasing.erase(agent_id, redaction)
            return RemoteRedaction(redaction.id, None, self._receipts.of_erased(redaction, removed))
        self._redacting.hold(agent_id, redaction, self._listed.get(agent_id, frozenset()))
        return RemoteRedaction(redaction.id, None, self._receipts.of(self._redacting.settle(agent_id), redaction))

    def mend(self, agent_id: str, candidates: Iterable[Sequence[Redaction]]) -> None:
        """Write the list of purges again if it is damaged and one of these lists matches."""
        self._heads.change(agent_id, lambda head: self._inside.with_mended_purges(head, candidates))

    def _checked(self, agent_id: str, document: JsonObject) -> Redaction:
        try:
            redaction = redactions.from_json(document)
            signed.verify_redaction(redaction, self._owner.trusted)
        except (RedactionInvalid, SignatureError) as error:
            raise RemoteRefused(f"{error.title}: {error.message}") from error
        if redaction.agent_id.lower() != agent_id.lower():
            raise RemoteRefused(f"it is of the agent {redaction.agent_id}")
        return redaction
