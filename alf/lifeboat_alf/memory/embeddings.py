"""Store vectors beside the records (ALF §3.1.6), in chunks, so that a new vector rewrites one chunk only.

`memory/embeddings/<partition>/<n>.bin` holds little-endian float32 and nothing else, of at most 256 vectors;
`memory/embeddings/<partition>/<n>.json` beside it says whose vector lies where:

    {"vectors": [{"file", "model", "dimensions", "source", "offset", "records": [id, ...], "computed_at": [...]}]}

A group is the vectors of one model in one file, in the order of `records`, from byte `offset` on. A reader relies on
no more than these indexes: one `memory/embeddings/index.json` for files beside it (`<partition>.bin`) is read as well.
Vectors are derivative: they never change a record, and the vector of an earlier model stays beside the new one. Arrays
that a foreign archive holds inside its records stay there, as bytes.
"""

from __future__ import annotations

import math
import re
import sys
from array import array
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import msgspec

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import list_of, read_object
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_shapes import as_list
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadDocument, BadJson
from lifeboat_alf.states.agent_state import BodyAbsent, Record, State

INDEX = f"{archive_layout.EMBEDDINGS}index.json"
"""The single index of archives without chunks."""
CHUNK = 256
"""Maximum vectors of a chunk."""
FLOAT_BYTES = 4
_CHUNK_INDEX = re.compile(rf"{archive_layout.EMBEDDINGS}[^/]+/[0-9]{{1,9}}\.json")
_BODIES = 8
"""Vector files that a reader caches. Neighbouring records tend to share a file."""


class EmbeddingKind(NamedTuple):
    """What the vectors of one group have in common."""

    model: str
    dimensions: int
    source: str


@dataclass(frozen=True, slots=True)
class EmbeddingGroup:
    """The vectors of one model in one file."""

    file: str
    model: str
    dimensions: int
    source: str
    offset: int
    records: list[str]
    computed_at: list[str]

    @property
    def kind(self) -> EmbeddingKind:
        return EmbeddingKind(self.model, self.dimensions, self.source)


def folder_for(partition: str) -> str:
    """Return the directory of a partition's chunks, with `/` at the end."""
    return f"{archive_layout.EMBEDDINGS}{partition.rsplit('/', 1)[-1].removesuffix('.jsonl')}/"


def is_index(path: str) -> bool:
    """Return whether an entry is an index of vectors."""
    return path == INDEX or _CHUNK_INDEX.fullmatch(path) is not None


def has_inline(line: bytes) -> bool:
    """Return whether a record line holds at least one vector itself."""
    return b'"embeddings"' in line and bool(json_codec.decode_json(line).get("embeddings"))


# Numbers --------------------------------------------------------------------------------------------------------


def is_vector(data: bytes, dimensions: int) -> bool:
    """Return whether bytes are this many finite float32."""
    return len(data) == dimensions * FLOAT_BYTES and math.isfinite(sum(_floats(data)))


def numbers_of(data: bytes) -> list[float]:
    """Return the numbers of little-endian float32 bytes."""
    return _floats(data).tolist()


def encode_float32(numbers: Iterable[float]) -> bytes:
    """Return numbers as little-endian float32. Numbers out of range become infinite."""
    return _little_endian(array("f", numbers)).tobytes()


def _floats(data: bytes) -> array[float]:
    found = array("f")
    found.frombytes(data)
    return _little_endian(found)


def _little_endian(numbers: array[float]) -> array[float]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


