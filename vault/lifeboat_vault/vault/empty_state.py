"""The state of an agent without history, as the base of its first state."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.states.agent_state import Entry, GoneRecord, Record, Sequence
from lifeboat_vault.vault.vault_creation import FIRST_EPOCH


class EmptyState:
    """The `State` of an agent without history."""

    def __init__(self, agent_id: str, known: Redactions) -> None:
        self._sequence = Sequence(agent_id, 0, None, FIRST_EPOCH, "", b"")
        self._known = known

    @property
    def sequence(self) -> Sequence:
        return self._sequence

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return iter(())

    def entry(self, path: str) -> Entry | None:
        return None

    def body(self, path: str) -> bytes:
        raise KeyError(path)

    def records(self, partition: str | None = None) -> Iterator[Record]:
        return iter(())

    def record(self, record_id: str) -> Record | None:
        return None

    def gone(self) -> Iterator[GoneRecord]:
        return iter(())

    @property
    def redactions(self) -> Redactions:
        return self._known
