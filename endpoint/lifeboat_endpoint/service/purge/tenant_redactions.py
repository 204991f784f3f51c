"""Redactions of one tenant's agents: hold them, apply them when they are due, sign receipts, or refuse them."""

from __future__ import annotations

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import WHOLE_AGENT, Redaction
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_endpoint.service.agent_roster import AgentRow
from lifeboat_endpoint.service.purge import purge_statements as sql
from lifeboat_endpoint.service.purge import waiting_redactions
from lifeboat_endpoint.service.purge.crypto_shredding import CryptoShredding
from lifeboat_endpoint.service.purge.endpoint_receipts import EndpointReceipts
from lifeboat_endpoint.service.purge.purge_policy import PURGED, REFUSED, PendingRedaction
from lifeboat_endpoint.service.purge.purged_agent_rows import PurgedAgentRow
from lifeboat_endpoint.service.purge.waiting_redactions import WaitingRedactions
from lifeboat_endpoint.service.purge.whole_agent_purge import WholeAgentPurge
from lifeboat_endpoint.service.tenant_service import TenantResources, TenantService
from lifeboat_endpoint.service.uploads import Uploads
from lifeboat_endpoint.tenancy.callers import PURGE
from lifeboat_vault.errors import AgentErased, PurgeRefused, RemoteDenied, RemoteRefused, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import TRIAL, RemoteRedaction
from lifeboat_vault.vault import Vault
from lifeboat_vault.vault.vault_purging import audit_record


