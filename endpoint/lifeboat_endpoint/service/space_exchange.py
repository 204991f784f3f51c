"""Exchange of a tenant's agents with other formats."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from lifeboat_alf.states.agent_state import State
from lifeboat_endpoint.service import given_state, memory_import
from lifeboat_endpoint.service.given_state import GivenState, GivingMark
from lifeboat_endpoint.service.memory_import import Additions
from lifeboat_endpoint.service.remote_errors import as_bundle
from lifeboat_endpoint.service.space_parts import SpaceParts
from lifeboat_vault.errors import DraftInvalid, RemoteBusy
from lifeboat_vault.vault import SequenceRow, Vault

_TRIES = 3


class SpaceExchange(SpaceParts):
    """The part of `TenantSpace` for other formats."""

    @contextlib.contextmanager
    def given(self, agent_id: str) -> Iterator[tuple[State, GivingMark]]:
        """Yield the newest state of an agent without what waiting redactions name, and a mark for `check_given`.

        An agent without history has an empty state.
        """
        with self._open(agent_id) as vault:
            mark = given_state.mark_given_state(vault)
            waiting = [row for row in given_state.list_effective_redactions(vault) if not row.applied]
            state = memory_import.state_at(vault, vault.head())
            yield (GivenState(state, waiting) if waiting else state), mark

    def check_given(self, agent_id: str, mark: GivingMark) -> None:
        """Check that what was read may still be sent. Raises AgentErased, UnknownAtRemote, RemoteBusy after a purge in
        between."""
        with self._open(agent_id) as vault:
            if not given_state.is_as_marked(vault, mark):
                raise RemoteBusy("a part of the agent was purged during the request", retry_after=1.0)

    def add_to(self, agent_id: str, size: int, make: Callable[[State], Additions]) -> SequenceRow | None:
        """Append what `make` returns for the newest state, all or nothing; return None if it returns nothing.

        `make` is called again if the vault changed meanwhile. `size` bytes are checked against the quota, and so is the
        present memories. Raises WriterPresent, RemoteFull, RemoteTooLarge, RemoteRefused for an invalid memory,
        RemoteBusy.
        """
        self._quota.check(size)
        for _ in range(_TRIES):
            with self._open(agent_id) as vault, as_bundle():
                memory_import.check_importable(vault)
                base, purges = vault.head(), len(vault.redactions)
                before = memory_import.state_at(vault, base)
                additions = make(before)
                try:
                    made = memory_import.add_memories(
                        vault,
                        self.roster.get(agent_id),
                        base,
                        before,
                        additions,
                        purges=purges,
                        clock=self._clock,
                        check_room=self._quota.check,
                    )
                except DraftInvalid:
                    if vault.head() == base and len(vault.redactions) == purges:
                        raise
                    continue
                self._count(agent_id, vault)
                return made
        raise RemoteBusy("other machines are writing this agent at the same time", retry_after=1.0)

    def _count(self, agent_id: str, vault: Vault) -> None:
        """Update the size of an agent. Raises AgentErased: a push to an agent that was purged meanwhile is not
        acknowledged."""
        with self._metadata.transaction():
            self.roster.count(self.roster.get(agent_id), vault.size())
