"""Capture vectors of memories that a runtime keeps as rows (ALF §3.1.6). A change of one reads and writes one chunk.

`state.db` looks up where a record's vectors are, and follows the vault as the search index does. Vectors are
derivative: one that is unreadable or invalid is reported, and never stops a capture.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_adapters.memory_stores import VectorModel
from lifeboat_alf.errors import BadDocument, BadJson
from lifeboat_alf.memory import embeddings
from lifeboat_alf.memory.embeddings import CHUNK, EmbeddingChunk, EmbeddingKind
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_core.capture.overlay import Overlay
from lifeboat_vault.errors import VaultDamaged

SOURCE = "runtime"
"""The source of these vectors (ALF §3.1.6)."""


@dataclass(frozen=True, slots=True)
class ChunkStaging:
    """A folder where complete chunks wait for the commit instead of in memory. It is created when needed."""

    files: FileOperations
    folder: Path

    def write(self, name: str, data: bytes) -> Path:
        self.files.make_folders(self.folder, 0o700)
        path = self.folder / name
        self.files.write_new(path, data, mode=0o600, sync=False)
        return path


@dataclass(slots=True)
class VectorChanges:
    """The changes of vectors in one capture, in any number of batches.

    `partition_of` names the partition file of a record that gets a vector; `chunks_of` the indexes that list a record's
    vectors in the head (`StateDb.vectors_of`). With `model` None the model is unknown, and no vector is captured. With
    `staging`, at most one batch and one chunk per partition are in memory.
    """

    overlay: Overlay
    partition_of: Callable[[str], str]
    chunks_of: Callable[[str], Collection[str]]
    model: VectorModel | None
    computed_at: str
    staging: ChunkStaging | None = None
    unreadable: dict[str, str] = field(default_factory=dict)
    _unfit: list[str] = field(default_factory=list)
    _newest: dict[str, str] = field(default_factory=dict)
    _staged: int = 0

    def update(self, changed: Mapping[str, bytes | None], anew: Collection[str] = ()) -> None:
        """Set the vectors of records, each record once per capture: bytes as the runtime has them (float32,
        little-endian), None for a record without one.

        A former vector of the same model is replaced. One of an earlier model is kept too, unless the record is listed
        for replacement, because that vector was computed from its former text.
        """
        fit = {record_id: data for record_id, found in changed.items() if (data := self._fit(record_id, found))}
        stale = {record_id for record_id, found in changed.items() if found is None or record_id in anew}
        waiting = set(fit)
        for path, members in self._by_chunk(changed).items():
            chunk = self._read(path)
            if chunk is not None and any([self._change(chunk, one, fit.get(one), stale, waiting) for one in members]):
                self._put(chunk)
        self._add((record_id, data) for record_id, data in fit.items() if record_id in waiting)

    def problems(self) -> list[str]:
        """Return sentences about vectors that are not captured."""
        said = [
            f"the vectors listed in {path} cannot be read: {reason}" for path, reason in sorted(self.unreadable.items())
        ]
        if self._unfit and self.model is not None:
            expected_numbers = f"{self.model.dimensions} finite numbers"
            first, count = self._unfit[0], len(self._unfit)
            said.append(
                f"the vector of the memory {first} was not captured, because it does not consist of {expected_numbers}"
                if count == 1
                else f"{count} vectors were not captured, because they do not consist of {expected_numbers}. The "
                f"first belongs to the memory {first}"
            )
        return said

    def _fit(self, record_id: str, data: bytes | None) -> bytes | None:
        if data is None or self.model is None:
            return None
        if self.model.dimensions > 0 and embeddings.is_vector(data, self.model.dimensions):
            return bytes(data)
        self._unfit.append(record_id)
        return None

    def _by_chunk(self, record_ids: Iterable[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for record_id in record_ids:
            for path in self.chunks_of(record_id):
                found.setdefault(path, []).append(record_id)
        return found

    def _change(
        self, chunk: EmbeddingChunk, record_id: str, data: bytes | None, stale: Collection[str], waiting: set[str]
    ) -> bool:
        """Apply the change of a record to one chunk; return whether the chunk changed. A vector that is replaced in
        place does not wait for a chunk any more."""
        kind = self._kind()
        here = record_id in waiting and chunk.index != embeddings.INDEX and chunk.holds(record_id, kind.model)
        if record_id in stale:
            dropped = chunk.drop(record_id)
        else:
            dropped = data is not None and not here and chunk.drop(record_id, kind.model)
        if here and data is not None:
            chunk.put(record_id, kind, data, self.computed_at)
            waiting.remove(record_id)
        return dropped or here

    def _add(self, added: Iterable[tuple[str, bytes]]) -> None:
        """Put vectors into the newest chunks of their partitions, and into new chunks when those are full."""
        by_folder: dict[str, list[tuple[str, bytes]]] = {}
        for record_id, data in added:
            folder = embeddings.folder_for(self.partition_of(record_id))
            by_folder.setdefault(folder, []).append((record_id, data))
        for folder, rest in by_folder.items():
            chunk = self._last(folder)
            while rest:
                if len(chunk) >= CHUNK:
                    chunk = EmbeddingChunk(_following(chunk.index))
                room = CHUNK - len(chunk)
                for record_id, data in rest[:room]:
                    chunk.put(record_id, self._kind(), data, self.computed_at)
                rest = rest[room:]
                self._put(chunk)
                self._newest[folder] = chunk.index

    def _last(self, folder: str) -> EmbeddingChunk:
        """Return the newest chunk of a partition; a new one when there is none that can be read."""
        last = self._newest.get(folder)
        if last is None:
            numbers = (_number(path) for path in self.overlay.paths(folder) if embeddings.is_index(path))
            last = f"{folder}{max(numbers, default=0)}.json"
        found = self._read(last)
        if found is not None:
            return found
        return EmbeddingChunk(_following(last) if last in self.unreadable else last)

    def _read(self, path: str) -> EmbeddingChunk | None:
        try:
            data = self.overlay.read(path)
            if data is None:
                return None
            return EmbeddingChunk.read(path, data, lambda file: self.overlay.read(file) or b"")
        except (BadDocument, BadJson, VaultDamaged) as error:
            self.unreadable[path] = str(error)
            return None

    def _put(self, chunk: EmbeddingChunk) -> None:
        for path, data in chunk.entries().items():
            if data is None:
                self.overlay.remove(path)
            elif self.overlay.put(path, {}, data) and self.staging is not None and len(chunk) >= CHUNK:
                self._staged += 1
                self.overlay.stage(path, self.staging.write(f"vectors-{self._staged}", data))

    def _kind(self) -> EmbeddingKind:
        model = self.model or VectorModel("", 0)
        return EmbeddingKind(model.model, model.dimensions, SOURCE)


def _number(index: str) -> int:
    return int(index.rpartition("/")[2].removesuffix(".json"))


def _following(index: str) -> str:
    return f"{index.rpartition('/')[0]}/{_number(index) + 1}.json"
