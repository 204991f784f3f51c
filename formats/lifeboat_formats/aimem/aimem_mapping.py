"""What is what in a bundle and in the Agent Life Format: tables that are applied in both directions, and shown.

What both sides have in common is in the tables here. Which type a memory of ours has in a bundle is said in one place,
`lifeboat_alf.memory.memory_records.bundle_type`; its table is made by asking it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_formats.aimem.wire.bundle_model import EDGE_TYPES, ENTITY_KINDS, EXTENSION, MEMORY_TYPES
from lifeboat_formats.interchange.contract import MappingRow, MappingTable

NAME = "x_aimem"
"""The extension object of a record that came from a bundle, of its relations and of its entities."""
OURS = "x_alf"
"""The extension object of a chunk, an edge or a link that we wrote: what a bundle has no member for."""

CATEGORY = "aimem:"
"""What the category of a memory that came from a bundle begins with."""
TYPE_TAG, STATUS_TAG = "alf-type:", "alf-status:"
"""Tags that say what a bundle has no type and no member for."""
TAG_LENGTH = 64


class BundleMemoryType(NamedTuple):
    """A memory type of a bundle as ours."""

    theirs: str
    ours: str

    @property
    def category(self) -> str:
        return CATEGORY + self.theirs


TYPES: Mapping[str, BundleMemoryType] = {
    each.theirs: each
    for each in (
        BundleMemoryType("fact", "semantic"),
        BundleMemoryType("preference", "preference"),
        BundleMemoryType("decision", "semantic"),
        BundleMemoryType("identity", "semantic"),
        BundleMemoryType("goal", "semantic"),
        BundleMemoryType("pitfall", "procedural"),
        BundleMemoryType("procedure", "procedural"),
        BundleMemoryType("episodic", "episodic"),
    )
}

_RELATIONS: Mapping[str, str] = {
    "semantic": "related_to",
    "causal": "caused",
    "temporal": "temporal",
    "hebbian": "hebbian",
    "x-derived-from": "derived_from",
    "x-elaborates-on": "elaborates_on",
}
"""Edge types and relations that have different names; `x-NAME` is the relation `NAME` otherwise."""
_EDGE_TYPES = {relation: edge_type for edge_type, relation in _RELATIONS.items()}
CAUSED_BY = "caused_by"
"""The relation that is an edge the other way round."""
SUPERSEDES = "supersedes"
PART_OF = "x-part-of"

_KINDS: Mapping[str, str] = {
    "person": "person",
    "organization": "organization",
    "place": "location",
    "technology": "tool",
    "concept": "other",
    "x-project": "project",
    "x-service": "service",
}
_ENTITY_KINDS = {ours: theirs for theirs, ours in _KINDS.items()}

_PROVIDERS: Mapping[str, str] = {
    "text-embedding-3-small": "openai",
    "text-embedding-3-large": "openai",
    "text-embedding-ada-002": "openai",
    "bge-small-en-v1.5": "BAAI",
    "bge-base-en-v1.5": "BAAI",
    "bge-large-en-v1.5": "BAAI",
    "bge-m3": "BAAI",
    "all-MiniLM-L6-v2": "sentence-transformers",
    "nomic-embed-text": "ollama",
}
_UNKNOWN_PROVIDER = "unknown"

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,60}")
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


# Types --------------------------------------------------------------------------------------------------------------


def type_of(record: JsonObject) -> str:
    """The memory type that a record has in a bundle."""
    found = memory_records.bundle_type(record)
    return found if found in MEMORY_TYPES else memory_records.bundle_type({**record, NAME: None})


# Relations ----------------------------------------------------------------------------------------------------------


def relation_of(edge_type: str) -> str:
    """What an edge type is as a relation."""
    return _RELATIONS.get(edge_type) or edge_type.removeprefix(EXTENSION)


def edge_type_of(relation: str) -> str:
    """What a relation is as an edge type. Not every relation comes back from it: what is no word is spelled anew."""
    known = _EDGE_TYPES.get(relation)
    return known or EXTENSION + _word(relation)


def is_word(value: object, words: Sequence[str]) -> bool:
    """Whether a value is a word of the draft, or somebody's own."""
    return isinstance(value, str) and (value in words or (value.startswith(EXTENSION) and value != EXTENSION))


# Entities -----------------------------------------------------------------------------------------------------------


def entity_type_of(kind: str) -> str:
    """What the kind of an entity is as a type; one of somebody's own is `other`."""
    return _KINDS.get(kind, "other")


def kind_of(entity_type: str) -> str:
    """What the type of an entity is as a kind."""
    return _ENTITY_KINDS.get(entity_type) or EXTENSION + _word(entity_type)


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else _ODD.sub("-", text).strip("-")[:60] or "other"


# Models of vectors --------------------------------------------------------------------------------------------------


def model_of(name: str) -> str:
    """The model of a bundle with its provider; one whose provider nobody knows is `unknown/NAME`."""
    return name if "/" in name else f"{_PROVIDERS.get(name, _UNKNOWN_PROVIDER)}/{name}"


def model_name_of(model: str) -> str:
    """The name of a model in a bundle: without a provider that `model_of` gives back."""
    name = model.partition("/")[2]
    return name if name and model_of(name) == model else model


# Shown --------------------------------------------------------------------------------------------------------------