# Chunks ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class EmbeddingChunk:
    """An editable index and the vectors of its files. `files` is {file: {kind: {id: (time, bytes)}}}.

    New vectors go into the file beside the index.
    """

    index: str
    files: dict[str, dict[EmbeddingKind, dict[str, tuple[str, bytes]]]] = field(default_factory=dict)

    @classmethod
    def read(cls, index: str, data: bytes, body: Callable[[str], bytes]) -> EmbeddingChunk:
        """Read a chunk. Raises BadDocument, BadJson, and what `body` raises."""
        chunk = cls(index)
        for group in read_groups(index, data):
            vectors = _sliced(group, body(group.file))
            stamped = zip(group.records, zip(group.computed_at, vectors, strict=True), strict=True)
            chunk.files.setdefault(group.file, {}).setdefault(group.kind, {}).update(stamped)
        return chunk

    def __len__(self) -> int:
        return sum(len(members) for kinds in self.files.values() for members in kinds.values())

    def put(self, record_id: str, kind: EmbeddingKind, data: bytes, computed_at: str) -> None:
        """Set a record's vector. An earlier vector of the same model is replaced, in place if this chunk holds it."""
        own = self.files.setdefault(f"{self.index.removesuffix('.json')}.bin", {})
        if record_id not in own.get(kind, {}):
            self.drop(record_id, kind.model)
        own.setdefault(kind, {})[record_id] = computed_at, data

    def holds(self, record_id: str, model: str) -> bool:
        kinds = (item for groups in self.files.values() for item in groups.items())
        return any(kind.model == model and record_id in members for kind, members in kinds)

    def drop(self, record_id: str, model: str | None = None) -> bool:
        """Remove a record's vectors, or the one of a model; return whether there was any."""
        found = False
        for groups in self.files.values():
            for kind, members in groups.items():
                if model in (None, kind.model):
                    found = members.pop(record_id, None) is not None or found
        return found

    def entries(self) -> dict[str, bytes | None]:
        """Return the index and its files as they are now; None for a file to remove."""
        listed: list[JsonObject] = []
        made: dict[str, bytes | None] = {}
        for file, groups in sorted(self.files.items()):
            body = bytearray()
            for kind, members in groups.items():
                if members:
                    listed.append(_listed(file, kind, len(body), members))
                    body += b"".join(data for _, data in members.values())
            made[file] = bytes(body) if any(groups.values()) else None
        return {**made, self.index: json_codec.encode_json({"vectors": listed}) if listed else None}


def _listed(file: str, kind: EmbeddingKind, offset: int, members: dict[str, tuple[str, bytes]]) -> JsonObject:
    times = [moment for moment, _ in members.values()]
    return {"file": file, **kind._asdict(), "offset": offset, "records": list(members), "computed_at": times}


def _sliced(group: EmbeddingGroup, body: bytes) -> list[bytes]:
    length = group.dimensions * FLOAT_BYTES
    starts = range(group.offset, group.offset + length * len(group.records), length) if length else []
    found = [body[start : start + length] for start in starts] if length else [b""] * len(group.records)
    for record_id, data in zip(group.records, found, strict=True):
        if len(data) != length:
            raise BadDocument(f"the file of vectors ends before the vector of record {record_id}", entry=group.file)
    return found


# Reading --------------------------------------------------------------------------------------------------------


