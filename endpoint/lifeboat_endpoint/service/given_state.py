"""The state of an agent as it is given to other formats: without anything that a redaction names, even an unconfirmed
one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lifeboat_alf.redaction.redactions import WHOLE_AGENT, Redactions
from lifeboat_alf.states.agent_state import Entry, Record, State, StateView
from lifeboat_vault.bodies.vault_redactions import RedactionRow
from lifeboat_vault.vault import Vault


@dataclass(frozen=True, slots=True)
class GivingMark:
    """What identifies the state that was read: the vault, its known redactions, and those that were not refused."""

    vault: str
    known: Redactions
    counting: frozenset[str]


def mark_given_state(vault: Vault) -> GivingMark:
    return GivingMark(
        vault.id, vault.redactions, frozenset(row.redaction.id for row in list_effective_redactions(vault))
    )


def is_as_marked(vault: Vault, mark: GivingMark) -> bool:
    """Whether nothing was purged since the mark was made, and no purge was requested."""
    if vault.id != mark.vault:
        return False
    return vault.redactions is mark.known or mark_given_state(vault).counting == mark.counting


def list_effective_redactions(vault: Vault) -> list[RedactionRow]:
    """Return the redactions that were applied or wait, without those that the operator refused."""
    return [row for row in vault.redaction_rows() if not row.refused] if len(vault.redactions) else []


class GivenState(StateView):
    """A `State` without what waiting redactions name. It is empty if one of them names the whole agent."""

    def __init__(self, state: State, waiting: list[RedactionRow]) -> None:
        super().__init__(state)
        self._nothing = any(row.redaction.scope == WHOLE_AGENT for row in waiting)
        self._ids = frozenset(each for row in waiting for each in row.redaction.record_ids)
        self._leaves = frozenset(leaf for row in waiting for leaf in row.redaction.leaves)

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

    def _gives_entry(self, entry: Entry) -> bool:
        return not self._nothing and entry.leaf.digest not in self._leaves

    def _gives_record(self, record: Record) -> bool:
        return not self._nothing and record.id not in self._ids and record.leaf.digest not in self._leaves
