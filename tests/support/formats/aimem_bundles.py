"""AIMEM bundles for tests: valid ones, odd ones that must be accepted, and ones with a single error.

Checksums are computed here with `rfc8785` over the plain objects, not by the code under test.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from typing import Any

import rfc8785

from lifeboat_alf.common.json_types import JsonObject

PRODUCER = "alf-test"
TENANT = "11111111-1111-1111-1111-111111111111"
WHEN = "2026-06-12T10:00:00Z"
MODEL = "text-embedding-example"
ARRAYS = {"chunks": "chunk", "entities": "entity", "edges": "edge", "chunk_entities": "chunk_entity"}


class _Absent:
    """The value of a member that is to be left out."""


ABSENT = _Absent()


def _without_absent(members: JsonObject) -> JsonObject:
    return {name: value for name, value in members.items() if value is not ABSENT}


def urn(local: str, producer: str = PRODUCER) -> str:
    return f"urn:aimem:{producer}:{local}"


def content_hash(content: str) -> str:
    return "sha256:" + hashlib.sha256(content.encode()).hexdigest()


def packed(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def chunk(local: str = "c1", content: Any = "Prefers tea in the morning.", **changes: Any) -> JsonObject:
    """Return a chunk with every member. ABSENT leaves one out. The hash follows the content unless it is given."""
    members = {
        "id": urn(local),
        "content": content,
        "content_hash": content_hash(content) if isinstance(content, str) else ABSENT,
        "memory_type": "fact",
        "zone": "standard",
        "is_pinned": False,
        "created_at": "2026-04-01T09:30:00Z",
        "tags": ["db"],
        "embedding": None,
    }
    return _without_absent({**members, **changes})


def edge(source: str = "c1", target: str = "c2", **changes: Any) -> JsonObject:
    members = {
        "source_id": urn(source),
        "target_id": urn(target),
        "edge_type": "semantic",
        "weight": 0.42,
        "created_at": "2026-04-15T08:00:00Z",
    }
    return _without_absent({**members, **changes})


def entity(local: str = "e1", name: str = "PostgreSQL", **changes: Any) -> JsonObject:
    members = {"id": urn(local), "name": name, "kind": "technology", "created_at": "2026-04-01T09:30:00Z"}
    return _without_absent({**members, **changes})


def link(chunk_local: str = "c1", entity_local: str = "e1", **changes: Any) -> JsonObject:
    return _without_absent({"chunk_id": urn(chunk_local), "entity_id": urn(entity_local), **changes})


def checksum(bundle: JsonObject) -> str:
    covered = {name: value for name, value in bundle.items() if name != "checksum"}
    return "sha256:" + hashlib.sha256(rfc8785.dumps(covered)).hexdigest()


def sealed(bundle: JsonObject) -> JsonObject:
    """Return the bundle with a matching checksum."""
    return {**bundle, "checksum": checksum(bundle)}


def bundle(**changes: Any) -> JsonObject:
    """Return a bundle with four empty arrays and a matching checksum. ABSENT leaves a member out."""
    members = {
        "format": "aimem-bundle",
        "version": "1",
        "producer": PRODUCER,
        "tenant_id": TENANT,
        "exported_at": WHEN,
        "scope": "FULL",
        "chunks": [],
        "edges": [],
        "entities": [],
        "chunk_entities": [],
    }
    changed = _without_absent({**members, **changes})
    return changed if "checksum" in changes else sealed(changed)


def sample() -> JsonObject:
    """Return a bundle with an example of everything, including an embedding."""
    return bundle(
        embedding_dim=3,
        embedding_model=MODEL,
        chunks=[
            chunk("c1", memory_type="preference", zone="important", embedding=packed(1.0, -2.5, 0.1)),
            chunk("c2", "Chose PostgreSQL — naïve 日本 😀", memory_type="decision", is_pinned=True, tags=[]),
            chunk("c3", "Fell into the same trap.", memory_type="pitfall", zone=ABSENT, is_pinned=ABSENT, tags=ABSENT),
            chunk("c4", "On Monday they met.", memory_type="episodic", content_hash=ABSENT, embedding=ABSENT),
        ],
        edges=[
            edge("c1", "c2", edge_type="hebbian"),
            edge("c2", "c3", edge_type="causal", weight=1),
            edge("c3", "c1", edge_type="x-elaborates-on", weight=0),
            edge("c4", "c4", edge_type="temporal", weight=0.5),
        ],
        entities=[entity("e1"), entity("e2", "Mara Example", kind="person"), entity("e3", "Alpha", kind="x-project")],
        chunk_entities=[link("c1", "e1"), link("c2", "e1"), link("c2", "e2")],
    )


def many(count: int) -> JsonObject:
    """Return a bundle of `count` chunks, each with an edge to the next and a link to one of seven entities."""
    chunks = [chunk(f"c{number}", f"Memory number {number}.") for number in range(count)]
    edges = [edge(f"c{number}", f"c{number + 1}", weight=number % 100 / 100) for number in range(count - 1)]
    entities = [entity(f"e{number}", f"Thing {number}") for number in range(7)]
    links = [link(f"c{number}", f"e{number % 7}") for number in range(count)]
    return bundle(chunks=chunks, edges=edges, entities=entities, chunk_entities=links)


def document(bundle: JsonObject) -> bytes:
    """Return a bundle as a JSON document."""
    return json.dumps(bundle, ensure_ascii=False).encode()


def stream(bundle: JsonObject) -> bytes:
    """Return a bundle as a stream: the envelope, then every record with its kind."""
    head = {name: value for name, value in bundle.items() if name not in ARRAYS}
    records = [{"_kind": kind, **record} for name, kind in ARRAYS.items() for record in bundle.get(name, [])]
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in (head, *records))


def with_chunk(**changes: Any) -> JsonObject:
    """Return a bundle of one chunk with these changes."""
    return bundle(chunks=[chunk(**changes)])


def with_edge(**changes: Any) -> JsonObject:
    return bundle(chunks=[chunk("c1"), chunk("c2")], edges=[edge(**changes)])


def with_entity(**changes: Any) -> JsonObject:
    return bundle(entities=[entity(**changes)])


INVALID: dict[str, tuple[JsonObject, str, int]] = {
    "another format": (bundle(format="other-bundle"), "bad_format", 422),
    "version two": (bundle(version="2"), "unsupported_version", 422),
    "no producer": (bundle(producer=ABSENT), "missing_field", 422),
    "a producer in capitals": (bundle(producer="ALF"), "invalid_producer", 422),
    "an unknown scope": (bundle(scope="SOME"), "invalid_scope", 422),
    "SINCE without since": (bundle(scope="SINCE"), "since_missing", 422),
    "no checksum": (bundle(checksum=ABSENT), "missing_checksum", 422),
    "a wrong checksum": (bundle(checksum="sha256:" + "0" * 64), "checksum_mismatch", 409),
    "an id that is no URN": (with_chunk(id="chunk-1"), "invalid_urn", 422),
    "an empty content": (with_chunk(content=""), "empty_content", 422),
    "a hash of something else": (with_chunk(content_hash=content_hash("other")), "hash_mismatch", 422),
    "an unknown memory type": (with_chunk(memory_type="opinion"), "invalid_memory_type", 422),
    "an edge to nowhere": (with_edge(target_id=urn("c9")), "edge_target_unknown", 422),
    "an embedding of the wrong length": (
        bundle(embedding_dim=4, embedding_model=MODEL, chunks=[chunk(embedding=packed(1.0, 2.0))]),
        "embedding_dim_mismatch",
        422,
    ),
}
"""Bundles that are wrong in one way: what is wrong -> the bundle, the code, the HTTP status."""

ODD: dict[str, JsonObject] = {
    "empty": bundle(),
    "no optional arrays": bundle(edges=ABSENT, entities=ABSENT, chunk_entities=ABSENT),
    "the longest content that everybody takes": with_chunk(content="ä" * 65_536),
    "a longer content": with_chunk(content="x" * 65_537),
    "characters beyond the first plane": with_chunk(content="😀" * 1000),
    "line ends and control characters": with_chunk(content="a\nb\r\nc\t\u0000\u001b[31m\u2028"),
    "a tenant as DID": bundle(tenant_id="did:example:123"),
    "a tenant as URI": bundle(tenant_id="https://example.com/tenants/1"),
    "nine digits of a second": with_chunk(created_at="2026-04-01T09:30:00.123456789Z"),
    "an offset of zero": with_chunk(created_at="2026-04-01T09:30:00+00:00"),
    "a local name of 256 characters": with_chunk(id=urn("x" * 256)),
    "every character of a local name": with_chunk(id=urn("".join(map(chr, {*range(0x21, 0x7F)} - {0x3A})))),
    "a name of another producer": with_chunk(id=urn("c1", "elsewhere")),
    "null where absent is meant": with_chunk(zone=None, embedding=None, content_hash=None),
    "an edge to itself": bundle(chunks=[chunk()], edges=[edge("c1", "c1")]),
    "an edge twice": bundle(chunks=[chunk("c1"), chunk("c2")], edges=[edge(), edge()]),
    "weights at both ends": bundle(chunks=[chunk()], edges=[edge("c1", "c1", weight=w) for w in (0, 1, 0.0, 1.0)]),
    "tiny weights": bundle(chunks=[chunk()], edges=[edge("c1", "c1", weight=w) for w in (1e-6, 1e-7, 5e-324, -0.0)]),
    "unknown members": bundle(x_other={"é": [1.5, None, True]}, chunks=[chunk(x_alf={"confidence": 0.9})]),
    "a tag of 64 characters": with_chunk(tags=["😀" * 64, "UPPER", "UPPER"]),
    "an entity and a chunk of one name": bundle(chunks=[chunk("same")], entities=[entity("same")]),
    "a plain memory in DNA_ONLY": bundle(scope="DNA_ONLY", chunks=[chunk()]),
    "since where nobody asked": bundle(since="long ago"),
    "a window of time": bundle(scope="SINCE", since="2026-01-01T00:00:00Z", chunks=[chunk()]),
    "the name before the draft": bundle(format="memoryai-bundle"),
    "sample": sample(),
}
"""Bundles at the edge of what is allowed; each has to be taken."""
