"""Keep few versions of large artifacts: older bodies are dropped, their leaves stay, so every sequence keeps its
digest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.states import entry_metas
from lifeboat_vault.bodies.body_objects import ObjectWriter
from lifeboat_vault.retention.retention_policy import is_protected
from lifeboat_vault.retention.thin_sequences import ThinReport, reencode_resting
from lifeboat_vault.rows import audit_chain
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import META, ColumnSealer
from lifeboat_vault.rows.sequence_rows import SequenceRow, json_of
from lifeboat_vault.store.store_protocols import MetadataStore, Row

LARGE_TIER = 3


class _ObjectUse(NamedTuple):
    """Use of an object under a path from sequence `first` until `last` (None: still)."""

    path: str
    object: int
    first: int
    last: int | None
    meta: str

    @property
    def is_large(self) -> bool:
        if not self.path.startswith(archive_layout.ARTIFACTS):
            return False
        return bool((json_of(self.meta).get(entry_metas.ATTACHMENT) or {}).get("tier") == LARGE_TIER)

    def lies_in(self, numbers: Collection[int]) -> bool:
        return any(self.first <= number and (self.last is None or number < self.last) for number in numbers)


def sequences_kept_whole(rows: list[SequenceRow], verified: int | None, now: datetime | None) -> set[int]:
    """Return the sequences that keep all large files: the head, labelled and pinned ones, the last verified one.

    Without a trusted `now` every pin counts, even an expired one.
    """
    kept = {row.number for row in rows if is_protected(row, now)} | {row.number for row in rows[-1:]}
    return kept if verified is None else kept | {verified}


def old_versions(metadata: MetadataStore, columns: ColumnSealer, keep: int, whole: Collection[int]) -> list[int]:
    """Return the objects that are, in every use, an older version of a large artifact than the newest `keep`."""
    old = {use.object for use in _beyond(metadata, columns, keep)}
    return sorted(number for number in old if _may_go(metadata, columns, number, keep, whole))


def _beyond(metadata: MetadataStore, columns: ColumnSealer, keep: int) -> Iterator[_ObjectUse]:
    """Yield held versions of large artifacts beyond the newest ones of their path. Content that came back counts
    once."""
    path, seen = "", list[int]()
    for use in _held_artifacts(metadata, columns):
        if use.path != path:
            path, seen = use.path, []
        if use.object not in seen:
            seen.append(use.object)
        if seen.index(use.object) >= keep and use.is_large:
            yield use


_AFTER_ARTIFACTS = archive_layout.ARTIFACTS[:-1] + chr(ord(archive_layout.ARTIFACTS[-1]) + 1)


def _held_artifacts(metadata: MetadataStore, columns: ColumnSealer) -> Iterator[_ObjectUse]:
    """Yield uses under artifact paths, path by path, newest first."""
    if columns.is_plain:
        return _uses(columns, metadata.rows(sql.HELD_BETWEEN, (archive_layout.ARTIFACTS, _AFTER_ARTIFACTS)))
    return _uses(columns, metadata.rows(sql.HELD), archive_layout.ARTIFACTS)


def _uses(columns: ColumnSealer, rows: Iterable[Row], prefix: str = "") -> Iterator[_ObjectUse]:
    for held_path, number, first, last, meta in rows:
        path = columns.path_of(held_path)
        if path.startswith(prefix):
            yield _ObjectUse(path, number, first, last, columns.text_of(META, meta))


def _may_go(metadata: MetadataStore, columns: ColumnSealer, number: int, keep: int, whole: Collection[int]) -> bool:
    return all(
        use.is_large and not use.lies_in(whole) and number not in _newest(metadata, columns, use.path, keep)
        for use in _uses(columns, metadata.rows(sql.USES_OF_OBJECT, (number,)))
    )


def _newest(metadata: MetadataStore, columns: ColumnSealer, path: str, keep: int) -> list[int]:
    rows: Iterator[Row] = metadata.rows(sql.HELD_OF_PATH, (columns.path(path),))
    return list(dict.fromkeys(row[0] for row in rows))[:keep]


def drop_bodies(metadata: MetadataStore, writer: ObjectWriter, numbers: list[int], now: datetime) -> ThinReport:
    """Drop the bytes of objects inside the caller's transaction; patches on them are encoded again first."""
    reach_crash_point(CrashPoint.THIN_PLANNED)
    reencoded = reencode_resting(metadata, writer, set(numbers))
    reach_crash_point(CrashPoint.THIN_ROWS_DROPPED)
    metadata.execute_many(sql.DROP_BODY, [(number,) for number in numbers])
    details = {"objects": len(numbers), "reencoded": reencoded}
    audit_chain.append_row(metadata, now, "drop versions", "large artifacts", details)
    reach_crash_point(CrashPoint.THIN_COMMITTED)
    kept = sum(1 for _ in metadata.rows(sql.SEQUENCES, (-1, 2**62)))
    return ThinReport([], kept, len(numbers), reencoded)
