"""Buffer for frequent audit rows (reads, writes, uses of tokens), so that no request waits for a disk because of the
audit.

Equal rows within a batch become one row with a count.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError

SECONDS = 5.0
"""How long a row may stay in the buffer."""
MOST = 500
"""How many rows make a batch."""
MOST_KEPT = 20_000
"""How many rows are kept while nothing can be written (a full disk); further ones are only counted."""


@dataclass(slots=True)
class GatheredRow:
    """A row for equal events. `first` and `last` are timestamps."""

    kind: str
    subject: str
    details: JsonObject
    first: str
    last: str
    count: int = 1

    def row_details(self) -> JsonObject:
        """Return the details of the audit row."""
        return self.details if self.count == 1 else {**self.details, "count": self.count, "until": self.last}


@dataclass(slots=True)
class AuditBatch:
    """What to write: audit rows, when tokens were last used (by id), and how many rows were lost."""

    rows: dict[tuple[str, str, bytes], GatheredRow] = field(default_factory=dict)
    uses: dict[str, str] = field(default_factory=dict)
    lost: int = 0

    def add(self, row: GatheredRow) -> None:
        """Add a row, or join it with an equal one."""
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


class AuditBuffer:
    """Gathers rows for many threads.

    `write` gets a batch, in the thread that added its last row or in a timer's thread, where `ended` is called last. A
    batch that it cannot write (LifeboatError) is kept for the next attempt.
    """

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
        self._batch = AuditBatch()
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
        """Note that a token was used. Only the last time within a batch is kept."""
        with self._lock:
            self._batch.uses[token_id] = time
            self._start_timer()

    def flush(self) -> None:
        """Write the batch. Raises what `write` raises, and keeps the batch then."""
        with self._writing:
            with self._lock:
                batch, self._batch = self._batch, AuditBatch()
            if batch:
                self._written(batch)

    def _written(self, batch: AuditBatch) -> None:
        try:
            self._write(batch)
        except LifeboatError:
            with self._lock:
                # Rows that were added meanwhile join the batch that was not written.
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
        """Start the timer. The caller holds the lock."""
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
            return  # the batch is kept and tried again
