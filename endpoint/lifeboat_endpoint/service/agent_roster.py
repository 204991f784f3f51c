"""The agents of one tenant, and what is known about them outside of their vaults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_endpoint.service import tenant_statements as sql
from lifeboat_endpoint.service.purge.purged_agent_rows import PurgedAgents
from lifeboat_endpoint.service.tenant_tables import TenantKeys, open_sealed
from lifeboat_vault import errors
from lifeboat_vault.store.store_protocols import MetadataStore, Row

_AGENT_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
_FACTS = "agent facts"
_KEYS = "agent keys"
_PAGE = 200


class AgentFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Sealed facts about an agent.

    `machine` wrote last. `held` is {reason, previous}. `accepted` is the newest sequence when the owner last accepted a
    loss. `lacks` is the sequence that only another service has, if the history here began with changes of it.
    """

    name: str
    runtime: str
    machine: str = ""
    held: JsonObject | None = None
    accepted: int | None = None
    lacks: int | None = None


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent in tenant.db. `vault` is the id of its vault, None for a sealed agent; `bytes` as counted last."""

    id: str
    vault: str | None
    created_at: str
    bytes: int
    facts: AgentFacts

    @property
    def sealed(self) -> bool:
        return self.vault is None


def check_id(agent_id: str) -> str:
    """Return an id that can be the name of a folder. Raises RemoteRefused."""
    if not _AGENT_ID.fullmatch(agent_id):
        raise errors.RemoteRefused("an agent id must consist of 1 to 64 letters, digits, dashes and underscores")
    return agent_id


class Roster:
    """Rows of agents. Changes happen in the caller's transaction, unless a method says otherwise."""

    def __init__(self, metadata: MetadataStore, keys: TenantKeys) -> None:
        self._metadata = metadata
        self._keys = keys
        self.purged = PurgedAgents(metadata, keys)

    def find(self, agent_id: str) -> AgentRow | None:
        row = self._metadata.row(sql.AGENT, (agent_id,))
        return None if row is None else self._agent(row)

    def get(self, agent_id: str) -> AgentRow:
        """Return the row of an agent. Raises UnknownAtRemote, AgentErased."""
        found = self.find(agent_id)
        if found is None:
            raise self._absent(agent_id)
        return found

    def _absent(self, agent_id: str) -> errors.UnknownAtRemote:
        """Return the error for a missing agent. Raises AgentErased if it was purged completely."""
        self.purged.check(agent_id)
        return errors.UnknownAtRemote(f"unknown agent {agent_id}")

    def page(self, after: str = "", limit: int = _PAGE) -> list[AgentRow]:
        """Return up to `limit` agents with larger ids than `after`."""
        return [self._agent(row) for row in self._metadata.rows(sql.AGENTS, (after, limit))]

    def all(self) -> Iterator[AgentRow]:
        after = ""
        while found := self.page(after):
            yield from found
            after = found[-1].id

    def ids(self) -> list[str]:
        return [str(found) for (found,) in self._metadata.rows(sql.AGENT_IDS)]

    def counted(self) -> int:
        """Return how many agents there are."""
        row = self._metadata.row(sql.AGENTS_COUNTED)
        return int(row[0]) if row else 0

    def add(self, row: AgentRow) -> None:
        """Add a row, in the caller's transaction."""
        self._metadata.execute(sql.ADD_AGENT, (row.id, row.vault, row.created_at, row.bytes, self._sealed(row.facts)))

    def drop(self, agent_id: str) -> None:
        """Delete a row, in the caller's transaction."""
        self._metadata.execute(sql.DROP_AGENT, (agent_id,))

    def note(self, row: AgentRow, **facts: object) -> AgentRow:
        """Change facts, in the caller's transaction. Nothing is written without a change."""
        changed = msgspec.structs.replace(row.facts, **facts)
        if changed == row.facts:
            return row
        self._metadata.execute(sql.SET_FACTS, (self._sealed(changed), row.id))
        return replace(row, facts=changed)

    def count(self, row: AgentRow, size: int) -> AgentRow:
        """Set the size of an agent, in the caller's transaction."""
        self._metadata.execute(sql.SET_BYTES, (size, row.id))
        return replace(row, bytes=size)

    def keys_of(self, agent_id: str) -> JsonObject | None:
        """Return the document of an agent's wrapped keys. Raises UnknownAtRemote, AgentErased."""
        row = self._metadata.row(sql.AGENT, (agent_id,))
        if row is None:
            raise self._absent(agent_id)
        if row[5] is None:
            return None
        document: JsonObject = json_codec.decode_json(open_sealed(self._keys, agent_id, _KEYS, row[5]))
        return document

    def set_keys(self, agent_id: str, document: JsonObject) -> None:
        """Store the document of an agent's wrapped keys, in the caller's transaction."""
        sealed = self._keys.sealer(agent_id).seal(_KEYS, json_codec.encode_json(document))
        self._metadata.execute(sql.SET_KEYS, (sealed, agent_id))

    def reseal(self) -> None:
        """Seal all rows under the current keys, one agent per transaction."""
        for agent_id in self.ids():
            with self._metadata.transaction():
                row, keys = self.find(agent_id), self.keys_of(agent_id)
                if row is None:
                    continue
                self._metadata.execute(sql.SET_FACTS, (self._sealed(row.facts), agent_id))
                if keys is not None:
                    self.set_keys(agent_id, keys)

    def bytes_of_all(self) -> int:
        """Return the bytes of the tenant: agents as counted last, their keys, sealed files and heads, unfinished
        uploads."""
        row = self._metadata.row(sql.BYTES)
        return sum(int(part) for part in row) if row else 0

    def _sealed(self, facts: AgentFacts) -> bytes:
        return self._keys.sealer().seal(_FACTS, json_codec.encode_json(msgspec.to_builtins(facts)))

    def _agent(self, row: Row) -> AgentRow:
        agent_id, vault, created_at, size, facts, _ = row
        if vault is None:
            found = self._metadata.row(sql.BYTES_OF_SEALED, (agent_id,))
            size = found[0] if found else 0
        known = msgspec.json.decode(open_sealed(self._keys, None, _FACTS, facts), type=AgentFacts)
        return AgentRow(agent_id, vault, created_at, size, known)
