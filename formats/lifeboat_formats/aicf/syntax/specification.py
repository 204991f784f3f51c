"""Sections of AICF 3.1: their fields, columns and enumerated words."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class FieldType(StrEnum):
    """The type of a field."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    TIME = "time"
    PERCENTAGE = "percentage"
    LIST = "list"
    VECTOR = "vector"
    WORD = "word"
    """One of `FieldSpec.words`."""


class FieldSpec(NamedTuple):
    """The specification of one field."""

    holds: FieldType = FieldType.TEXT
    is_required: bool = False
    words: frozenset[str] = frozenset()


_TIME = FieldSpec(FieldType.TIME)
_INTEGER = FieldSpec(FieldType.INTEGER)
_LIST = FieldSpec(FieldType.LIST)
_TEXT = FieldSpec()

STATES = frozenset(("completed", "in_progress", "blocked", "cancelled"))
SESSION_STATES = frozenset(("active", "completed", "archived"))
CATEGORIES = frozenset(("ARCHITECTURE", "IMPLEMENTATION", "STRATEGY", "DATA", "SECURITY", "PERFORMANCE", "GENERAL"))
IMPACTS = frozenset(("CRITICAL", "HIGH", "MEDIUM", "LOW"))
"""Priorities of insights and impacts of decisions."""
CONFIDENCES = frozenset(("HIGH", "MEDIUM", "LOW"))
MEMORY_TYPES = frozenset(("semantic", "episodic", "procedural"))
_PLAIN_RELATIONS = ("depends_on", "related_to", "supersedes", "implements")
RELATIONS = frozenset((*_PLAIN_RELATIONS, "semantic_cluster", "temporal_sequence", "causal_relationship"))
METHODS = frozenset(("semantic_clustering", "temporal_summarization", "deduplication", "importance_filtering"))
SCOPES = ("user", "app", "temp")
"""Scopes of a state besides `session`. They are also prefixes of keys."""

FIELDS: Mapping[str, Mapping[str, FieldSpec]] = {
    "AICF_VERSION": {"version": FieldSpec(is_required=True)},
    "CONVERSATION": {
        "timestamp_start": _TIME._replace(is_required=True),
        "timestamp_end": _TIME._replace(is_required=True),
        "messages": _INTEGER._replace(is_required=True),
        "tokens": _INTEGER,
        "topic": _TEXT,
        "participants": _LIST,
        "platform": _TEXT,
    },
    "STATE": {"status": FieldSpec(FieldType.WORD, words=STATES), "actions": _TEXT, "flow": _LIST},
    "SESSION": {
        "app_name": _TEXT._replace(is_required=True),
        "user_id": _TEXT._replace(is_required=True),
        "created_at": _TIME._replace(is_required=True),
        "last_update_time": _TIME._replace(is_required=True),
        "status": FieldSpec(FieldType.WORD, True, SESSION_STATES),
        "event_count": _INTEGER,
        "total_tokens": _INTEGER,
        "session_duration_seconds": _INTEGER,
    },
    "EMBEDDING": {
        "model": _TEXT._replace(is_required=True),
        "dimension": _INTEGER._replace(is_required=True),
        "vector": FieldSpec(FieldType.VECTOR, True),
        "indexed_at": _TIME,
        "similarity_threshold": FieldSpec(FieldType.NUMBER),
        "keywords": _LIST,
    },
    "CONSOLIDATION": {
        "source_items": _LIST._replace(is_required=True),
        "consolidated_at": _TIME._replace(is_required=True),
        "method": FieldSpec(FieldType.WORD, True, METHODS),
        "semantic_theme": _TEXT,
        "key_facts": _LIST,
        "information_preserved": FieldSpec(FieldType.PERCENTAGE),
        "compression_ratio": FieldSpec(FieldType.NUMBER),
    },
}
"""Sections of pairs, with their fields in the order of the specification."""

_CATEGORY = FieldSpec(FieldType.WORD, words=CATEGORIES)
_IMPACT = FieldSpec(FieldType.WORD, words=IMPACTS)
_CONFIDENCE = FieldSpec(FieldType.WORD, words=CONFIDENCES)

COLUMNS: Mapping[str, tuple[FieldSpec, ...]] = {
    "INSIGHTS": (_TEXT, _CATEGORY, _IMPACT, _CONFIDENCE),
    "DECISIONS": (_TEXT, _IMPACT, _CONFIDENCE, _TEXT),
}
"""Sections of rows, with their cells in order. Rows of links have their own form."""

SECTIONS = frozenset((*FIELDS, *COLUMNS, "LINKS"))
OWN_PREFIX = "ALF_"
"""Prefix of the names of extension sections."""
OWN_FIELDS = frozenset((name, "content") for name in ("CONVERSATION", "SESSION", "CONSOLIDATION"))
"""Fields that our writer adds to specified sections: the text of a memory that is not a list of facts."""

LARGEST_FILE = 100 * 1024 * 1024
LARGEST_LINE = 1024 * 1024
LARGEST_FIELD = 64 * 1024
"""In bytes, as the specification recommends ("Size Limits")."""
