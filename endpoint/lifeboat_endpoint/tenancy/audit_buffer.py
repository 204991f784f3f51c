"""What happened often (reads, writes, uses of tokens) is gathered and written in batches: no request waits for a
disk because of the audit. What is alike within a batch becomes one row with a count."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError

SECONDS = 5.0
"""How long something may wait to be written."""
MOST = 500
"""How many rows make a batch."""
MOST_KEPT = 20_000
"""How many rows wait while nothing can be written (a full disk); more are only counted."""


@dataclass(slots=True)
class GatheredRow:
    """Alike things that happened: `first` and `last` are timestamps."""

    kind: str
    subject: str
    details: JsonObject
    first: str
    last: str
    count: int = 1

    def row_details(self) -> JsonObject:
        """What the audit's row says beside kind and subject."""
        return self.details if self.count == 1 else {**self.details, "count": self.count, "until": self.last}


@dataclass(slots=True)
class AuditBatch:
    """What is to be written: rows of the audit, when tokens were last used (by id), and how many rows were lost."""

    rows: dict[tuple[str, str, bytes], GatheredRow]
    uses: dict[str, str]
    lost: int = 0

    def add(self, row: GatheredRow) -> None:
        """Join a row with one that is alike."""
        key = (row.kind, row.subject, json_codec.encode_json(row.details))
        known = self.rows.get(key)
        if known is not None:
            known.first, known.last = min(known.first, row.first), max(known.last, row.last)
            known.count += row.count
        elif len(self.rows) < MOST_KEPT:
            self.rows[key] = row
        else:
            self.lost += row.count

    def __bool__(self) -> bool:
        return bool(self.rows or self.uses or self.lost)


def make_empty_batch() -> AuditBatch:
    return AuditBatch({}, {})


class AuditBuffer:
    """Gathers for many threads. `write` gets a batch, in the thread of whoever gave the last row of it or in one of its
    own, where `ended` is called last; a batch that it cannot write (LifeboatError) waits for the next time."""

    def __init__(
        self,
        write: Callable[[AuditBatch], None],
        ended: Callable[[], None] = lambda: None,
        *,
        seconds: float = SECONDS,
        most: int = MOST,
    ) -> None:
        self._write = write
        self._ended = ended
        self._seconds = seconds
        self._most = most
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._batch = make_empty_batch()
        self._timer: threading.Timer | None = None
        self._closed = False

    def add(self, kind: str, subject: str, details: JsonObject, time: str) -> None:
        with self._lock:
            self._batch.add(GatheredRow(kind, subject, details, time, time))
            is_full = len(self._batch.rows) % self._most == 0
            self._start_timer()
        if is_full:
            self._try()

    def used(self, token_id: str, time: str) -> None:
        """A token was used: only the last time of a batch is kept."""
        with self._lock:
            self._batch.uses[token_id] = time
            self._start_timer()

    def flush(self) -> None:
        """Write what was gathered. Raises what `write` raises, and then keeps it."""
        with self._writing:
            with self._lock:
                batch, self._batch = self._batch, make_empty_batch()
            if batch:
                self._written(batch)

    def _written(self, batch: AuditBatch) -> None:
        try:
            self._write(batch)
        except LifeboatError:
            with self._lock:
                newer, self._batch = self._batch, batch
                for row in newer.rows.values():
                    self._batch.add(row)
                self._batch.uses.update(newer.uses)
                self._batch.lost += newer.lost
                self._start_timer()
            raise

    def close(self) -> None:
        """Write the rest. Raises what `write` raises."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
        self.flush()

    def _start_timer(self) -> None:
        """The lock is held."""
        if self._timer is None and not self._closed:
            self._timer = threading.Timer(self._seconds, self._in_time)
            self._timer.daemon = True
            self._timer.start()

    def _in_time(self) -> None:
        with self._lock:
            self._timer = None
        try:
            self._try()
        finally:
            self._ended()

    def _try(self) -> None:
        try:
            self.flush()
        except LifeboatError:
            return  # it is kept, and tried again
