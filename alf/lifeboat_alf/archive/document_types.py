"""Types of the format's documents: read-only views, and the basis of validation.

The decoded dict stays authoritative, because unknown fields survive only there; `msgspec.convert(document, Identity)`
makes a view of it. Enums are plain text, because unknown values are kept (ALF §8.2). `schemas` generates the JSON
schemas from these classes.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, field

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.memory_records import ENUMS


def _enum(name: str) -> Any:
    known = ENUMS[name]
    extra: dict[str, Any] = {"enum": sorted(known.values)}
    return Meta(extra_json_schema=extra | ({"x-unknown-default": known.default} if known.default else {}))


Uuid = Annotated[str, Meta(extra_json_schema={"format": "uuid"}, extra={"format": "uuid"})]
Uri = Annotated[str, Meta(extra_json_schema={"format": "uri"}, extra={"format": "uri"})]
Time = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Text = str | UnsetType
Texts = list[str] | UnsetType
Uuids = list[Uuid] | UnsetType
Object = JsonObject | UnsetType
Moment = Time | None | UnsetType
Version = Annotated[str, Meta(pattern=r"^\d+\.\d+\.\d+")]
Checksum = Annotated[str, Meta(pattern="^[a-z0-9]+:[a-f0-9]+$")]

MemoryType = Annotated[str, _enum("memory_type")]
Status = Annotated[str, _enum("status")]
ExtractionMethod = Annotated[str, _enum("extraction_method")]
EntityType = Annotated[str, _enum("entity_type")]
EmbeddingSource = Annotated[str, _enum("embedding_source")]
PrincipalType = Annotated[str, _enum("principal_type")]
CredentialType = Annotated[str, _enum("credential_type")]
Portability = Annotated[str, _enum("portability")]
SubAgentStatus = Annotated[str, _enum("sub_agent_status")]
RecordId = Annotated[
    str,
    Meta(
        description="A UUID version 7. Other ids in archives of other programs are kept, with a warning.",
        extra_json_schema={
            "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        },
        extra={"format": "uuid"},
    ),
]


class DocumentView(Struct, frozen=True):
    """A document or a part of one. Unknown fields are allowed everywhere."""


# Layer 1: memory ------------------------------------------------------------------------------------------------


class Source(DocumentView, frozen=True):
    """Where a memory came from (ALF §3.1.3)."""

    runtime: str
    runtime_version: Text = UNSET
    origin: Text = UNSET
    origin_file: Text = UNSET
    extraction_method: ExtractionMethod | UnsetType = UNSET
    session_id: Text = UNSET
    interaction_id: Text = UNSET
    identity_version: Positive | UnsetType = UNSET


class Temporal(DocumentView, frozen=True):
    """When a memory was made, changed, observed, valid and used (ALF §3.1.4)."""

    created_at: Time
    updated_at: Moment = UNSET
    observed_at: Moment = UNSET
    valid_from: Moment = UNSET
    valid_until: Moment = UNSET
    last_accessed_at: Moment = UNSET
    access_count: Count | UnsetType = UNSET


class Entity(DocumentView, frozen=True):
    """A person or thing that a memory names (ALF §3.1.5)."""

    name: str
    type: EntityType
    role: Text = UNSET


class Embedding(DocumentView, frozen=True):
    """A vector of a memory's content, tagged by its model (ALF §3.1.6)."""

    model: str
    dimensions: Positive
    vector: list[float]
    computed_at: Time
    source: EmbeddingSource


class RelatedRecord(DocumentView, frozen=True):
    """A typed link to another memory (ALF §3.1.12). The relation is free text, the target may be missing."""

    id: Uuid
    relation: str


class MemoryRecord(DocumentView, frozen=True):
    """One memory (ALF §3.1.1): one line of a partition."""

    id: RecordId
    agent_id: Uuid
    content: Annotated[str, Meta(min_length=1)]
    memory_type: MemoryType
    source: Source
    temporal: Temporal
    status: Status
    namespace: str
    category: Text = UNSET
    supersedes: Uuid | UnsetType = UNSET
    confidence: Share | UnsetType = UNSET
    entities: list[Entity] | UnsetType = UNSET
    tags: Texts = UNSET
    embeddings: list[Embedding] | UnsetType = UNSET
    related_records: list[RelatedRecord] | UnsetType = UNSET
    raw_source_format: Object = UNSET


