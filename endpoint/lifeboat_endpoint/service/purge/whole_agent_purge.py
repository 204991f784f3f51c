"""Purge of a whole agent: one transaction hides it, then all its data and keys are destroyed.

An interrupted purge is continued by the next request about the agent or by the maintenance, until the receipt is
signed.
"""

from __future__ import annotations

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_endpoint.service.agent_roster import AgentRow
from lifeboat_endpoint.service.purge import purge_statements as sql
from lifeboat_endpoint.service.purge.endpoint_receipts import EndpointReceipts
from lifeboat_endpoint.service.purge.purge_policy import PURGED
from lifeboat_endpoint.service.sealed_files import SealedFileStore
from lifeboat_endpoint.service.tenant_service import TenantResources, TenantService
from lifeboat_endpoint.service.uploads import Uploads
from lifeboat_vault.errors import UnknownAtRemote
from lifeboat_vault.remote.remote_contract import TRIAL
from lifeboat_vault.vault.vault_purging import audit_record


class WholeAgentPurge(TenantService):
    """Purges whole agents of one tenant. Belongs to one thread."""

    def __init__(self, resources: TenantResources, uploads: Uploads, sealed_files: SealedFileStore) -> None:
        super().__init__(resources)
        self._uploads = uploads
        self._sealed_files = sealed_files
        self._receipts = EndpointReceipts(resources)

    def purge(self, row: AgentRow, redaction: Redaction) -> JsonObject:
        """Purge an agent and return the receipt. Raises AgentErased if another redaction was first.

        Concurrent pushes are refused, or destroyed with the agent.
        """
        reach_crash_point(CrashPoint.ENDPOINT_ERASED)
        with self._metadata.transaction():
            self._roster.get(row.id)
            now = times.to_text(self._clock.now())
            self._roster.purged.add(row.id, redaction, now, trial=row.facts.runtime == TRIAL)
            self._roster.drop(row.id)
            self.forget_purges(row.id)
        return self.finish(row.id)

    def forget_purges(self, agent_id: str) -> None:
        """Delete the rows about purges of an agent that is removed, in the caller's transaction."""
        self._metadata.execute(sql.DROP_WAITING_OF, (agent_id,))
        self._metadata.execute(sql.DROP_RECEIPTS_OF, (agent_id,))

    def finish(self, agent_id: str) -> JsonObject:
        """Return the receipt of a purged agent, after destroying what is left of it. Raises UnknownAtRemote."""
        found = self._roster.purged.find(agent_id)
        if found is None:
            raise UnknownAtRemote(f"unknown agent {agent_id}")
        if found.receipt is not None:
            return found.receipt
        objects = self._destroy(agent_id)
        if not (found.trial or self._keys.is_own(agent_id)):
            # Other agents use the key too, so it still opens remains of deleted rows until it is replaced.
            self._purging.shred_later()
        redaction = redactions.decode_redaction(found.document)
        receipt = self._receipts.sign(
            redaction, None, leaves=0, objects=objects, remaining=self._vaults.left_of(agent_id)
        )
        self._purging.note(PURGED, redaction.id, audit_record(redaction, receipt.completed_at))
        document = receipt.to_json()
        with self._metadata.transaction():
            self._roster.purged.finish(agent_id, document)
        return document

    def _destroy(self, agent_id: str) -> int:
        """Destroy the data of an agent; return how many objects, sealed files and bodies of uploads there were."""
        # Wait for the last writer before anything is destroyed.
        objects = self._vaults.end(agent_id)
        objects += self._uploads.drop_of(agent_id)
        with self._metadata.transaction():
            bodies = self._sealed_files.remove_agent(agent_id)
        for body in bodies:
            self._bodies.remove(body)
        self._vaults.remove(agent_id)
        self._keys.destroy_agent(agent_id)
        self._metadata.compact()
        return objects + len(bodies)
