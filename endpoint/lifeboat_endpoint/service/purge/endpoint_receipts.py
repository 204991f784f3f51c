"""Receipts of purges, which an endpoint signs when nothing is left to do, and keeps for later requests."""

from __future__ import annotations

from dataclasses import replace

from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_endpoint.service.purge import purge_statements as sql
from lifeboat_endpoint.service.purge.purge_policy import KIND
from lifeboat_endpoint.service.tenant_service import TenantService
from lifeboat_endpoint.service.tenant_tables import open_sealed
from lifeboat_keys.signed import vault_receipts
from lifeboat_keys.signed.vault_receipts import ReceiptAudit, ReceiptHead, VaultReceipt
from lifeboat_vault.vault import Vault

_RECEIPT = "purge receipt"


class EndpointReceipts(TenantService):
    """The receipts of one tenant. Belongs to one thread; changes happen in the caller's transaction."""

    def find(self, agent_id: str, redaction_id: str) -> JsonObject | None:
        row = self._metadata.row(sql.RECEIPT, (agent_id, redaction_id))
        if row is None:
            return None
        receipt: JsonObject = json_codec.decode_json(open_sealed(self._keys, None, _RECEIPT, row[0]))
        return receipt

    def keep(self, agent_id: str, redaction_id: str, receipt: JsonObject) -> None:
        self._metadata.execute(sql.DROP_RECEIPT, (agent_id, redaction_id))
        self._metadata.execute(sql.ADD_RECEIPT, (agent_id, redaction_id, self._sealed(receipt)))

    def reseal(self) -> None:
        """Seal all receipts under the current key."""
        for agent_id, redaction_id, document in list(self._metadata.rows(sql.RECEIPTS)):
            receipt = json_codec.decode_json(open_sealed(self._keys, None, _RECEIPT, document))
            self._metadata.execute(sql.SET_RECEIPT, (self._sealed(receipt), agent_id, redaction_id))

    def sign(
        self, redaction: Redaction, vault: Vault | None, *, leaves: int, objects: int, remaining: int
    ) -> VaultReceipt:
        """Sign a receipt for a purge. `vault` is that of an agent that stays, None for one that is gone.

        `leaves` is how many of the named leaves existed, `objects` how many objects lost their bytes, and `remaining`
        how much of it a new search found.
        """
        made = VaultReceipt(
            vault_id=self._purging.vault_id,
            kind=KIND,
            name=KIND,
            agent_id=redaction.agent_id,
            redaction_id=redaction.id,
            redaction_digest=redaction.digest.hex(),
            applied=1,
            leaves=leaves,
            objects=objects,
            remaining=remaining,
            completed_at=times.to_text(self._clock.now()),
            found={"hits": remaining},
        )
        if vault is not None:
            head = vault.head()
            made = replace(
                made,
                applied=sum(row.applied for row in vault.redaction_rows()),
                head=None if head is None else ReceiptHead(head.number, head.digest.hex()),
                audit=ReceiptAudit(*vault.audit_end()),
                found={"leaves": len(redaction.leaves), "hits": remaining},
            )
        return vault_receipts.sign_with_endpoint(made, self._purging.key())

    def _sealed(self, receipt: JsonObject) -> bytes:
        return self._keys.sealer().seal(_RECEIPT, json_codec.encode_json(receipt))
