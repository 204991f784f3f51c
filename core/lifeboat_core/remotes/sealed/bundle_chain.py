"""Which states the files of a log make up: a snapshot and the deltas after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lifeboat_core.remotes.sealed.log_head import LogRow
from lifeboat_vault.errors import UnknownAtRemote


class BundleChain:
    """The rows of a log by number."""

    def __init__(self, rows: Iterable[LogRow]) -> None:
        every = list(rows)
        self.snapshots = {row.number: row for row in every if row.is_snapshot}
        self.deltas = {row.number: row for row in every if not row.is_snapshot}
        self._reachable = _reachable(every)

    @property
    def numbers(self) -> list[int]:
        """The states that can be read, oldest first."""
        return sorted(self._reachable)

    def row(self, number: int) -> LogRow:
        """Return the row that identifies a state. Raises UnknownAtRemote."""
        if number not in self._reachable:
            raise UnknownAtRemote(f"sequence {number} was never pushed to the remote, or was thinned")
        return self.deltas.get(number) or self.snapshots[number]

    def path_to(self, number: int) -> list[LogRow]:
        """Return the files to read for a state: the nearest snapshot at or below it, then deltas. Raises
        UnknownAtRemote."""
        self.row(number)
        path: list[LogRow] = []
        while number not in self.snapshots:
            path.append(self.deltas[number])
            number = _below(self.deltas[number])
        return [self.snapshots[number], *reversed(path)]

    def path_between(self, since: int) -> list[LogRow]:
        """Return the deltas from the state `since` to the newest."""
        return [row for number in self.numbers if (row := self.deltas.get(number)) and _below(row) >= since]


def _reachable(every: Sequence[LogRow]) -> set[int]:
    found: set[int] = set()
    for row in sorted(every, key=lambda row: row.number):
        if row.is_snapshot or row.on in found:
            found.add(row.number)
    return found


def _below(delta: LogRow) -> int:
    assert delta.on is not None
    return delta.on
