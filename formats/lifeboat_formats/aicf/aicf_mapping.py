"""Maps AICF sections to the Agent Life Format: the values that reading and writing apply, and the tables of the
documentation made from them (AICF 3.1, "Required Sections", "Optional Sections")."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lifeboat_formats.interchange.contract import MappingRow, MappingTable

RUNTIME = "aicf"
RAW = "raw/aicf/"
OWN = "x_aicf"
"""The record field that holds what only AICF knows of a memory."""
VERSION = "3.1"

CONVERSATION, MESSAGE, STATE, SESSION, CONSOLIDATION = "conversation", "message", "state", "session", "consolidation"
INSIGHT, DECISION, WORK, MEMORY, TEXT, UNKNOWN, ROW = "insight", "decision", "work", "memory", "text", "unknown", "row"
APP_STATE, USER_STATE = "app_state", "user_state"


@dataclass(frozen=True, slots=True)
class PieceKind:
    """What a piece of a file becomes: type and category of its record, and a description of its content."""

    theirs: str
    memory_type: str
    category: str
    content: str


KINDS: Mapping[str, PieceKind] = {
    CONVERSATION: PieceKind(
        "@CONVERSATION",
        "episodic",
        "aicf:conversation",
        "the text is `content`; if it is missing, Lifeboat makes one line from topic, messages, platform and times",
    ),
    MESSAGE: PieceKind(
        "row of @CONVERSATION, row `DATA` (2.0), `<message>`",
        "episodic",
        "aicf:message",
        "the memory contains the text; the role is stored in `x_aicf`",
    ),
    STATE: PieceKind(
        "@STATE, @STATE:session",
        "summary",
        "aicf:state",
        "the text is `content`; if it is missing, the text is `status: ..; actions: ..; flow: a -> b`",
    ),
    USER_STATE: PieceKind(
        "each key of @STATE:user",
        "semantic",
        "aicf:state:user",
        "the text is `key: value`; if the key contains `prefer`, the memory is a preference",
    ),
    APP_STATE: PieceKind("each key of @STATE:app", "semantic", "aicf:state:app", "the text is `key: value`"),
    SESSION: PieceKind(
        "@SESSION", "episodic", "aicf:session", "Lifeboat makes one line from application, user and times"
    ),
    INSIGHT: PieceKind(
        "@INSIGHTS", "semantic", "aicf:insight", "the memory contains the text; `memory_type=` gives its type"
    ),
    DECISION: PieceKind(
        "@DECISIONS", "semantic", "aicf:decision", "the text is the decision, then `Rationale: ..` after a blank line"
    ),
    CONSOLIDATION: PieceKind(
        "@CONSOLIDATION",
        "summary",
        "aicf:consolidation",
        "the text is the theme, then each key fact on a separate line",
    ),
    MEMORY: PieceKind(
        "@MEMORY", "semantic", "aicf:memory", "the memory contains the text; the word after `@MEMORY:` gives its type"
    ),
    WORK: PieceKind("@WORK", "semantic", "aicf:work", "the text is the description; the status is stored in `x_aicf`"),
    ROW: PieceKind(
        "each row of @DATA (AICF 2.0)", "semantic", "aicf:v2", "the text has one line `column: value` for each column"
    ),
    TEXT: PieceKind("@NOTES, @CONTEXT, free text", "semantic", "aicf:text", "the memory contains the text"),
    UNKNOWN: PieceKind(
        "unknown section", "semantic", "aicf:unknown", "the memory contains the lines of the section, unchanged"
    ),
}

LEVELS: Mapping[str, float] = {"HIGH": 0.9, "MEDIUM": 0.6, "LOW": 0.3}
THRESHOLDS: Sequence[tuple[float, str]] = ((0.75, "HIGH"), (0.45, "MEDIUM"), (0.0, "LOW"))
"""Lowest confidence for each level, for numbers that were changed or never were a level."""

RELATIONS: Mapping[str, str] = {
    "depends_on": "depends_on",
    "related_to": "related_to",
    "supersedes": "supersedes",
    "implements": "implements",
    "semantic_cluster": "semantic_cluster",
    "temporal_sequence": "temporal_sequence",
    "causal_relationship": "caused",
    "supports": "supports",
}
RELATION_BACK: Mapping[str, str] = {ours: theirs for theirs, ours in RELATIONS.items()}
ELABORATES, DERIVED = "elaborates_on", "derived_from"
"""Relations that follow from the position of a piece, so that no row of @LINKS states them."""

PROVIDERS: Sequence[tuple[str, str]] = (("text-embedding-", "openai/"), ("gemini-", "google/"), ("bge-", "BAAI/"))
"""Provider of an embedding model, by the beginning of the model's name."""

STATUSES: Mapping[str, str] = {"active": "active", "completed": "active", "archived": "archived"}
"""Record status for the status of a session. The original word is kept too."""