class ContentHash(DocumentView, frozen=True):
    algorithm: str
    value: str


class AttachmentReference(DocumentView, frozen=True):
    """A workspace file beyond the agent's own state (ALF §3.1.9)."""

    id: Uuid
    filename: str
    media_type: str
    size_bytes: Count
    hash: ContentHash
    source_path: str
    archive_path: str | None
    remote_ref: Uri | None
    referenced_by: Uuids = UNSET


class Attachments(DocumentView, frozen=True):
    """`attachments.json`."""

    attachments: list[AttachmentReference]
    artifact_size_threshold: Count | UnsetType = UNSET


# Layer 2: identity ----------------------------------------------------------------------------------------------


class Names(DocumentView, frozen=True):
    primary: str
    nickname: Text = UNSET
    full: Text = UNSET


class PersonalityTraits(DocumentView, frozen=True):
    framework: str
    scores: dict[str, float]


class Psychology(DocumentView, frozen=True):
    neural_matrix: dict[str, Share] | UnsetType = UNSET
    personality_traits: PersonalityTraits | UnsetType = UNSET
    moral_alignment: Text = UNSET
    mbti: Text = UNSET


class Idiolect(DocumentView, frozen=True):
    catchphrases: Texts = UNSET
    verbal_tics: Texts = UNSET
    avoided_words: Texts = UNSET


class Linguistics(DocumentView, frozen=True):
    formality_level: Share | UnsetType = UNSET
    verbosity: Share | UnsetType = UNSET
    humor_level: Share | UnsetType = UNSET
    slang_usage: bool | UnsetType = UNSET
    preferred_language: Text = UNSET
    idiolect: Idiolect | UnsetType = UNSET


class Capability(DocumentView, frozen=True):
    """Something the agent can do, and what it needs for it (ALF §3.2.2, §3.2.6)."""

    name: str
    description: Text = UNSET
    priority: Positive | UnsetType = UNSET
    portability: Portability | UnsetType = UNSET
    host_requirements: Text = UNSET
    credential_ids: Uuids = UNSET


class ModelHints(DocumentView, frozen=True):
    primary_model: Text = UNSET
    last_model: Text = UNSET


class SubAgent(DocumentView, frozen=True):
    """One of the agents this one works with (ALF §3.2.4)."""

    agent_id: Uuid | None
    name: str
    capabilities: list[Capability]
    status: SubAgentStatus
    description: Text = UNSET
    model_hints: ModelHints | UnsetType = UNSET
    routing_hints: Text = UNSET
    last_invoked_at: Moment = UNSET
    performance_notes: Text = UNSET


class StructuredIdentity(DocumentView, frozen=True):
    names: Names | UnsetType = UNSET
    role: Text = UNSET
    goals: Texts = UNSET
    psychology: Psychology | UnsetType = UNSET
    linguistics: Linguistics | UnsetType = UNSET
    capabilities: list[Capability] | UnsetType = UNSET
    sub_agents: list[SubAgent] | UnsetType = UNSET
    aieos_extensions: Object = UNSET


class ProseIdentity(DocumentView, frozen=True):
    soul: Text = UNSET
    operating_instructions: Text = UNSET
    identity_profile: Text = UNSET
    custom_blocks: dict[str, str] | UnsetType = UNSET


class Identity(DocumentView, frozen=True):
    """`identity.json` (ALF §3.2.2)."""

    id: Uuid
    agent_id: Uuid
    version: Positive
    updated_at: Time
    structured: StructuredIdentity | UnsetType = UNSET
    prose: ProseIdentity | UnsetType = UNSET
    source_format: Text = UNSET
    raw_source: Object = UNSET


# Layer 3: principals --------------------------------------------------------------------------------------------


class CommunicationPreferences(DocumentView, frozen=True):
    tone: Text = UNSET
    response_length: Text = UNSET
    formatting: Text = UNSET


