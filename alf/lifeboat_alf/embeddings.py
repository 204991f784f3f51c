"""Vectors beside the records (ALF §3.1.6): one file of float32 per partition and one index.

`memory/embeddings/<partition>.bin` holds little-endian float32 and nothing else; `memory/embeddings/index.json` says
whose vector lies where:

    {"vectors": [{"file", "model", "dimensions", "source", "offset", "records": [id, ...], "computed_at": [...]}]}

A group is the vectors of one model in one file, in the order of `records`, from byte `offset` on. Vectors are
derivative: they never change a record, and the vector of an earlier model stays beside the new one. Arrays that a
foreign archive holds inside its records stay there, as bytes.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from lifeboat_alf import codec, layout
from lifeboat_alf.documents import list_of, read_object
from lifeboat_alf.errors import BadDocument
from lifeboat_alf.state import BodyAbsent, JsonObject, Record, State

INDEX = f"{layout.EMBEDDINGS}index.json"
FLOAT_BYTES = 4
_KEY = ("model", "dimensions", "source")


class Vector(NamedTuple):
    """One record's vector: `embedding` is an element of a record's `embeddings` as ALF §3.1.6 spells it."""

    partition: str
    record_id: str
    embedding: JsonObject


@dataclass(frozen=True, slots=True)
class Group:
    """The vectors of one model in one file."""

    file: str
    model: str
    dimensions: int
    source: str
    offset: int
    records: list[str]
    computed_at: list[str]


def file_for(partition: str) -> str:
    """The vector file that belongs to a partition."""
    return f"{layout.EMBEDDINGS}{partition.rsplit('/', 1)[-1].removesuffix('.jsonl')}.bin"


def has_inline(line: bytes) -> bool:
    """Whether a record line holds at least one vector itself."""
    return b'"embeddings"' in line and bool(codec.decode(line).get("embeddings"))


# Packing -------------------------------------------------------------------------------------------------------


def pack(vectors: Iterable[Vector]) -> dict[str, bytes]:
    """{entry: bytes} of the vector files and their index, {} without vectors. Order inside a group is kept.

    Raises BadDocument for a vector whose length or numbers do not fit.
    """
    grouped: dict[tuple[str, str, int, str], list[Vector]] = {}
    for vector in vectors:
        model, dimensions, source = (vector.embedding[key] for key in _KEY)
        grouped.setdefault((file_for(vector.partition), model, dimensions, source), []).append(vector)
    bodies: dict[str, bytearray] = {}
    index = []
    for (file, model, dimensions, source), members in sorted(grouped.items()):
        body = bodies.setdefault(file, bytearray())
        index.append(
            {
                "file": file,
                "model": model,
                "dimensions": dimensions,
                "source": source,
                "offset": len(body),
                "records": [member.record_id for member in members],
                "computed_at": [member.embedding["computed_at"] for member in members],
            }
        )
        for member in members:
            body += _to_bytes(member)
    made = {file: bytes(body) for file, body in bodies.items()}
    return {**made, INDEX: codec.encode_pretty({"vectors": index})} if made else {}


def _to_bytes(vector: Vector) -> bytes:
    numbers = vector.embedding["vector"]
    if len(numbers) != vector.embedding["dimensions"]:
        raise BadDocument(f"the vector of {vector.record_id} has {len(numbers)} numbers", entry=INDEX)
    packed = array("f", numbers)
    if not all(map(math.isfinite, packed)):
        raise BadDocument(f"the vector of {vector.record_id} does not fit float32", entry=INDEX)
    return _little_endian(packed).tobytes()


def _little_endian(numbers: array[float]) -> array[float]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


# Reading -------------------------------------------------------------------------------------------------------


class Vectors:
    """The vectors of a state. Files are read when one of their vectors is asked for."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._files: dict[str, bytes] = {}
        self.groups = _read_groups(state)
        self._places: dict[str, list[tuple[Group, int]]] = {}
        for group in self.groups:
            for number, record_id in enumerate(group.records):
                self._places.setdefault(record_id, []).append((group, number))

    def of(self, record_id: str) -> list[JsonObject]:
        """The vectors of a record as elements of its `embeddings`, in the order of the index."""
        return [self._embedding(group, number) for group, number in self._places.get(record_id, [])]

    def inline(self, record: Record) -> bytes:
        """The record's line with its vectors inside; those that stand there already stay."""
        found = self.of(record.id)
        if not found:
            return record.line
        fields = codec.decode(record.line)
        fields["embeddings"] = [*fields.get("embeddings", []), *found]
        return codec.encode(fields)

    def without(self, record_ids: Collection[str]) -> dict[str, bytes | None]:
        """What a purge of records leaves of the vector files: {entry: new bytes, None when the entry goes}.

        {} when none of them has a vector.
        """
        if not any(record_id in self._places for record_id in record_ids):
            return {}
        kept = pack(vector for vector in self._all() if vector.record_id not in record_ids)
        paths = {INDEX, *(group.file for group in self.groups)}
        return {path: kept.get(path) for path in sorted(paths)}

    def _all(self) -> Iterator[Vector]:
        for group in self.groups:
            for number, record_id in enumerate(group.records):
                yield Vector(group.file.removesuffix(".bin"), record_id, self._embedding(group, number))

    def _embedding(self, group: Group, number: int) -> JsonObject:
        return {
            "model": group.model,
            "dimensions": group.dimensions,
            "vector": self._numbers(group, number),
            "computed_at": group.computed_at[number],
            "source": group.source,
        }

    def _numbers(self, group: Group, number: int) -> list[float]:
        length = group.dimensions * FLOAT_BYTES
        start = group.offset + number * length
        data = self._body(group.file)[start : start + length]
        if len(data) != length:
            raise BadDocument(f"the file ends before the vector of {group.records[number]}", entry=group.file)
        numbers = array("f")
        numbers.frombytes(data)
        return _little_endian(numbers).tolist()

    def _body(self, file: str) -> bytes:
        if file not in self._files:
            self._files = {file: self._state.body(file)}
        return self._files[file]


def _read_groups(state: State) -> list[Group]:
    """The groups of the index; [] where there is none, also when another tool left an index of its own shape."""
    try:
        document = read_object(state.body(INDEX), entry=INDEX)
    except (BodyAbsent, KeyError):
        return []
    return [_group(item) for item in list_of(document, "vectors", entry=INDEX)]


def _group(item: JsonObject) -> Group:
    try:
        group = msgspec.convert(item, Group)
    except msgspec.ValidationError as error:
        raise BadDocument(f"a group of vectors has the wrong shape ({error})", entry=INDEX) from None
    if group.dimensions < 0 or group.offset < 0 or len(group.records) != len(group.computed_at):
        raise BadDocument("a group of vectors does not say whose they are", entry=INDEX)
    return group