MEMORY_TYPES = frozenset(("semantic", "episodic", "procedural", "preference", "summary"))
LEAST_WORDS = 200
"""Longest preference, in characters, that is written as a key of @STATE:user."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_:.-]*")


def confidence_of(literal: str) -> float | None:
    """Return a confidence cell as a number between 0 and 1, or None for an unknown word."""
    level = LEVELS.get(literal.strip().upper())
    if level is not None:
        return level
    try:
        value = float(literal)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None


def level_of(confidence: object) -> str:
    """Return the level of a confidence, MEDIUM if there is none."""
    if not isinstance(confidence, int | float):
        return "MEDIUM"
    return next(level for least, level in THRESHOLDS if confidence >= least or level == "LOW")


def name_embedding_model(literal: str) -> str:
    """Return `provider/name` of an embedding model."""
    if "/" in literal:
        return literal
    provider = next((owner for start, owner in PROVIDERS if literal.startswith(start)), "unknown/")
    return provider + literal


def aicf_model_name(model: str) -> str:
    """Return the AICF name of a model if `name_embedding_model` restores the model from it, else the model
    unchanged."""
    literal = model.partition("/")[2]
    return literal if literal and name_embedding_model(literal) == model else model


def is_key(text: str) -> bool:
    """Return whether a text can stand before `=`."""
    return _PLAIN_KEY.fullmatch(text) is not None


def category_of(kind: str, detail: str = "") -> str:
    """Return the category of a record. `detail` is the section name for unknown sections and rows of AICF 2.0."""
    return f"{KINDS[kind].category}:{detail}" if detail else KINDS[kind].category


def build_mapping_tables() -> list[MappingTable]:
    """Return the mapping tables of `docs/interchange.md`."""
    return [_sections(), _fields(), _levels(), _links(), _models(), _back()]


def _sections() -> MappingTable:
    rows = [
        MappingRow(kind.theirs, f"{kind.memory_type}, category `{kind.category}`", kind.content)
        for kind in KINDS.values()
    ]
    others = [
        MappingRow("@STATE:temp", "no record", "this state is stored only in the raw file"),
        MappingRow(
            "@AICF_VERSION, comments, blank lines, line numbers", "no record", "they are stored only in the raw file"
        ),
        MappingRow(
            "@LINKS",
            "`related_records` of the first memory",
            "a link to a missing item is reported as unresolved and kept",
        ),
        MappingRow(
            "@EMBEDDING",
            "`embeddings` of the memory",
            "only complete vectors are imported; an abbreviated vector stays in the raw file",
        ),
        MappingRow("@ALF_RECORD", "memory fields that AICF does not define", "an extension"),
        MappingRow(
            "@ALF_IDENTITY, @ALF_PRINCIPALS, @ALF_ATTACHMENTS", "identity, principals, list of artifacts", "extensions"
        ),
    ]
    return MappingTable("AICF: sections", [*rows, *others])


def _fields() -> MappingTable:
    return MappingTable(
        "AICF: fields",
        [
            MappingRow("`timestamp_start`", "`observed_at`, `valid_from`", "the end time is stored in `x_aicf`"),
            MappingRow("conversation id", "`source.interaction_id`"),
            MappingRow("session id (from the last session section before the item)", "`source.session_id`"),
            MappingRow(
                "`user_id` in the section @SESSION",
                "principal",
                "the keys of @STATE:user get the namespace `principal_context:`",
            ),
            MappingRow("`participants`", "`entities`, role `participant`"),
            MappingRow("`topic`, category, priority, impact", "tags `topic:`, `category:`, `priority:`, `impact:`"),
            MappingRow(
                "`status` in the section @SESSION", ", ".join(f"{theirs}: {ours}" for theirs, ours in STATUSES.items())
            ),
            MappingRow("every other field", "`x_aicf`"),
        ],
    )


def _levels() -> MappingTable:
    rows = [MappingRow(level, str(value)) for level, value in LEVELS.items()]
    back = "; ".join(f"{least} or more: {level}" for least, level in THRESHOLDS)
    return MappingTable("AICF: confidence", [*rows, MappingRow("at export, if the confidence value was changed", back)])


def _links() -> MappingTable:
    return MappingTable("AICF: relations", [MappingRow(theirs, ours) for theirs, ours in RELATIONS.items()])


def _models() -> MappingTable:
    rows = [MappingRow(f"{start}*", f"{owner}{start}*") for start, owner in PROVIDERS]
    return MappingTable(
        "AICF: embedding models", [*rows, MappingRow("any other", "unknown/*", "a name with `/` stays unchanged")]
    )


def _back() -> MappingTable:
    return MappingTable(
        "AICF: memories of other systems",
        [
            MappingRow(
                "@STATE:user",
                "preference `key: value`",
                f"used only if the text is one line of fewer than {LEAST_WORDS} characters",
            ),
            MappingRow("@CONSOLIDATION", "summary"),
            MappingRow("@INSIGHTS with `memory_type=`", "every other memory"),
            MappingRow("@ALF_RECORD", "memory fields that have no field in the section"),
            MappingRow("nothing", "credentials", "credentials are never written"),
        ],
    )
