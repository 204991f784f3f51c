"""Capture the memories that the runtime keeps as rows: read and cut the changed ones, decide about their memories, and
update the shadow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from lifeboat_adapters.contract import DatabaseSupport
from lifeboat_adapters.errors import AdapterError, DatabaseAbsent, RuntimeDatabaseError
from lifeboat_adapters.memory_stores import MemoryRows, MemoryStore
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.record_lifecycle import RecordContext, RecordStep
from lifeboat_core.agents import withheld_items
from lifeboat_core.capture import row_cuts, secret_lookalikes
from lifeboat_core.capture.capture_session import CaptureSession
from lifeboat_core.capture.file_capture import FileCapture
from lifeboat_core.capture.memory_capture import MemoryCapture, MemoryLookup, MemoryOrigin
from lifeboat_core.capture.row_matching import DepartedRows, RowMemories, RowSource
from lifeboat_core.capture.row_reading import BATCH, DifferingRow, RowDifferences, compare_rows
from lifeboat_core.capture.row_shadow import CAME, GONE, HELD, RowShadow, ShadowLine
from lifeboat_core.capture.runtime_tables import RuntimeTables
from lifeboat_core.capture.secret_cutter import SecretCutter
from lifeboat_core.capture.shadow_rebuild import DECISION, ShadowRebuild, is_marked
from lifeboat_core.capture.vector_changes import ChunkStaging, VectorChanges
from lifeboat_core.capture.workspace_survey import WorkspaceSurvey
from lifeboat_core.state.state_db import SHADOW
from lifeboat_core.texts.human_text import count_text

RACY_NS = 2_000_000_000
"""A database written this shortly before the scan is compared again by the next capture, regardless of its stat."""


class RowLink(NamedTuple):
    """The memory of a row, "" for none; `marked` as in `ShadowLine`."""

    record: str
    marked: bool


@dataclass(slots=True)
class _VectorBatch:
    """Vectors that go into the overlay in batches. Each record has one at most."""

    changes: VectorChanges
    _changed: dict[str, bytes | None] = field(default_factory=dict)
    _anew: set[str] = field(default_factory=set)

    def add(self, record_id: str, data: bytes | None, *, anew: bool = False) -> None:
        self._changed[record_id] = data
        if anew:
            self._anew.add(record_id)
        if len(self._changed) >= BATCH:
            self.flush()

    def flush(self) -> None:
        if self._changed:
            self.changes.update(self._changed, self._anew)
            self._changed, self._anew = {}, set()


class RowCapture:
    """The memory store of one capture. The calls are `look` before the files are read, `read` when all secrets are
    known, and `take` after the files. `arrived` are memories whose rows a restore left out, and files of cuts, that are
    there now."""

    def __init__(
        self,
        session: CaptureSession,
        seen: WorkspaceSurvey,
        cutter: SecretCutter,
        tree: FileCapture,
        databases: RuntimeTables,
    ) -> None:
        self._session, self._seen, self._cutter, self._tree, self._databases = session, seen, cutter, tree, databases
        self._known: JsonObject = session.vault.get(DECISION) or {}
        self._store: MemoryStore | None = None
        self._fact: JsonObject = {}
        self._has_left = self._was_asked = False
        self._found: RowDifferences | None = None
        self._cut: dict[Any, tuple[Any, ...]] = {}
        self._place = 0
        self._held = 0
        self._withheld = withheld_items.list_withheld_records(session.vault)
        self.arrived: set[str] = set()
        self._partitions: dict[str, str] = {}
        self._links: list[RowLink] = []
        self._lost: dict[Any, ShadowLine | None] = {}

    # Looking ----------------------------------------------------------------------------------------------------

    def look(self) -> bool:
        """Return whether the store may have changed since it was read."""
        fact, runtime = self._session.db.get(SHADOW) or {}, self._seen.adapter.runtime
        if {self._known.get("runtime", runtime), fact.get("runtime", runtime)} != {runtime}:
            # The rows belong to another runtime, in which the agent lived before.
            self._has_left, self._known = True, {}
        if self._databases.stands_alone():
            return False
        is_believed = self._seen.trusted and fact.get("complete") is True
        try:
            stats = self._stats()
        except (AdapterError, OSError) as error:
            if self._known:
                self._unread(error)
            return False
        if is_believed and "stamp" not in fact and stats is not None and stats == fact.get("stats"):
            return False
        return self._ask(stats) and not (is_believed and "stamp" in fact and fact == {**self._fact, "complete": True})

    def _ask(self, stats: JsonObject | None) -> bool:
        """Let the adapter locate the store; return False when there is none or it cannot be read now."""
        self._was_asked = True
        try:
            databases = self._seen.adapter.databases
            store = databases.memory_store(self._seen.installation) if databases is not None else None
            self._has_left = store is None
            if store is None:
                return False
            self._fact = {"runtime": self._seen.adapter.runtime, "name": store.name, "columns": list(store.columns)}
            self._fact |= {"model": store.model.model if store.model else None, "stats": stats}
            if isinstance(store, MemoryRows):
                self._fact["stamp"] = store.stamp()
            self._store, self._place = store, store.columns.index(store.id)
        except DatabaseAbsent as error:
            if self._known:
                self._unread(error)
        except (AdapterError, OSError) as error:
            self._unread(error)
        return self._store is not None

    def _unread(self, error: Exception) -> None:
        name = self._store.name if self._store else self._known.get("name", f"{self._databases.prefix}memories")
        self._session.report.unread[str(name)] = str(error)

    def _stats(self) -> JsonObject | None:
        """Return the stats of the databases; None when one was written so recently that the next write may not show."""
        stats = self._databases.stats()
        times = (one[1] for found in stats.values() if isinstance(found, list) for one in found if one is not None)
        return None if any(time > self._seen.started_ns - RACY_NS for time in times) else stats

    @property
    def name(self) -> str:
        """Return the name of the store, "" if there never was one."""
        return str(self._known.get("name", "")) if self._store is None else self._store.name

    # Reading ----------------------------------------------------------------------------------------------------

    def read(self, *, changed: bool, everything: bool) -> None:
        """Compare the rows with the captured ones if the store `changed`. With `everything`, search each of them for
        secrets that became known."""
        if not changed and everything and not self._was_asked and not self._databases.stands_alone():
            changed = self._ask(self._stats())
        if self._store is None or not (changed or everything):
            return
        shadow = self._shadow(self._store)
        try:
            keep_out = self._session.keep_out
            keep = partial(keep_out.cut_row, self._store) if keep_out else None
            found = compare_rows(self._store, self._session.db.path, self._look_into, keep, everything=everything)
        except AdapterError as error:
            shadow.check()
            self._unread(error)
            return
        shadow.link(found.came)
        if found.nameless:
            self._session.report.unread[self._store.name] = (
                f"{count_text(found.nameless, 'row')} without an id, which Lifeboat cannot capture"
            )
            self._fact["stats"] = None
        self._found, self._held = found, shadow.held()
        self._cut_out(self._store, found)

    def _shadow(self, store: MemoryStore) -> RowShadow:
        """Return the shadow of the store, filled from the head when it describes another state."""
        session, shadow = self._session, RowShadow(self._session.db, store.columns)
        fact = session.db.get(SHADOW) or {}
        same = all(fact.get(name) == self._fact[name] for name in ("runtime", "name", "columns"))
        if not (same and self._seen.trusted and fact.get("complete")):
            lines: Iterable[ShadowLine] = ()
            if session.state is not None:
                lines = ShadowRebuild(
                    session.state, self._seen.adapter.runtime, self._support, store, session.db, self._known
                ).lines()
            shadow.start(lines, self._fact)
        elif fact.get("model") != self._fact["model"]:
            shadow.unmeasure()
        return shadow

    def _look_into(self, batch: list[DifferingRow]) -> set[Any]:
        """Note the rows of a batch that hold a secret; return their ids."""
        place = self._place
        for row in batch:
            self._learn_looks(row.values)
        found = row_cuts.find_rows_with_secrets(self._cutter, [row.values for row in batch])
        self._cut.update((values[place], values) for values in found)
        return {values[place] for values in found}

    def _learn_looks(self, values: tuple[Any, ...]) -> None:
        """Learn lookalikes in a row as secrets, if the user has them cut there."""
        name = "" if self._store is None else f"{self._store.name} {values[self._place]}"
        if self._cutter.cuts_looks_of_row(name):
            texts = [value for value in values if isinstance(value, str | bytes)]
            self._cutter.learn(secret_lookalikes.find_token_secrets(name, texts))

    def _cut_out(self, store: MemoryStore, found: RowDifferences) -> None:
        """Cut the secrets out of the noted rows."""
        ids = sorted(self._cut, key=str)
        always = frozenset((self._place, store.columns.index(store.content)))
        path = self._file_of_cuts(store)
        columns = row_cuts.RowColumns(store.columns, always, self._place)
        holding = (row for row in found.rows() if row.values[self._place] in self._cut) if self._cut else ()
        exposed = any(map(self._stood_in_clear, holding))
        rows = [self._cut[one] for one in ids]
        cut, changed = row_cuts.cut_rows(self._cutter, self._session.overlay, path, columns, rows, exposed=exposed)
        self._cut = dict(zip(ids, cut, strict=True))
        if changed:
            self._tree.changed.add(path)
        self._look_at(store, found)

    def _file_of_cuts(self, store: MemoryStore) -> str:
        """Return the file for rows with secrets. Files in which no row waits any more are reused or removed."""
        prefix = f"{self._databases.prefix}{PurePosixPath(store.name).stem}"
        waiting = self._waiting(store) - self._cut.keys()
        path, others = row_cuts.choose_cut_files(self._session.overlay, prefix, store.id, waiting)
        for other in others:
            self._cutter.release(other)
            if self._session.overlay.remove(other):
                self._tree.changed.add(other)
        self.arrived |= {path, *others} & self._tree.withheld
        return path

    @property
    def _support(self) -> DatabaseSupport:
        """The databases of the runtime. Asked for only when one of them is a store of memories."""
        databases = self._seen.adapter.databases
        if databases is None:
            raise RuntimeDatabaseError(f"{self._seen.adapter.runtime} stores no memories as database rows")
        return databases

    def _waiting(self, store: MemoryStore) -> set[Any]:
        """Return the ids of rows that a restore left out."""
        state, found = self._session.state, set[Any]()
        for id in self._withheld if state is not None else ():
            record = state.record(self._session.db.winner(id)) if state is not None else None
            if record is not None:
                found.add(self._support.row_of(memory_records.parse_record(record.line), id).get(store.id))
        return found

    def _look_at(self, store: MemoryStore, found: RowDifferences) -> None:
        """Report what merely looks like a secret, by row."""
        content, known = store.columns.index(store.content), self._tree.lookalikes
        for row, *_ in found.gone:
            known.pop(f"{store.name} {row}", None)
        for batch in found.batches():
            texts = [_text(row.values[content]) for row in batch]
            ids = [row.values[self._place] for row in batch]
            for row in ids if known else ():
                known.pop(f"{store.name} {row}", None)
            kept = [
                _text(self._cut[row][content]) if row in self._cut else text
                for row, text in zip(ids, texts, strict=True)
            ]
            for place, places in row_cuts.find_row_lookalikes(texts, kept):
                name = f"{store.name} {ids[place]}"
                known[name] = places
                self._session.report.looks_like_secret[name] = secret_lookalikes.describe_places(places)

    def _stood_in_clear(self, row: DifferingRow) -> bool:
        """Return whether the head has in plain text what is cut out of a row now."""
        if not row.record or self._session.state is None:
            return False
        record = self._session.state.record(self._session.db.winner(row.record))
        return record is not None and bool(row_cuts.find_rows_with_secrets(self._cutter, [(record.line,)]))

    # Deciding ---------------------------------------------------------------------------------------------------

    @property
    def differ(self) -> bool:
        """Return whether rows differ from the captured ones."""
        return bool(self._found)

    def take(
        self, scribe: RecordContext, origin: MemoryOrigin, lookup: MemoryLookup, memories: MemoryCapture
    ) -> Iterator[RecordStep]:
        """Decide about the memories of rows, and yield the record lines to write."""
        if self._store is None or self._found is None:
            return
        source = RowSource(self._support, self._seen.installation, self._store)
        rows = RowMemories(source, scribe, origin, lookup, memories.outcome, memories.taken)
        past = self._past(lookup)
        changes = VectorChanges(
            overlay=self._session.overlay,
            partition_of=self._partition,
            chunks_of=self._session.db.vectors_of,
            model=self._store.model,
            computed_at=self._session.now,
            staging=ChunkStaging(self._session.context.files, self._tree.staging),
        )
        vectors = _VectorBatch(changes)
        for one in self._found.rows():
            yield from self._row(one, source, rows, past, vectors)
        for row, record, key in self._found.gone:
            yield from self._missing(row, record, key, rows, vectors)
        vectors.flush()
        self._session.report.warnings.extend(changes.problems())
        self._found.vectors.close()

    def _past(self, lookup: MemoryLookup) -> DepartedRows:
        assert self._store is not None and self._found is not None
        past = DepartedRows(RowShadow(self._session.db, self._store.columns).with_key)
        for _, record, key in self._found.gone:
            past.gone[key].append(record)
            past.records.update((record, lookup.winner(record)))
        return past

    def _row(
        self, one: DifferingRow, source: RowSource, rows: RowMemories, past: DepartedRows, vectors: _VectorBatch
    ) -> Iterator[RecordStep]:
        row_id = one.values[self._place]
        row = source.row(self._cut.get(row_id, one.values))
        record = one.record if one.kind in (HELD, CAME) or (one.record and rows.may_return(one.record)) else None
        record = record or rows.find(row, past)
        rows.rewritten = False
        link = rows.known(record, row) if record else rows.new(row)
        was_made = bool(rows.steps)
        yield from self._steps(rows, vectors)
        self._links.append(RowLink(link, was_made or self._is_marked(link)))
        self.arrived |= {link, record or ""} & self._withheld
        is_known = one.kind in (HELD, CAME) and link == one.record
        if link and (not is_known or rows.rewritten or one.was != one.vector):
            self._vector(one, link, vectors, anew=rows.rewritten)

    def _vector(self, one: DifferingRow, link: str, vectors: _VectorBatch, *, anew: bool) -> None:
        assert self._store is not None and self._found is not None
        data = self._found.vectors.get(one.values[self._place])
        was_read = data is not None or one.vector is None
        if self._store.model is not None and was_read and (data is not None or one.was is not None or anew):
            vectors.add(link, data, anew=anew)

    def _steps(self, rows: RowMemories, vectors: _VectorBatch) -> Iterator[RecordStep]:
        steps, rows.steps = rows.steps, []
        for step in steps:
            self._partitions[step.id] = step.partition
            if step.operation == "delete":
                vectors.add(step.id, None)
        yield from steps

    def _missing(
        self, row: Any, record: str, key: Any, rows: RowMemories, vectors: _VectorBatch
    ) -> Iterator[RecordStep]:
        """Handle a removed row. A row that a restore left out, for lack of its credentials, is not a deletion."""
        is_other_row = rows.is_taken(record)
        if not {record, self._session.db.winner(record)} & self._withheld:
            rows.lost(record)
            yield from self._steps(rows, vectors)
        marked = self._is_marked(record)
        self._lost[row] = (
            None if is_other_row or not record else ShadowLine(row, record, GONE, key, False, None, marked)
        )

    def _partition(self, record_id: str) -> str:
        found = self._partitions.get(record_id)
        if found is None:
            record = None if self._session.state is None else self._session.state.record(record_id)
            if record is None:
                raise KeyError(record_id)
            found = record.partition
        return found

    def _is_marked(self, record_id: str) -> bool:
        record = self._session.state.record(record_id) if self._session.state is not None and record_id else None
        return record is not None and is_marked(memory_records.parse_record(record.line), self._seen.adapter.runtime)

    # Remembering ------------------------------------------------------------------------------------------------

    def sizes(self) -> tuple[str, int, int] | None:
        """Return the store's name, and its numbers of rows before and now; None when it was not read."""
        if self._store is None or self._found is None:
            return None
        new = sum(one.kind in (None, GONE) for one in self._found.rows())
        return self._store.name, self._held, self._held + new - len(self._found.gone)

    def decide(self) -> None:
        """Store in the vault which store's rows are captured, because that must outlive the caches."""
        vault = self._session.vault
        if self._has_left:
            vault.set(DECISION, None, kind=DECISION)
        elif self._store is not None and self._found is not None:
            unmarked = RowShadow(self._session.db, self._store.columns).unmarked()
            store = {"runtime": self._seen.adapter.runtime, "name": self._store.name}
            vault.set(DECISION, {**store, "records": unmarked}, kind=DECISION)

    @property
    def has_news(self) -> bool:
        """Return whether `remember` has something to write."""
        fact = self._session.db.get(SHADOW)
        if self._has_left:
            return fact is not None
        return self._found is not None and (bool(self._found) or fact != {**self._fact, "complete": True})

    def remember(self) -> None:
        """Update the shadow, inside a transaction. A shadow that was emptied meanwhile, because it held a new secret,
        is filled by the next capture."""
        db = self._session.db
        if self._has_left:
            db.forget_shadow()
        elif self._store is not None and self._found is not None and db.get(SHADOW) is not None:
            shadow = RowShadow(db, self._store.columns)
            shadow.drop(row for row, line in self._lost.items() if line is None)
            shadow.put(line for line in self._lost.values() if line is not None)
            shadow.put(self._lines(self._store, self._found))
            shadow.settle()
            db.put(SHADOW, {**self._fact, "complete": True})

    def _lines(self, store: MemoryStore, found: RowDifferences) -> Iterator[ShadowLine]:
        key = store.columns.index(store.key) if store.key in store.columns else None
        for one, link in zip(found.rows(), self._links, strict=True):
            row_id = one.values[self._place]
            kept = self._cut.get(row_id, one.values)
            yield ShadowLine(
                row=row_id,
                record=link.record,
                kind=HELD,
                key=None if key is None else kept[key],
                whole=row_id not in self._cut,
                vector=one.vector,
                marked=link.marked,
                values=one.values,
            )


def _text(value: Any) -> str | bytes:
    return value if isinstance(value, str | bytes) else ""