class TenantRedactions(TenantService):
    """The redactions of one tenant. Belongs to one thread."""

    def __init__(self, resources: TenantResources, uploads: Uploads, whole_agents: WholeAgentPurge) -> None:
        super().__init__(resources)
        self._uploads = uploads
        self._whole_agents = whole_agents
        self._waiting = WaitingRedactions(resources)
        self._receipts = EndpointReceipts(resources)
        self._shredding = CryptoShredding(resources) if resources.place.leaves_remains else None

    # Requests of machines ---------------------------------------------------------------------------------------

    def held(self, agent_id: str) -> list[JsonObject]:
        """As `Remote.redactions`, without those that were refused here. Raises UnknownAtRemote."""
        for _, redaction_id in self.due(agent_id):
            self.apply(agent_id, redaction_id)
        purged = self._roster.purged.find(agent_id)
        if purged is not None:
            return [purged.document]
        row = self._roster.get(agent_id)
        if row.vault is None:
            return []
        return [each.redaction.to_json() for each in self._vault(row).redaction_rows() if not each.refused]

    def take(self, agent_id: str, document: object, *, confirmed: bool) -> RemoteRedaction:
        """As `Remote.redact`. Raises UnknownAtRemote, RemoteDenied, RemoteRefused, AgentErased."""
        purged = self._roster.purged.find(agent_id)
        if purged is not None:
            return self._purged_again(purged, waiting_redactions.redaction_of(document, agent_id), confirmed=confirmed)
        row = self._roster.get(agent_id)
        redaction = waiting_redactions.redaction_of(document, agent_id)
        if row.vault is None:
            return self._take_sealed(row, redaction, confirmed=confirmed)
        return self._take(row, self._vault(row), redaction, confirmed=confirmed)

    def _take(self, row: AgentRow, vault: Vault, redaction: Redaction, *, confirmed: bool) -> RemoteRedaction:
        known = waiting_redactions.find_redaction(vault, redaction.id)
        # Unknown: its signer must have written the agent.
        if known is None:
            waiting_redactions.check_signer(vault, redaction, confirmed=confirmed)
        elif known.redaction.digest != redaction.digest:
            raise RemoteRefused("a different purge already has this id")
        else:
            waiting_redactions.sign_again(vault, known.redaction, redaction, confirmed=confirmed)
        if known is not None and known.applied:
            return self._applied_before(row, vault, redaction)
        # Only the owner may apply a redaction that was refused.
        if known is not None and known.refused and not confirmed:
            raise PurgeRefused("the operator of the endpoint refused this purge")
        # Even a confirmed redaction waits if it contradicts another one, because nothing would remain of the bytes.
        if known is None and waiting_redactions.is_contested(vault, redaction):
            confirmed = False
        if confirmed or row.facts.runtime == TRIAL or waiting_redactions.is_nothing_there(vault, redaction):
            return self._apply(row, vault, redaction)
        if known is None:
            return RemoteRedaction(redaction.id, self._waiting.wait(row, vault, redaction))
        return RemoteRedaction(redaction.id, known.waits_until)

    def _take_sealed(self, row: AgentRow, redaction: Redaction, *, confirmed: bool) -> RemoteRedaction:
        """Purge a sealed agent completely. Its own machines purge parts of it, because the endpoint cannot read it."""
        if redaction.scope != WHOLE_AGENT:
            raise RemoteRefused(f"the agent {row.id} is sealed, so only the machines of its user can purge parts of it")
        waiting_redactions.signer_of(redaction)
        if not confirmed and row.facts.runtime != TRIAL:
            raise RemoteDenied(
                "purging a whole sealed agent requires the second token, which has the scope `purge`", scope=PURGE
            )
        return RemoteRedaction(redaction.id, None, self._whole_agents.purge(row, redaction))

    def _purged_again(self, purged: PurgedAgentRow, redaction: Redaction, *, confirmed: bool) -> RemoteRedaction:
        if purged.redaction_id != redaction.id:
            raise AgentErased("the whole agent was purged", redaction=purged.document)
        held = redactions.decode_redaction(purged.document)
        is_same = held.digest == redaction.digest and held.signature != redaction.signature
        if is_same and (waiting_redactions.can_sign_purged_again(held, redaction) or confirmed):
            with self._metadata.transaction():
                self._roster.purged.sign_again(purged.agent_id, redaction)
        return RemoteRedaction(redaction.id, None, self._whole_agents.finish(purged.agent_id))

    def _applied_before(self, row: AgentRow, vault: Vault, redaction: Redaction) -> RemoteRedaction:
        receipt = self._receipts.find(row.id, redaction.id)
        if receipt is None:
            return self._apply(row, vault, redaction)
        return RemoteRedaction(redaction.id, None, receipt)

    # Decisions of the operator ----------------------------------------------------------------------------------

    def pending(self) -> list[PendingRedaction]:
        """Return the waiting redactions of all agents."""
        found = []
        for agent_id, redaction_id, applies_at in list(self._metadata.rows(sql.WAITING)):
            row = self._roster.find(agent_id)
            known = (
                None
                if row is None or row.vault is None
                else waiting_redactions.find_redaction(self._vault(row), redaction_id)
            )
            if row is not None and known is not None and known.waits_until is not None:
                found.append(PendingRedaction(agent_id, row.facts.name, known.redaction, applies_at))
        return found

    def confirm(self, agent_id: str, redaction_id: str) -> RemoteRedaction:
        """Apply a waiting or refused redaction now. Raises UnknownAtRemote."""
        purged = self._roster.purged.find(agent_id)
        if purged is not None and purged.redaction_id == redaction_id:
            return RemoteRedaction(redaction_id, None, self._whole_agents.finish(agent_id))
        row = self._roster.get(agent_id)
        vault = self._vault(row)
        known = waiting_redactions.find_redaction(vault, redaction_id)
        if known is None:
            raise _no_such(redaction_id)
        return self._take(row, vault, known.redaction, confirmed=True)

    def refuse(self, agent_id: str, redaction_id: str) -> bool:
        """Refuse a waiting redaction; return whether it was waiting. Raises UnknownAtRemote, AgentErased."""
        row = self._roster.get(agent_id)
        vault = self._vault(row)
        known = waiting_redactions.find_redaction(vault, redaction_id)
        if known is None:
            raise _no_such(redaction_id)
        done = vault.withdraw(redaction_id)
        with self._metadata.transaction():
            self._metadata.execute(sql.DROP_WAITING, (agent_id, redaction_id))
        if done:
            self._purging.note(REFUSED, redaction_id, {"agent": agent_id, "scope": known.redaction.scope})
        return done

    # Due redactions ---------------------------------------------------------------------------------------------

    def due(self, agent_id: str | None = None) -> list[tuple[str, str]]:
        """Return agents and redactions that have waited long enough, or that were begun and not finished."""
        rows = self._metadata.rows(*((sql.WAITING,) if agent_id is None else (sql.WAITING_OF, (agent_id,))))
        now = times.to_text(self._clock.now())
        found = [(agent, redaction_id) for agent, redaction_id, applies_at in rows if applies_at <= now]
        return found if found and self._purging.is_clock_trusted() else []

    def apply(self, agent_id: str, redaction_id: str) -> None:
        """Apply a redaction that is due. One that no longer waits is dropped; one that can never be applied is
        refused."""
        row = self._roster.find(agent_id)
        vault = None if row is None or row.vault is None else self._vault(row)
        known = None if vault is None else waiting_redactions.find_redaction(vault, redaction_id)
        if row is None or vault is None or known is None or known.refused:
            with self._metadata.transaction():
                self._metadata.execute(sql.DROP_WAITING, (agent_id, redaction_id))
            return
        try:
            self._apply(row, vault, known.redaction)
        except AgentErased:
            return  # another process was first
        except RemoteRefused:
            self.refuse(agent_id, redaction_id)

    def _apply(self, row: AgentRow, vault: Vault, redaction: Redaction) -> RemoteRedaction:
        """Apply a redaction. One that was begun is continued until the receipt is signed.

        There is no receipt while another process still reads what was destroyed.
        """
        if redaction.scope == WHOLE_AGENT:
            return RemoteRedaction(redaction.id, None, self._whole_agents.purge(row, redaction))
        leaves = self._begin(row, vault, redaction)
        reach_crash_point(CrashPoint.ENDPOINT_REDACTED)
        try:
            report = vault.redact(redaction)
        except RedactionInvalid as error:
            raise RemoteRefused(error.message) from error
        self._uploads.drop_of(row.id)
        # Another process still reads old bytes. The next contact or the maintenance continues.
        if not report.swept and not vault.settle():
            return RemoteRedaction(redaction.id, times.to_text(self._clock.now()))
        if self._shredding is not None:
            self._shredding.shred(row)
            # The key has changed, so the vault is opened again.
            vault = self._vault(row)
        receipt = self._receipts.sign(
            redaction, vault, leaves=leaves, objects=report.objects or leaves, remaining=vault.remaining(redaction)
        )
        document = receipt.to_json()
        self._purging.note(PURGED, redaction.id, audit_record(redaction, receipt.completed_at))
        with self._metadata.transaction():
            self._metadata.execute(sql.DROP_WAITING, (row.id, redaction.id))
            self._receipts.keep(row.id, redaction.id, document)
            self._roster.count(row, vault.size())
        self._metadata.compact()
        return RemoteRedaction(redaction.id, None, document)

    def _begin(self, row: AgentRow, vault: Vault, redaction: Redaction) -> int:
        """Return how many of the named leaves have old bytes, or had when it was begun first."""
        with self._metadata.transaction():
            before = self._metadata.row(sql.LEAVES, (row.id, redaction.id))
            leaves = max(0 if before is None else int(before[0]), vault.remaining(redaction))
            self._metadata.execute(sql.DROP_WAITING, (row.id, redaction.id))
            now = times.to_text(self._clock.now())
            self._metadata.execute(sql.ADD_WAITING, (row.id, redaction.id, now, leaves))
        return leaves

    def _vault(self, row: AgentRow) -> Vault:
        if row.vault is None:
            raise RemoteRefused(f"the agent {row.id} is sealed, so only the machines of its user can purge it")
        return self._vaults.get(row.id, row.vault)


def _no_such(redaction_id: str) -> UnknownAtRemote:
    return UnknownAtRemote(f"unknown purge {redaction_id}")
