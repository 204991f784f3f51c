"""Find which records go together over a whole history: chains of successors, and derived records.

Every version of a record counts: a record that ever named a predecessor stays in its chain.
"""

from __future__ import annotations

from collections.abc import Iterable

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.effective_view import root_of

DERIVED_FROM = "derived_from"
_SUPERSEDES, _DERIVED = b"supersedes", DERIVED_FROM.encode()


class RecordKinship:
    """Chains and derivations of records. Memory grows with the ids of a history."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self._parent: dict[str, str] = {}
        self._linked: set[str] = set()
        self._sources: dict[str, set[str]] = {}
        self._members: dict[str, list[str]] = {}

    def add(self, record_id: str, line: bytes) -> None:
        """Add one version of a record."""
        self.known.add(record_id)
        if _SUPERSEDES in line or _DERIVED in line:
            self._add(record_id, json_codec.decode_json(line))

    def _add(self, record_id: str, record: JsonObject) -> None:
        if record.get("supersedes"):
            target = str(record["supersedes"])
            self._linked |= {record_id, target}
            self._parent[root_of(self._parent, record_id)] = root_of(self._parent, target)
            self._members.clear()
        related = record.get("related_records")
        for link in related if isinstance(related, list) else []:
            if isinstance(link, dict) and link.get("relation") == DERIVED_FROM and link.get("id"):
                self._sources.setdefault(record_id, set()).add(str(link["id"]))

    def chain_of(self, record_id: str) -> list[str]:
        """Return all records of a history in a record's chain, including itself."""
        if not self._members:
            for each in sorted(self.known):
                self._members.setdefault(root_of(self._parent, each), []).append(each)
        return self._members.get(root_of(self._parent, record_id), [])

    def has_chain(self, record_id: str) -> bool:
        """Return whether a record ever superseded one or was superseded."""
        return record_id in self._linked

    def closure(self, record_ids: Iterable[str], *, chains: bool, derived: bool) -> tuple[set[str], set[str]]:
        """Return all records that go with the given ones, and the derived ones that stay because another source of
        theirs stays."""
        gone = set(record_ids)
        while True:
            before = len(gone)
            if chains:
                one_of_each = {root_of(self._parent, record_id): record_id for record_id in gone}
                gone.update(*map(self.chain_of, one_of_each.values()))
            orphans = self._derived(gone) if derived else {}
            gone |= {record_id for record_id, is_orphan in orphans.items() if is_orphan}
            if len(gone) == before:
                return gone, {record_id for record_id, is_orphan in orphans.items() if not is_orphan} - gone

    def _derived(self, gone: set[str]) -> dict[str, bool]:
        """Return for each record that was derived from a removed one whether it has no other source. Missing sources do
        not count."""
        return {
            record_id: (sources & self.known) <= gone
            for record_id, sources in self._sources.items()
            if not sources.isdisjoint(gone)
        }
