"""Reading of a tenant's agents: snapshots, deltas, artifacts, single items."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.states.agent_state import State
from lifeboat_endpoint.service import state_bundles
from lifeboat_endpoint.service.bundle_receiver import make_remote_head
from lifeboat_endpoint.service.remote_errors import as_remote
from lifeboat_endpoint.service.space_parts import SpaceParts
from lifeboat_vault.errors import RemoteBusy, RemoteRefused, UnknownAtRemote
from lifeboat_vault.legacy.legacy_state import legacy_view
from lifeboat_vault.remote import read_back
from lifeboat_vault.remote.remote_contract import RemoteBundle, RemoteHead, RemoteSequence, RemoteVerification
from lifeboat_vault.vault import Vault

Made = TypeVar("Made")
_TRIES = 3


class SpaceFetching(SpaceParts):
    """The part of `TenantSpace` that reads."""

    def head(self, agent_id: str) -> RemoteHead | None:
        row = self._receiver.open_row(agent_id)
        with as_remote():
            head = self._vault(row).head()
        return None if head is None else make_remote_head(head, row)

    def keys(self, agent_id: str) -> JsonObject | None:
        with as_remote():
            return self.roster.keys_of(agent_id)

    def sequences(self, agent_id: str) -> Iterator[RemoteSequence]:
        with self._open(agent_id) as vault:
            return iter([state_bundles.to_remote_sequence(row) for row in vault.sequences()])

    def snapshot(self, agent_id: str, number: int | None = None) -> RemoteBundle:
        keys = self.keys(agent_id)
        return self._steadily(agent_id, lambda vault: state_bundles.make_snapshot(vault.state(number), keys))

    def delta(self, agent_id: str, base: int, number: int) -> RemoteBundle:
        """Return the delta between two kept sequences."""
        return self._steadily(agent_id, lambda vault: state_bundles.make_delta(vault, base, number))

    def deltas(self, agent_id: str, since: int) -> Iterator[RemoteBundle]:
        with self._open(agent_id) as vault:
            steps = state_bundles.list_steps(vault, since)
        for base, number in steps:
            yield self.delta(agent_id, base, number)

    def object(self, agent_id: str, sha256: str) -> bytes:
        found = self._steadily(agent_id, lambda vault: vault.artifacts.read(check_sha256(sha256)))
        if found is None:
            raise UnknownAtRemote("unknown artifact")
        return found

    def read(self, agent_id: str, number: int, entries: Sequence[str], records: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of entries (by path), then the lines of records (by id) of one sequence; None for missing
        items."""
        return self._steadily(agent_id, lambda vault: state_bundles.read_items(vault.state(number), entries, records))

    def verify(self, agent_id: str, state: State, *, bodies: int, chance: random.Random) -> RemoteVerification:
        """As `Remote.verify`, reading the files of this endpoint."""
        sample = read_back.choose_sample(state, bodies, chance)
        with self._open(agent_id) as vault:
            head = vault.head()
            result = read_back.compare_head(
                state.sequence, None if head is None else state_bundles.to_remote_sequence(head)
            )
            if head is not None and head.number == state.sequence.number:
                found = state_bundles.read_back(vault.state(head.number), *sample.names())
                read_back.compare_bodies(sample, found, result)
        return result

    def _steadily(self, agent_id: str, make: Callable[[Vault], Made]) -> Made:
        """Return what `make` makes of a vault, and call it again if a purge was applied meanwhile.

        Raises AgentErased for an agent that was purged completely meanwhile, RemoteBusy.
        """
        for _ in range(_TRIES):
            with self._open(agent_id) as vault:
                before = vault.redactions
            try:
                with self._open(agent_id) as vault:
                    made = make(vault)
            # The error may come from a purge in between.
            except LifeboatError:
                if self._is_as_before(agent_id, before):
                    raise
                continue
            if self._is_as_before(agent_id, before):
                return made
        raise RemoteBusy("the agent is being purged", retry_after=1.0)

    def _is_as_before(self, agent_id: str, before: Redactions) -> bool:
        with self._open(agent_id) as vault:
            return vault.redactions is before

    def older_view(self, agent_id: str, number: int) -> RemoteBundle:
        """Return a sequence for clients that know neither successors nor cuts (see `legacy.view`)."""
        return self._steadily(
            agent_id, lambda vault: state_bundles.make_snapshot(legacy_view(vault.state(number)), None)
        )


def is_sha256(text: str) -> bool:
    return len(text) == 64 and not text.strip("0123456789abcdef")


def check_sha256(text: str) -> str:
    """Return the text if it is a SHA-256. Raises RemoteRefused."""
    if not is_sha256(text):
        raise RemoteRefused("the SHA-256 of a large artifact must be given in hexadecimal")
    return text