class WorkContext(DocumentView, frozen=True):
    role: Text = UNSET
    company: Text = UNSET
    projects: Texts = UNSET


class StructuredProfile(DocumentView, frozen=True):
    name: Text = UNSET
    principal_type: Text = UNSET
    timezone: Text = UNSET
    locale: Text = UNSET
    communication_preferences: CommunicationPreferences | UnsetType = UNSET
    work_context: WorkContext | UnsetType = UNSET
    relationships: list[JsonObject] | UnsetType = UNSET
    custom_fields: Object = UNSET


class ProseProfile(DocumentView, frozen=True):
    user_profile: Text = UNSET


class PrincipalProfile(DocumentView, frozen=True):
    """What the agent knows of a principal (ALF §3.3.3)."""

    id: Uuid
    agent_id: Uuid
    principal_id: Uuid
    version: Positive
    updated_at: Time
    structured: StructuredProfile | UnsetType = UNSET
    prose: ProseProfile | UnsetType = UNSET
    source_format: Text = UNSET
    raw_source: Object = UNSET


class Principal(DocumentView, frozen=True):
    """A person or agent that the agent works for or with (ALF §3.3.1)."""

    id: Uuid
    principal_type: PrincipalType
    profile: PrincipalProfile
    agent_id: Uuid | UnsetType | None = UNSET


class Principals(DocumentView, frozen=True):
    """`principals.json`."""

    principals: list[Principal]


# Layer 4: credentials -------------------------------------------------------------------------------------------


class KdfParameters(DocumentView, frozen=True):
    memory_cost: Positive | UnsetType = UNSET
    time_cost: Positive | UnsetType = UNSET
    parallelism: Positive | UnsetType = UNSET


class Encryption(DocumentView, frozen=True):
    """How a payload is sealed (ALF §3.4.1)."""

    algorithm: str
    nonce: str
    kdf: Text = UNSET
    kdf_params: KdfParameters | UnsetType = UNSET


class CredentialRecord(DocumentView, frozen=True):
    """One sealed credential (ALF §3.4.2)."""

    id: Uuid
    agent_id: Uuid
    service: str
    credential_type: CredentialType
    encrypted_payload: str
    encryption: Encryption
    created_at: Time
    label: Text = UNSET
    capabilities_granted: Texts = UNSET
    updated_at: Moment = UNSET
    last_rotated_at: Moment = UNSET
    expires_at: Moment = UNSET
    tags: Texts = UNSET


class Credentials(DocumentView, frozen=True):
    """`credentials.json`."""

    credentials: list[CredentialRecord]


# Manifests ------------------------------------------------------------------------------------------------------


class AgentMetadata(DocumentView, frozen=True):
    id: Uuid
    name: str
    source_runtime: str
    source_runtime_version: Text = UNSET


class RuntimeHints(DocumentView, frozen=True):
    """Which models the agent ran on (ALF §3.2.5)."""

    primary_model: str
    last_model: str
    provider: Text = UNSET
    context_window: Positive | UnsetType = UNSET
    notes: str | UnsetType | None = UNSET


class SyncCursor(DocumentView, frozen=True):
    last_sequence: Count
    last_sync_at: Time | UnsetType = UNSET


class IdentityLayer(DocumentView, frozen=True):
    version: Positive
    file: str


class CountedLayer(DocumentView, frozen=True):
    count: Count
    file: str


class MemoryPartition(DocumentView, frozen=True):
    """One partition in the inventory (ALF §4.1.1). `first` and `last` are `from` and `to`."""

    file: str
    first: date = field(name="from")
    record_count: Count
    sealed: bool
    last: date | UnsetType | None = field(name="to", default=UNSET)
    checksum: Checksum | UnsetType = UNSET


class MemoryLayer(DocumentView, frozen=True):
    record_count: Count
    index_file: str
    partitions: list[MemoryPartition]
    has_embeddings: bool | UnsetType = UNSET
    has_raw_source: bool | UnsetType = UNSET


