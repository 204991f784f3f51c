"""What a tenant's agents give to other systems, and take from them."""

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
    """The exchange of a `TenantSpace` with formats that are not its own."""

    @contextlib.contextmanager
    def given(self, agent_id: str) -> Iterator[tuple[State, GivingMark]]:
        """What an agent is now, without what somebody asked to have purged; and the mark by which `check_given` knows
        later whether it still may be given. An agent without history gives an empty state."""
        with self._open(agent_id) as vault:
            mark = given_state.mark_of(vault)
            waiting = [row for row in given_state.list_effective_redactions(vault) if not row.applied]
            state = memory_import.state_at(vault, vault.head())
            yield (GivenState(state, waiting) if waiting else state), mark

    def check_given(self, agent_id: str, mark: GivingMark) -> None:
        """Whether what was read may still be given out. Raises AgentErased, UnknownThere, RemoteBusy when a purge came
        in between."""
        with self._open(agent_id) as vault:
            if not given_state.is_as_marked(vault, mark):
                raise RemoteBusy("something of the agent was purged meanwhile", retry_after=1.0)

    def add_to(self, agent_id: str, size: int, make: Callable[[State], Additions]) -> SequenceRow | None:
        """Put what `make` makes of the newest state on top of it, all or nothing; None when it makes nothing. `make`
        is asked again when something came in between. `size` bytes count against the quota,
        and what is kept of them does.

        Raises WriterPresent, RemoteFull, RemoteTooLarge, RemoteRefused for what is no memory, RemoteBusy.
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
        raise RemoteBusy("others write this agent right now", retry_after=1.0)

    def _count(self, agent_id: str, vault: Vault) -> None:
        """What the agent takes. Raises AgentErased: nothing of one that was purged meanwhile is acknowledged."""
        with self._metadata.transaction():
            self.roster.count(self.roster.get(agent_id), vault.size())
