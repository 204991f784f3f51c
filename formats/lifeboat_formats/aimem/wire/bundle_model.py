"""An AIMEM bundle as plain data (draft-vu-aimem-bundle-00): its words, its limits, and how one is refused.

A bundle is an envelope and four arrays. Records stay the JSON objects that they are: whoever needs more reads them
with `checking` first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from lifeboat_adapters.item_fates import ItemFate
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.interchange.contract import FormatNotice
from lifeboat_formats.interchange.errors import SourceRefused

FORMAT = "aimem-bundle"
LEGACY_FORMAT = "memoryai-bundle"
"""What implementations wrote before the draft; read, never written (section 2.1)."""
VERSION = "1"
MEDIA_TYPE = "application/aimem-bundle+json"
STREAM_MEDIA_TYPE = "application/x-ndjson"

FULL, DNA_ONLY, SINCE = "FULL", "DNA_ONLY", "SINCE"
SCOPES = (FULL, DNA_ONLY, SINCE)
MEMORY_TYPES = ("fact", "preference", "decision", "identity", "pitfall", "procedure", "episodic", "goal")
DNA_TYPES = frozenset({"preference", "decision", "identity", "pitfall", "procedure"})
"""Memories of these types, and pinned ones, are never dropped without being told to (section 5.1)."""
ZONES = ("critical", "important", "standard")
EDGE_TYPES = ("hebbian", "semantic", "temporal", "causal")
ENTITY_KINDS = ("person", "organization", "place", "technology", "concept")
EXTENSION = "x-"
"""What an edge type or an entity kind of one's own begins with; something has to follow."""

CHUNKS, EDGES, ENTITIES, LINKS = "chunks", "edges", "entities", "chunk_entities"
ARRAYS = (CHUNKS, EDGES, ENTITIES, LINKS)
KINDS = {CHUNKS: "chunk", EDGES: "edge", ENTITIES: "entity", LINKS: "chunk_entity"}
"""The array of a bundle -> the `_kind` of its lines in a stream (section 3.1)."""
KIND = "_kind"

WRONG, STALE, TOO_LARGE = 422, 409, 413
"""HTTP status codes by which a bundle is refused: malformed, checksum, over a limit."""


class BundleRefused(SourceRefused):
    """A bundle that is none, is damaged, or goes beyond a limit. `format_code` is the end of the problem type
    (`checksum_mismatch`), `status` what a server answers with, `where` a path like `edges[3].weight`. The message
    holds nothing of what the memories say."""

    fix = "export the bundle again where it came from"

    def __init__(self, message: str, *, format_code: str, status: int = WRONG, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message, format_code=format_code, where=where)
        self.detail = message
        self.status = status


class BundleRecords(Protocol):
    """The records of one array, in their order, as often as they are asked for."""

    def __iter__(self) -> Iterator[JsonObject]: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class BundleLimits:
    """How much a reader takes. `document` and `stream` are bytes (a document is held in memory, a stream is not),
    `line` the bytes of one line of a stream, `content` code points (65,536 have to be taken, section 2.2)."""

    document: int = 1 << 30
    stream: int = 16 << 30
    line: int = 32 << 20
    depth: int = 100
    content: int = 1_048_576
    dimensions: int = 65_536
    chunks: int = 1_000_000
    edges: int = 10_000_000
    entities: int = 1_000_000
    chunk_entities: int = 10_000_000

    def of(self, array: str) -> int:
        """How many records an array may have."""
        most: int = getattr(self, array)
        return most


LIMITS = BundleLimits()
OPEN_CONTENT = 65_536
"""Code points that every reader takes; some take no more."""


@dataclass(slots=True)
class Envelope:
    """What a bundle says of itself. `since` is set for the scope SINCE only; `extra` holds members that the draft does
    not name. `checksum` is "" before it is computed."""

    format: str
    version: str
    producer: str
    tenant_id: str
    exported_at: str
    scope: str
    since: str | None = None
    checksum: str = ""
    embedding_dim: int | None = None
    embedding_model: str | None = None
    extra: JsonObject = field(default_factory=dict)

    def members(self) -> JsonObject:
        """The members that it is written with, but for the checksum and the arrays."""
        known = {
            "format": self.format,
            "version": self.version,
            "producer": self.producer,
            "tenant_id": self.tenant_id,
            "exported_at": self.exported_at,
            "scope": self.scope,
            "since": self.since,
            "embedding_dim": self.embedding_dim,
            "embedding_model": self.embedding_model,
        }
        return {**self.extra, **{name: value for name, value in known.items() if value is not None}}


@dataclass(slots=True)
class AimemBundle:
    """A bundle that was read and checked whole. Records are in the order in which they came, doubles of edges and links
    included. `head` is the envelope as it stood, but for the checksum and the arrays; `present` the arrays that the
    checksum covers; `rejected` the wrong records that were left out of a salvaged one. The records of a stream are gone
    once the bundle is closed."""

    envelope: Envelope
    chunks: BundleRecords
    edges: BundleRecords
    entities: BundleRecords
    chunk_entities: BundleRecords
    notices: list[FormatNotice] = field(default_factory=list)
    head: JsonObject = field(default_factory=dict)
    present: tuple[str, ...] = ARRAYS
    rejected: list[ItemFate] = field(default_factory=list)

    def array(self, name: str) -> BundleRecords:
        records: BundleRecords = getattr(self, name)
        return records


def is_dna(chunk: JsonObject) -> bool:
    """Whether a chunk is kept against everything that nobody asked for (sections 1.2 and 5.1)."""
    return chunk.get("memory_type") in DNA_TYPES or chunk.get("is_pinned") is True