class StateVectors:
    """The vectors of a state, read on demand. Every method raises BadDocument and BadJson for a malformed index or
    file."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._bodies: dict[str, bytes] = {}

    @cached_property
    def indexes(self) -> dict[str, list[EmbeddingGroup]]:
        """Return the groups by the entry that lists them."""
        paths = [entry.path for entry in self._state.entries(archive_layout.EMBEDDINGS) if is_index(entry.path)]
        return {path: read_groups(path, data) for path in paths if (data := self._held(path)) is not None}

    @cached_property
    def _places(self) -> dict[str, list[tuple[EmbeddingGroup, int]]]:
        places: dict[str, list[tuple[EmbeddingGroup, int]]] = {}
        for groups in self.indexes.values():
            for group in groups:
                for number, record_id in enumerate(group.records):
                    places.setdefault(record_id, []).append((group, number))
        return places

    def of(self, record_id: str) -> list[JsonObject]:
        """Return the vectors of a record as elements of its `embeddings`."""
        return [self._embedding(group, number) for group, number in self._places.get(record_id, [])]

    def packed(self, record_id: str, model: str) -> bytes | None:
        """Return a record's latest vector of one model as little-endian float32; None without one."""
        found = [place for place in self._places.get(record_id, []) if place[0].model == model]
        latest = max(found, key=lambda place: place[0].computed_at[place[1]], default=None)
        return None if latest is None else self._data(*latest)

    def usable(self, record: JsonObject, model: str) -> bytes | None:
        """Return a record's vector of one model as little-endian float32, from a file or else from the record itself.

        None when there is no usable vector. Files of other tools may hold anything, so malformed ones are ignored.
        """
        try:
            found = self.packed(str(record.get("id")), model) if self._is_readable else None
        except BadDocument:
            found = None
        return found or _inside(record, model)

    @cached_property
    def _is_readable(self) -> bool:
        try:
            return bool(self._places)
        except (BadDocument, BadJson):
            return False

    def inline(self, record: Record) -> bytes:
        """Return the record's line with its vectors inside. Vectors that it already holds stay."""
        found = self.of(record.id)
        if not found:
            return record.line
        fields = json_codec.decode_json(record.line)
        fields["embeddings"] = [*as_list(fields.get("embeddings")), *found]
        return json_codec.encode_json(fields)

    def without(self, record_ids: Collection[str]) -> dict[str, bytes | None]:
        """Return the vector files without those of some records: {entry: new bytes, None for an entry to remove}."""
        gone = frozenset(record_ids)
        made: dict[str, bytes | None] = {}
        for path, groups in self.indexes.items():
            if any(not gone.isdisjoint(group.records) for group in groups):
                chunk = EmbeddingChunk.read(path, self._whole(path), self._whole)
                for record_id in gone:
                    chunk.drop(record_id)
                made |= chunk.entries()
        return made

    def _embedding(self, group: EmbeddingGroup, number: int) -> JsonObject:
        return {
            "model": group.model,
            "dimensions": group.dimensions,
            "vector": numbers_of(self._data(group, number)),
            "computed_at": group.computed_at[number],
            "source": group.source,
        }

    def _data(self, group: EmbeddingGroup, number: int) -> bytes:
        length = group.dimensions * FLOAT_BYTES
        start = group.offset + number * length
        data = self._body(group.file)[start : start + length]
        if len(data) != length:
            raise BadDocument(
                f"the file of vectors ends before the vector of record {group.records[number]}", entry=group.file
            )
        return data

    def _body(self, file: str) -> bytes:
        if file not in self._bodies:
            if len(self._bodies) >= _BODIES:
                self._bodies.pop(next(iter(self._bodies)))
            self._bodies[file] = self._whole(file)
        return self._bodies[file]

    def _whole(self, file: str) -> bytes:
        try:
            return self._state.body(file)
        except KeyError:
            raise BadDocument("this file of vectors is listed in the archive, but missing", entry=file) from None

    def _held(self, path: str) -> bytes | None:
        try:
            return self._state.body(path)
        except BodyAbsent:
            return None


def _inside(record: JsonObject, model: str) -> bytes | None:
    """Return the vector inside a record; ignore a malformed one, because other tools wrote it."""
    every = record.get("embeddings")
    for item in every if isinstance(every, list) else []:
        try:
            if item["model"] == model and is_vector(data := encode_float32(item["vector"]), item["dimensions"]):
                return data
        except (TypeError, KeyError, OverflowError):
            continue
    return None


def read_groups(index: str, data: bytes) -> list[EmbeddingGroup]:
    """Return the groups of an index; [] for a document of another tool under the same name. Raises BadDocument,
    BadJson."""
    document = read_object(data, entry=index)
    return [_group(index, item) for item in list_of(document, "vectors", entry=index)]


def _group(index: str, item: JsonObject) -> EmbeddingGroup:
    try:
        group = msgspec.convert(item, EmbeddingGroup)
    except msgspec.ValidationError as error:
        raise BadDocument(f"a group of vectors is not valid ({error})", entry=index) from None
    if group.dimensions < 0 or group.offset < 0 or len(group.records) != len(group.computed_at):
        raise BadDocument(
            "a group of vectors contains a negative number, or does not have one time for each record", entry=index
        )
    if not group.file.startswith(archive_layout.EMBEDDINGS) or is_index(group.file):
        raise BadDocument("the path of a group of vectors is not in the folder for vectors", entry=index)
    return group
