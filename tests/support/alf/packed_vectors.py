"""Chunks of vectors as a capture writes them, made from a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.embeddings import CHUNK, EmbeddingChunk, EmbeddingKind, encode_float32, folder_for


class RecordVector(NamedTuple):
    """One record's vector. `embedding` is an element of a record's `embeddings` as in ALF §3.1.6."""

    partition: str
    record_id: str
    embedding: JsonObject


def pack_vectors(vectors: Iterable[RecordVector]) -> dict[str, bytes]:
    """Return {entry: bytes} of the chunks that hold vectors, in the given order; {} without any."""
    made: dict[str, bytes] = {}
    grouped: dict[str, list[RecordVector]] = {}
    for vector in vectors:
        grouped.setdefault(folder_for(vector.partition), []).append(vector)
    for folder, members in grouped.items():
        for number, first in enumerate(range(0, len(members), CHUNK)):
            chunk = EmbeddingChunk(f"{folder}{number}.json")
            for record_id, found in ((member.record_id, member.embedding) for member in members[first : first + CHUNK]):
                kind = EmbeddingKind(found["model"], found["dimensions"], found["source"])
                chunk.put(record_id, kind, encode_float32(found["vector"]), found["computed_at"])
            made |= {path: data for path, data in chunk.entries().items() if data is not None}
    return made