_SAMPLES: Sequence[tuple[str, JsonObject]] = (
    ("semantic", {"memory_type": "semantic"}),
    ("semantic, category `decision`", {"memory_type": "semantic", "category": "decision"}),
    ("semantic, category `identity`", {"memory_type": "semantic", "category": "identity"}),
    ("semantic, category `goal`", {"memory_type": "semantic", "category": "goal"}),
    ("semantic, category `bad_pattern`", {"memory_type": "semantic", "category": "bad_pattern"}),
    ("semantic, tag `pitfall`", {"memory_type": "semantic", "tags": ["pitfall"]}),
    ("preference", {"memory_type": "preference"}),
    ("procedural", {"memory_type": "procedural"}),
    ("procedural, category `bad_pattern`", {"memory_type": "procedural", "category": "bad_pattern"}),
    ("episodic", {"memory_type": "episodic"}),
    ("summary", {"memory_type": "summary"}),
    ("any other", {"memory_type": "x"}),
)
_TYPE_NOTES = {"summary": f"with the tag `{TYPE_TAG}summary`", "any other": f"its own name stays in `{OURS}`"}

_CHUNK_ROWS = (
    MappingRow("`id`", "`id`", "a name of ours is the record's id; another one gives a stable id, and stays beside it"),
    MappingRow("`content`", "`content`"),
    MappingRow("`content_hash`", "made from `content`", "checked when it is read"),
    MappingRow("`created_at`", "`temporal.created_at`", "as it was written, to the nanosecond, beside it"),
    MappingRow("`tags`", "`tags`", f"1 to {TAG_LENGTH} characters, in lower case; others stay in `{OURS}`"),
    MappingRow("`zone`", f"`{NAME}.zone`", "absent stays absent"),
    MappingRow("`is_pinned`", f"`{NAME}.is_pinned`, `{memory_records.PINNED}`", "kept until its user says otherwise"),
    MappingRow("`embedding`", "`embeddings`", "only with `--include-embeddings`; one model in a bundle"),
    MappingRow(f"`{OURS}`", "every other field", "left out with `--pure`, then each is a loss of the receipt"),
    MappingRow("content beyond 65,536 characters", "one record", f"in parts that `{PART_OF}` joins again"),
    MappingRow(f"tag `{STATUS_TAG}superseded`", "status `superseded`", "only with `--include-history`"),
    MappingRow(f"tag `{STATUS_TAG}archived`", "status `archived`", "only with `--include-history`"),
    MappingRow("not in a bundle", "deleted memories", "nor do credentials, artifacts and principals go in"),
    MappingRow("type `identity`, one for each text", "identity", "only with `--include-identity`"),
)
_ENVELOPE_ROWS = (
    MappingRow("`producer`", f"`{NAME}.producer`, `source.origin`", "ours is `alf-` and 8 digits, or `--producer`"),
    MappingRow("`tenant_id`", f"`{NAME}.tenant_id`", "ours is the agent's id, or `--tenant`"),
    MappingRow("`exported_at`", "`embeddings[].computed_at`", "a vector is not older than the bundle"),
    MappingRow("`scope`, `since`", "the whole bundle in `raw/aimem/`"),
    MappingRow("`embedding_model`", "`embeddings[].model`", "with its provider, `unknown/NAME` where none is known"),
    MappingRow("entities that no chunk names", "`raw/aimem/entities.jsonl`"),
)


def build_mapping_tables() -> list[MappingTable]:
    """The tables of the documentation."""
    return [
        MappingTable("Memory types, from a bundle", list(_types())),
        MappingTable("Memory types, into a bundle", list(_our_types())),
        MappingTable("Chunks", _CHUNK_ROWS),
        MappingTable("Edges", list(_edges())),
        MappingTable("Entities", list(_entities())),
        MappingTable("The envelope", _ENVELOPE_ROWS),
    ]


def _types() -> Iterator[MappingRow]:
    for name in MEMORY_TYPES:
        found = TYPES[name]
        yield MappingRow(f"`{name}`", f"{found.ours}, category `{found.category}`")


def _our_types() -> Iterator[MappingRow]:
    for ours, sample in _SAMPLES:
        yield MappingRow(f"`{type_of(sample)}`", ours, _TYPE_NOTES.get(ours, ""))


def _edges() -> Iterator[MappingRow]:
    for edge_type in (*EDGE_TYPES, *(name for name in _RELATIONS if name not in EDGE_TYPES)):
        yield MappingRow(f"`{edge_type}`", f"`{relation_of(edge_type)}`")
    yield MappingRow(f"`{edge_type_of('caused')}`, the other way round", f"`{CAUSED_BY}`")
    yield MappingRow(f"`{EXTENSION}NAME`", "`NAME`")
    yield MappingRow("`weight`, `created_at`", f"`{NAME}` of the relation", "1.0 and the record's time where not known")


def _entities() -> Iterator[MappingRow]:
    for kind in (*ENTITY_KINDS, *(name for name in _KINDS if name not in ENTITY_KINDS)):
        yield MappingRow(f"`{kind}`", f"`{entity_type_of(kind)}`")
    yield MappingRow(f"`{EXTENSION}NAME`", f"`{entity_type_of('x-anything')}`", f"the kind stays in `{NAME}`")
