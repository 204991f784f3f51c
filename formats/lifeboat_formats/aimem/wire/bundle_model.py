"""The data model of an AIMEM bundle (draft-vu-aimem-bundle-00): its constants, its limits, and the error that refuses
one.

A bundle is an envelope and four arrays. Records stay the JSON objects that they are; `bundle_checks` validates them.
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
"""The format name that implementations wrote before the draft. It is read and never written (section 2.1)."""
VERSION = "1"
MEDIA_TYPE = "application/aimem-bundle+json"
STREAM_MEDIA_TYPE = "application/x-ndjson"

FULL, DNA_ONLY, SINCE = "FULL", "DNA_ONLY", "SINCE"
SCOPES = (FULL, DNA_ONLY, SINCE)
MEMORY_TYPES = ("fact", "preference", "decision", "identity", "pitfall", "procedure", "episodic", "goal")
DNA_TYPES = frozenset({"preference", "decision", "identity", "pitfall", "procedure"})
"""Memories of these types, and pinned ones, are only dropped on explicit request (section 5.1)."""
ZONES = ("critical", "important", "standard")
EDGE_TYPES = ("hebbian", "semantic", "temporal", "causal")
ENTITY_KINDS = ("person", "organization", "place", "technology", "concept")
EXTENSION = "x-"
"""Prefix of custom edge types and entity kinds; something must follow it."""

CHUNKS, EDGES, ENTITIES, LINKS = "chunks", "edges", "entities", "chunk_entities"
ARRAYS = (CHUNKS, EDGES, ENTITIES, LINKS)
KINDS = {CHUNKS: "chunk", EDGES: "edge", ENTITIES: "entity", LINKS: "chunk_entity"}
"""The `_kind` of the lines of each array in a stream (section 3.1)."""
KIND = "_kind"

WRONG, STALE, TOO_LARGE = 422, 409, 413
"""HTTP status codes for a refused bundle: malformed, checksum mismatch, over a limit."""


class BundleRefused(SourceRefused):
    """The bundle is malformed, damaged, or over a limit. `format_code` is the end of the problem type
    (`checksum_mismatch`), `status` the HTTP status, `where` a path such as `edges[3].weight`. The message contains no
    memory content."""

    fix = "export the bundle again from the program that made it"

    def __init__(
        self, message: str, *, format_code: str, status: int = WRONG, where: str = "", fix: str | None = None
    ) -> None:
        super().__init__(f"{where}: {message}" if where else message, format_code=format_code, where=where, fix=fix)
        self.detail = message
        self.status = status


class BundleRecords(Protocol):
    """The records of one array, in order. They can be iterated repeatedly."""

    def __iter__(self) -> Iterator[JsonObject]: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class BundleLimits:
    """Limits of a reader. `document` and `stream` are in bytes (a document is held in memory, a stream is not), `line`
    is the bytes of one line of a stream, `content` is in code points (at least 65,536 must be accepted, section
    2.2)."""

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
        """Return the largest number of records in an array."""
        most: int = getattr(self, array)
        return most


LIMITS = BundleLimits()
OPEN_CONTENT = 65_536
"""Longest content, in code points, that every reader accepts."""


@dataclass(slots=True)
class Envelope:
    """The envelope of a bundle. `since` is only set for the scope SINCE, `extra` holds members that the draft does not
    name. `checksum` is "" until it is computed."""

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
        """Return the members to write, without the checksum and the arrays."""
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
    """A bundle that was read and checked completely.

    Records keep their order; repeated edges and links are included. `head` is the original envelope without checksum
    and arrays, `present` are the arrays that the checksum covers, `rejected` the wrong records that a salvage left out.
    The records of a stream are only available until the bundle is closed.
    """

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
        """Return the records of an array by its name."""
        records: BundleRecords = getattr(self, name)
        return records


def is_dna(chunk: JsonObject) -> bool:
    """Return whether a chunk is protected from implicit changes (sections 1.2 and 5.1)."""
    return chunk.get("memory_type") in DNA_TYPES or chunk.get("is_pinned") is True
