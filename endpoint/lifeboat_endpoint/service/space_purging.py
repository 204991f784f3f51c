"""What is purged of a tenant's agents, and when."""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_endpoint.service.purge.purge_policy import PendingRedaction
from lifeboat_endpoint.service.remote_errors import as_remote
from lifeboat_endpoint.service.space_parts import SpaceParts
from lifeboat_vault.remote.remote_contract import RemoteRedaction


class SpacePurging(SpaceParts):
    """The purges of a `TenantSpace`."""

    def redactions(self, agent_id: str) -> list[JsonObject]:
        """As `Remote.redactions`. What has waited long enough is applied first."""
        with as_remote():
            return self._redacting.held(agent_id)

    def redact(self, agent_id: str, document: JsonObject, *, confirmed: bool = False) -> RemoteRedaction:
        """As `Remote.redact`; `confirmed`: whoever owns the endpoint said so, so it does not wait."""
        with as_remote():
            return self._redacting.take(agent_id, document, confirmed=confirmed)

    def purges(self, agent_id: str) -> int:
        """How many were applied."""
        with self._open(agent_id) as vault:
            known = vault.redactions
            return sum(row.applied for row in vault.redaction_rows()) if len(known) else 0

    def pending_redactions(self) -> list[PendingRedaction]:
        """Purges of all agents that wait, those first that are applied first."""
        with as_remote():
            return self._redacting.pending()

    def confirm_redaction(self, agent_id: str, redaction_id: str) -> RemoteRedaction:
        """Apply a purge that waits, now. One that was applied is no error. Raises UnknownThere."""
        with as_remote():
            return self._redacting.confirm(agent_id, redaction_id)

    def refuse_redaction(self, agent_id: str, redaction_id: str) -> bool:
        """A purge that waits is never applied, unless its owner confirms it when it is sent again; False when none
        waits there."""
        with as_remote():
            return self._redacting.refuse(agent_id, redaction_id)

    def due_redactions(self) -> list[tuple[str, str]]:
        """Agents and the ids of purges of theirs that have waited long enough, or were begun and not finished."""
        with as_remote():
            return self._redacting.due()

    def apply_redaction(self, agent_id: str, redaction_id: str) -> None:
        """Apply one of those."""
        with as_remote():
            self._redacting.apply(agent_id, redaction_id)

    def unfinished_erasures(self) -> list[str]:
        """Ids of agents that were purged whole and of which something may be left."""
        with as_remote():
            return self.roster.erased.unfinished()

    def finish_erasure(self, agent_id: str) -> None:
        """Destroy what is left of one of those."""
        with as_remote():
            self._erasing.finish(agent_id)