class AttachmentsLayer(DocumentView, frozen=True):
    count: Count
    file: str
    included_count: Count | UnsetType = UNSET
    included_size_bytes: Count | UnsetType = UNSET
    referenced_count: Count | UnsetType = UNSET
    referenced_size_bytes: Count | UnsetType = UNSET


class Layers(DocumentView, frozen=True):
    identity: IdentityLayer | UnsetType = UNSET
    principals: CountedLayer | UnsetType = UNSET
    credentials: CountedLayer | UnsetType = UNSET
    memory: MemoryLayer | UnsetType = UNSET
    attachments: AttachmentsLayer | UnsetType = UNSET


class Manifest(DocumentView, frozen=True):
    """`manifest.json` of a snapshot (ALF §4.2). `entries` maps every entry to the SHA-256 of its bytes."""

    alf_version: Version
    created_at: Time
    agent: AgentMetadata
    layers: Layers
    runtime_hints: RuntimeHints | UnsetType = UNSET
    sync: SyncCursor | UnsetType = UNSET
    raw_sources: Texts = UNSET
    raw_state: dict[str, Count] | UnsetType = UNSET
    raw_identity: dict[str, Count] | UnsetType = UNSET
    entries: dict[str, str] | UnsetType = UNSET
    checksum: Checksum | UnsetType = UNSET


class DeltaAgent(DocumentView, frozen=True):
    id: Uuid
    source_runtime: Text = UNSET


class DeltaSync(DocumentView, frozen=True):
    """From which sequence to which (ALF §4.3.1)."""

    base_sequence: Count
    new_sequence: Count
    base_timestamp: Time | UnsetType = UNSET
    new_timestamp: Time | UnsetType = UNSET


class IdentityChange(DocumentView, frozen=True):
    file: Text = UNSET
    new_version: Positive | UnsetType = UNSET


class PrincipalsChange(DocumentView, frozen=True):
    file: Text = UNSET
    changed_ids: Uuids = UNSET


class FileChange(DocumentView, frozen=True):
    file: Text = UNSET


class SealedPartition(DocumentView, frozen=True):
    file: str
    last: date | None = field(name="to")


class MemoryChange(DocumentView, frozen=True):
    """Changed records, the files they are in, and what is sealed, removed and appended where."""

    file: Text = UNSET
    record_count: Count | UnsetType = UNSET
    files: dict[str, list[str] | None] | UnsetType = UNSET
    seal: list[SealedPartition] | UnsetType = UNSET
    removed: Texts = UNSET
    places: list[tuple[str, Count, Count]] | UnsetType = UNSET


class EntryItem(DocumentView, frozen=True):
    """One changed file or document."""

    path: str
    operation: Annotated[str, Meta(extra_json_schema={"enum": ["put", "patch", "remove"]})]
    sha256: Text = UNSET
    base_sha256: Text = UNSET
    size: Count | UnsetType = UNSET
    entry: Text = UNSET
    meta: Object = UNSET
    leaf: Text = UNSET


class AttachmentsChange(DocumentView, frozen=True):
    put: list[AttachmentReference]
    removed: list[Uuid]


class DeltaChanges(DocumentView, frozen=True):
    identity: IdentityChange | UnsetType = UNSET
    principals: PrincipalsChange | UnsetType = UNSET
    credentials: FileChange | UnsetType = UNSET
    memory: MemoryChange | UnsetType = UNSET
    raw: list[EntryItem] | UnsetType = UNSET
    artifacts: list[EntryItem] | UnsetType = UNSET
    documents: list[EntryItem] | UnsetType = UNSET
    attachments: AttachmentsChange | UnsetType = UNSET
    cuts: dict[str, list[JsonObject] | None] | UnsetType = UNSET
    manifest: Object = UNSET


class DeltaManifest(DocumentView, frozen=True):
    """`manifest.json` (and, in its published part, `delta-manifest.json`) of a delta (ALF §4.3)."""

    alf_version: Version
    created_at: Time
    agent: DeltaAgent
    sync: DeltaSync
    changes: DeltaChanges
    entries: dict[str, str] | UnsetType = UNSET
    checksum: Checksum | UnsetType = UNSET
