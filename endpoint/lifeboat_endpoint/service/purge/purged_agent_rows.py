"""Agents that were purged completely: the rows that remain of them, with the signed redaction and the receipt."""

from __future__ import annotations

from dataclasses import dataclass

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_endpoint.service.purge import purge_statements as sql
from lifeboat_endpoint.service.tenant_tables import TenantKeys, open_sealed
from lifeboat_vault import errors
from lifeboat_vault.store.store_protocols import MetadataStore, Row

_DOCUMENT, _RECEIPT = "erased redaction", "erased receipt"


@dataclass(frozen=True, slots=True)
class PurgedAgentRow:
    """An agent that was purged completely. `document` is the redaction.

    `receipt` is None until everything is destroyed. `trial`: the agent was made to test the endpoint.
    """

    agent_id: str
    redaction_id: str
    time: str
    trial: bool
    document: JsonObject
    receipt: JsonObject | None


class PurgedAgents:
    """The purged agents of one tenant. Changes happen in the caller's transaction."""

    def __init__(self, metadata: MetadataStore, keys: TenantKeys) -> None:
        self._metadata = metadata
        self._keys = keys

    def find(self, agent_id: str) -> PurgedAgentRow | None:
        row = self._metadata.row(sql.ERASED, (agent_id,))
        return None if row is None else self._row(row)

    def check(self, agent_id: str) -> None:
        """Raise AgentErased if the agent was purged completely."""
        found = self.find(agent_id)
        if found is not None:
            raise errors.AgentErased(
                "the whole agent was purged, and the endpoint no longer accepts it", redaction=found.document
            )

    def unfinished(self) -> list[str]:
        """Return ids of agents of which data may be left."""
        return [str(found) for (found,) in self._metadata.rows(sql.UNFINISHED)]

    def add(self, agent_id: str, redaction: Redaction, time: str, *, trial: bool) -> None:
        sealed = self._sealed(_DOCUMENT, redaction.to_json())
        self._metadata.execute(sql.ADD_ERASED, (agent_id, redaction.id, time, int(trial), sealed))

    def finish(self, agent_id: str, receipt: JsonObject) -> None:
        self._metadata.execute(sql.SET_ERASED_RECEIPT, (self._sealed(_RECEIPT, receipt), agent_id))

    def sign_again(self, agent_id: str, redaction: Redaction) -> None:
        """Store another signature of the same redaction."""
        self._metadata.execute(sql.SET_ERASED_DOCUMENT, (self._sealed(_DOCUMENT, redaction.to_json()), agent_id))

    def drop(self, agent_id: str) -> None:
        self._metadata.execute(sql.DROP_ERASED, (agent_id,))

    def reseal(self) -> None:
        """Seal all rows under the current key."""
        for row in list(self._metadata.rows(sql.ALL_ERASED)):
            found = self._row(row)
            receipt = None if found.receipt is None else self._sealed(_RECEIPT, found.receipt)
            self._metadata.execute(sql.SET_ERASED, (self._sealed(_DOCUMENT, found.document), receipt, found.agent_id))

    def _sealed(self, kind: str, document: JsonObject) -> bytes:
        return self._keys.sealer().seal(kind, json_codec.encode_json(document))

    def _row(self, row: Row) -> PurgedAgentRow:
        agent_id, redaction_id, time, trial, document, receipt = row
        redaction = json_codec.decode_json(open_sealed(self._keys, None, _DOCUMENT, document))
        told = None if receipt is None else json_codec.decode_json(open_sealed(self._keys, None, _RECEIPT, receipt))
        return PurgedAgentRow(agent_id, redaction_id, time, bool(trial), redaction, told)
