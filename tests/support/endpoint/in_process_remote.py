"""A tenant of an endpoint in this process as a remote, without the transport of the HTTP server."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_vault.remote.remote_contract import (
    FileKey,
    RemoteAgent,
    RemoteBundle,
    RemoteDescription,
    RemoteHead,
    RemoteRedaction,
    RemoteSequence,
    RemoteVerification,
)


class InProcessRemote:
    """A `Remote`. Closing it closes the space."""

    def __init__(self, space: TenantSpace, about: RemoteDescription) -> None:
        self.space = space
        self._about = about

    def about(self) -> RemoteDescription:
        return self._about

    def agents(self) -> list[RemoteAgent]:
        return self.space.agents()

    def agent(self, agent_id: str) -> RemoteAgent:
        return self.space.agent(agent_id)

    def register(self, agent_id: str, name: str, runtime: str) -> RemoteAgent:
        return self.space.register(agent_id, name, runtime)

    def remove_agent(self, agent_id: str) -> None:
        self.space.remove_agent(agent_id)

    def push(self, agent_id: str, bundle: RemoteBundle, *, machine: str = "") -> RemoteHead:
        return self.space.push(agent_id, bundle, machine=machine)

    def missing(self, agent_id: str, files: Sequence[FileKey], *, read: bool = False) -> list[FileKey]:
        lacking = {*self.space.missing_leaves(agent_id, [file.leaf.digest for file in files], read=read)}
        return [file for file in files if file.leaf.digest in lacking]

    def damaged_states(self, agent_id: str, *, read: bool = False) -> list[int]:
        return self.space.damaged_states(agent_id, read=read)

    def put_object(self, agent_id: str, file: FileKey, data: bytes) -> None:
        self.space.put_object(agent_id, file.sha256, data, salt=file.leaf.salt)

    def put_keys(self, agent_id: str, document: JsonObject) -> None:
        self.space.put_keys(agent_id, document)

    def put_signatures(self, agent_id: str, signatures: Iterable[tuple[int, JsonObject]]) -> int:
        return self.space.put_signatures(agent_id, signatures)

    def raise_epoch(self, agent_id: str, expected: int, *, machine: str = "") -> int:
        return self.space.raise_epoch(agent_id, expected, machine=machine)

    def redactions(self, agent_id: str) -> list[JsonObject]:
        return self.space.redactions(agent_id)

    def redact(self, agent_id: str, document: JsonObject, *, owner: str | None = None) -> RemoteRedaction:
        """Take a redaction. There are no tokens here, so any `owner` confirms it."""
        return self.space.redact(agent_id, document, confirmed=owner is not None)

    def keys(self, agent_id: str) -> JsonObject | None:
        return self.space.keys(agent_id)

    def sequences(self, agent_id: str) -> Iterator[RemoteSequence]:
        return self.space.sequences(agent_id)

    def snapshot(self, agent_id: str, number: int | None = None) -> RemoteBundle:
        return self.space.snapshot(agent_id, number)

    def deltas(self, agent_id: str, since: int) -> Iterator[RemoteBundle]:
        return self.space.deltas(agent_id, since)

    def object(self, agent_id: str, sha256: str) -> bytes:
        return self.space.object(agent_id, sha256)

    def verify(self, agent_id: str, state: State, *, bodies: int, chance: random.Random) -> RemoteVerification:
        return self.space.verify(agent_id, state, bodies=bodies, chance=chance)

    def close(self) -> None:
        self.space.close()
