"""What is given away of an agent in another form than its own: nothing that somebody asked to have purged, whether or
not that was confirmed yet, and nothing any more once a purge came in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lifeboat_alf.redaction.redactions import WHOLE_AGENT, Redactions
from lifeboat_alf.states.agent_state import Entry, GoneRecord, Record, Sequence, State
from lifeboat_vault.bodies.vault_redactions import RedactionRow
from lifeboat_vault.vault import Vault


@dataclass(frozen=True, slots=True)
class GivingMark:
    """What an agent was when something of it was read: its vault, the purges that were known, and which of them were
    not refused."""

    vault: str
    known: Redactions
    counting: frozenset[str]


def mark_of(vault: Vault) -> GivingMark:
    return GivingMark(
        vault.id, vault.redactions, frozenset(row.redaction.id for row in list_effective_redactions(vault))
    )


def is_as_marked(vault: Vault, mark: GivingMark) -> bool:
    """Whether nothing was purged, and nobody asked for it, since then."""
    if vault.id != mark.vault:
        return False
    return vault.redactions is mark.known or mark_of(vault).counting == mark.counting


def list_effective_redactions(vault: Vault) -> list[RedactionRow]:
    """The purges that were applied or wait; not those that whoever owns the endpoint refused."""
    return [row for row in vault.redaction_rows() if not row.refused] if len(vault.redactions) else []


class GivenState:
    """A `State` without what purges name that wait. One of the whole agent leaves nothing."""

    def __init__(self, state: State, waiting: list[RedactionRow]) -> None:
        self._state = state
        self._nothing = any(row.redaction.scope == WHOLE_AGENT for row in waiting)
        self._ids = frozenset(each for row in waiting for each in row.redaction.record_ids)
        self._leaves = frozenset(leaf for row in waiting for leaf in row.redaction.leaves)

    @property
    def sequence(self) -> Sequence:
        return self._state.sequence

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return (entry for entry in self._state.entries(prefix) if self._gives_entry(entry))

    def entry(self, path: str) -> Entry | None:
        found = self._state.entry(path)
        return found if found is None or self._gives_entry(found) else None

    def body(self, path: str) -> bytes:
        if self.entry(path) is None:
            raise KeyError(path)
        return self._state.body(path)

    def records(self, partition: str | None = None) -> Iterator[Record]:
        return (record for record in self._state.records(partition) if self._gives_record(record))

    def record(self, record_id: str) -> Record | None:
        found = self._state.record(record_id)
        return found if found is None or self._gives_record(found) else None

    def gone(self) -> Iterator[GoneRecord]:
        return self._state.gone()

    @property
    def redactions(self) -> Redactions:
        return self._state.redactions

    def _gives_entry(self, entry: Entry) -> bool:
        return not self._nothing and entry.leaf.digest not in self._leaves

    def _gives_record(self, record: Record) -> bool:
        return not self._nothing and record.id not in self._ids and record.leaf.digest not in self._leaves
