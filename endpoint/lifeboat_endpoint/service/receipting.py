"""What an endpoint signs about a purge when nothing is left to do, and keeps for whoever asks again."""

from __future__ import annotations

from lifeboat_alf import codec, times
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.redactions import Redaction
from lifeboat_alf.seams.clock import Clock
from lifeboat_endpoint.service import redacting_statements as sql
from lifeboat_endpoint.service.purging import KIND, Purging
from lifeboat_endpoint.service.tables import Keys, opened
from lifeboat_keys import receipts
from lifeboat_keys.receipts import Audit, Head, VaultReceipt
from lifeboat_vault.store.protocols import MetadataStore
from lifeboat_vault.vault import Vault

_RECEIPT = "purge receipt"


class Receipts:
    """Of one tenant and one thread. Changes happen in the caller's transaction."""

    def __init__(self, metadata: MetadataStore, keys: Keys, purging: Purging, clock: Clock) -> None:
        self._metadata = metadata
        self._keys = keys
        self._purging = purging
        self._clock = clock

    def find(self, agent_id: str, redaction_id: str) -> JsonObject | None:
        row = self._metadata.row(sql.RECEIPT, (agent_id, redaction_id))
        if row is None:
            return None
        receipt: JsonObject = codec.decode(opened(self._keys, None, _RECEIPT, row[0]))
        return receipt

    def keep(self, agent_id: str, redaction_id: str, receipt: JsonObject) -> None:
        self._metadata.execute(sql.DROP_RECEIPT, (agent_id, redaction_id))
        self._metadata.execute(sql.ADD_RECEIPT, (agent_id, redaction_id, self._sealed(receipt)))

    def reseal(self) -> None:
        """Everything under the current key."""
        for agent_id, redaction_id, document in list(self._metadata.rows(sql.RECEIPTS)):
            receipt = codec.decode(opened(self._keys, None, _RECEIPT, document))
            self._metadata.execute(sql.SET_RECEIPT, (self._sealed(receipt), agent_id, redaction_id))

    def of_vault(self, vault: Vault, redaction: Redaction, leaves: int, objects: int) -> VaultReceipt:
        """Of an agent that stays: of what is named so many `leaves` were there, and `objects` lost their bytes. All of
        it is looked for again."""
        head, (number, digest) = vault.head(), vault.audit_end()
        remaining = vault.remaining(redaction)
        return self._signed(
            redaction,
            applied=sum(row.applied for row in vault.redaction_rows()),
            leaves=leaves,
            objects=objects,
            remaining=remaining,
            head=None if head is None else Head(head.number, head.digest.hex()),
            audit=Audit(number, digest),
            found={"leaves": len(redaction.leaves), "hits": remaining},
        )

    def of_agent(self, redaction: Redaction, objects: int, remaining: int) -> VaultReceipt:
        """Of an agent that was purged whole: its head and its audit are gone with it."""
        return self._signed(
            redaction, applied=1, leaves=0, objects=objects, remaining=remaining, found={"hits": remaining}
        )

    def _signed(
        self,
        redaction: Redaction,
        *,
        applied: int,
        leaves: int,
        objects: int,
        remaining: int,
        found: dict[str, int],
        head: Head | None = None,
        audit: Audit | None = None,
    ) -> VaultReceipt:
        made = VaultReceipt(
            vault_id=self._purging.vault_id,
            kind=KIND,
            name=KIND,
            agent_id=redaction.agent_id,
            redaction_id=redaction.id,
            redaction_digest=redaction.digest.hex(),
            applied=applied,
            leaves=leaves,
            objects=objects,
            remaining=remaining,
            completed_at=times.to_text(self._clock.now()),
            head=head,
            audit=audit,
            found=found,
        )
        return receipts.sign_with_endpoint(made, self._purging.key())

    def _sealed(self, receipt: JsonObject) -> bytes:
        return self._keys.sealer().seal(_RECEIPT, codec.encode(receipt))
