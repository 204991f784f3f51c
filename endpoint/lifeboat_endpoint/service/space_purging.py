"""Purges of a tenant's agents."""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_endpoint.service.purge.purge_policy import PendingRedaction
from lifeboat_endpoint.service.remote_errors import as_remote
from lifeboat_endpoint.service.space_parts import SpaceParts
from lifeboat_vault.remote.remote_contract import RemoteRedaction


class SpacePurging(SpaceParts):
    """The part of `TenantSpace` that purges."""

    def redactions(self, agent_id: str) -> list[JsonObject]:
        """As `Remote.redactions`. Redactions that are due are applied first."""
        with as_remote():
            return self._redactions.held(agent_id)

    def redact(self, agent_id: str, document: JsonObject, *, confirmed: bool = False) -> RemoteRedaction:
        """As `Remote.redact`. With `confirmed` the owner has confirmed it, so it does not wait."""
        with as_remote():
            return self._redactions.take(agent_id, document, confirmed=confirmed)

    def purges(self, agent_id: str) -> int:
        """Return how many redactions were applied."""
        with self._open(agent_id) as vault:
            known = vault.redactions
            return sum(row.applied for row in vault.redaction_rows()) if len(known) else 0

    def pending_redactions(self) -> list[PendingRedaction]:
        """Return the waiting redactions of all agents in the order in which they are applied."""
        with as_remote():
            return self._redactions.pending()

    def confirm_redaction(self, agent_id: str, redaction_id: str) -> RemoteRedaction:
        """Apply a waiting redaction now. An applied one is not an error. Raises UnknownAtRemote."""
        with as_remote():
            return self._redactions.confirm(agent_id, redaction_id)

    def refuse_redaction(self, agent_id: str, redaction_id: str) -> bool:
        """Refuse a waiting redaction, unless its owner confirms it when it is sent again; return False if none
        waits."""
        with as_remote():
            return self._redactions.refuse(agent_id, redaction_id)

    def due_redactions(self) -> list[tuple[str, str]]:
        """Return agents and ids of redactions that have waited long enough, or that were begun and not finished."""
        with as_remote():
            return self._redactions.due()

    def apply_redaction(self, agent_id: str, redaction_id: str) -> None:
        """Apply a redaction that is due."""
        with as_remote():
            self._redactions.apply(agent_id, redaction_id)

    def unfinished_agent_purges(self) -> list[str]:
        """Return ids of agents that were purged completely and of which data may be left."""
        with as_remote():
            return self.roster.purged.unfinished()

    def finish_agent_purge(self, agent_id: str) -> None:
        """Destroy what is left of a purged agent."""
        with as_remote():
            self._whole_agents.finish(agent_id)
