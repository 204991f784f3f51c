"""Find the place of records that a delta appends: as stated, or by time for deltas of other tools."""

from __future__ import annotations

from collections.abc import Callable

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.delta_reader import DeltaReader, RecordLine
from lifeboat_alf.errors import BadDocument
from lifeboat_alf.memory import memory_records, partitions
from lifeboat_alf.states.agent_state import Partition, State


class StatedPlaces:
    """Places of appended records as the delta states them, one for every line that is not an update."""

    def __init__(self, delta: DeltaReader) -> None:
        self._places = delta.places()
        self.opened: list[Partition] = []

    def of(self, line: RecordLine) -> Callable[[], tuple[str, int]]:
        place = None if line.operation == "update" else next(self._places, None)

        def stated() -> tuple[str, int]:
            if place is None:
                raise BadDocument(
                    "the delta does not state the position of a new record", entry=archive_layout.MANIFEST
                )
            return place

        return stated


class ForeignPlaces:
    """Places of appended records by their time: after the last record of the partition that covers it.

    The reference client files a record by the day it is about and assumes that every partition is open.
    """

    def __init__(self, state: State, head: JsonObject) -> None:
        self._state = state
        self._partitions = partitions.from_head(head)
        self._lasts: dict[str, int] = {}
        self.opened: list[Partition] = []

    def of(self, line: RecordLine) -> Callable[[], tuple[str, int]]:
        return lambda: self._behind_the_last(self._partition(_moment(line)).file)

    def _partition(self, moment: str) -> Partition:
        known = [*self._partitions, *self.opened]
        found = partitions.locate_partition(moment, known)
        if found is None:
            found = partitions.plan_partition(moment, times.parse_time(moment), known, first_capture=True).partition
            self.opened.append(found)
        return found

    def _behind_the_last(self, file: str) -> tuple[str, int]:
        if file not in self._lasts:
            gone = (record.position for record in self._state.gone() if record.partition == file)
            here = (record.position for record in self._state.records(file))
            self._lasts[file] = max((*here, *gone), default=-1)
        self._lasts[file] += 1
        return file, self._lasts[file]


def _moment(line: RecordLine) -> str:
    temporal = memory_records.parse_record(line.line).get("temporal")
    moment = (temporal.get("observed_at") or temporal.get("created_at")) if isinstance(temporal, dict) else None
    try:
        return times.to_text(times.parse_time(moment))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise BadDocument(
            "the record has no valid time", entry=archive_layout.DELTA_RECORDS, line=line.number
        ) from None
