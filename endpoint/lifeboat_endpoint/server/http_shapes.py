"""Bodies, queries and responses as they are on the wire.

Fields may be added, never renamed; unknown fields of a request are ignored. Older clients read some of these responses,
and the fields that they need are never null.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from lifeboat_alf.common.json_types import JsonObject

Number = Annotated[int, Meta(ge=0, le=2**53)]
"""The number of a sequence, or a count of bytes."""
Uuid = Annotated[str, Meta(pattern="^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$")]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Text = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
PAGE = 500
MOST_DIGESTS = 10_000
MOST_READ = 10_000
Limit = Annotated[int, Meta(ge=1, le=10_000, description="Maximum number of items in the response.")]
Digests = Annotated[list[Sha256], Meta(max_length=MOST_DIGESTS)]


class ProblemShape(Struct, rename={"kind": "type"}):
    """RFC 9457. `code` is stable; other members depend on it."""

    kind: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    fix: str | None = None
    retryable: bool = False
    sequence: int | None = None
    epoch: int | None = None
    scope: str | None = None
    retry_after: float | None = None
    redaction: JsonObject | None = None


# About --------------------------------------------------------------------------------------------------------------


class VersionInfo(Struct):
    name: str
    release: str
    id: str
    time: str
    limits: JsonObject
    signing_key: str
    """The public half of the key that signs receipts of purges, base64."""


class Health(Struct):
    status: str


class TokenInfo(Struct):
    """`quota`: how many bytes its tenant may keep, null without a limit."""

    tenant: str
    name: str
    scopes: list[str]
    expires_at: str | None
    quota: int | None


class NewToken(Struct):
    """A token that was made for the caller; `token` is its secret, which is not shown again."""

    id: str
    name: str
    token: str
    scopes: list[str]
    expires_at: str | None


# Agents -------------------------------------------------------------------------------------------------------------


class HeadInfo(Struct):
    """The newest sequence; `sequence` is null if there is none yet."""

    sequence: int | None
    digest: str = ""
    epoch: int = 0
    time: str = ""
    writer: str = ""
    machine: str = ""
    written_at: str = ""


class AgentInfo(Struct):
    id: str
    name: str
    source_runtime: str
    created_at: str
    latest_sequence: int
    epoch: int
    sealed: bool
    bytes: int
    held: JsonObject | None
    damaged: int
    head: HeadInfo | None
    damaged_states: int = 0
    damage_found_at: str | None = None


class AgentList(Struct):
    agents: list[AgentInfo]
    next: str | None


class AgentsQuery(Struct):
    after: Annotated[str, Meta(max_length=64, description="Id of the last item of the previous page.")] = ""
    limit: Limit = PAGE


class NewAgent(Struct):
    id: Uuid
    name: Text
    source_runtime: Annotated[str, Meta(max_length=200)] = ""
    sealed: bool = False


class EpochInfo(Struct):
    epoch: int


class ExpectedEpoch(Struct):
    expected: Number
    machine: Annotated[str, Meta(max_length=200)] = ""


# States -------------------------------------------------------------------------------------------------------------


class PushedState(Struct):
    """An accepted sequence. Older clients need the id that subclasses add."""

    sequence: int
    size_bytes: int
    head: HeadInfo


class PushedSnapshot(PushedState):
    snapshot_id: str = field(default="")


class PushedDelta(PushedState):
    delta_id: str = field(default="")


class NumberQuery(Struct):
    sequence: Annotated[Number, Meta(description="Sequence number that the uploaded bundle must have.")] | None = None


class BaseQuery(Struct):
    base_sequence: Annotated[
        Number, Meta(description="Number of the base sequence, which must be the newest one at the endpoint.")
    ]
    sequence: Annotated[Number, Meta(description="Sequence number that the uploaded bundle must have.")] | None = None


class SnapshotQuery(Struct):
    sequence: Annotated[Number, Meta(description="Number of a sequence; the newest by default.")] | None = None
    include_deltas: Annotated[bool, Meta(description="Also list the deltas after that sequence.")] = False


class SinceQuery(Struct):
    since: Annotated[int, Meta(ge=-1, le=2**53, description="List only sequences after this number.")] = -1
    limit: Limit = PAGE


class DeltaQuery(Struct):
    base: Annotated[Number, Meta(description="Number of the base sequence; the previous one by default.")] | None = None


class SnapshotPlace(Struct):
    url: str
    snapshot_id: str
    sequence: int


class DeltaPlace(Struct):
    sequence: int
    base_sequence: int
    url: str
    size_bytes: Annotated[int, Meta(description="Size in bytes; 0 if the delta is created only when it is fetched.")]
    created_at: str
    digest: str


class SnapshotInfo(Struct):
    snapshot: SnapshotPlace
    snapshot_url: str
    snapshot_id: str
    sequence: int
    deltas: list[DeltaPlace]
    next: Annotated[int | None, Meta(description="Value of `since` for the next page of `.../deltas`.")]


class DeltaList(Struct):
    deltas: list[DeltaPlace]
    next: int | None


class RestoreInfo(Struct):
    snapshot: SnapshotPlace | None
    deltas: list[DeltaPlace]


class SequenceInfo(Struct):
    sequence: int
    base_sequence: int | None
    digest: str
    epoch: int
    time: str
    kind: str
    writer: str
    size_bytes: int
    signature: JsonObject | None


class SequenceList(Struct):
    sequences: list[SequenceInfo]
    next: int | None


class RedactionList(Struct):
    redactions: list[JsonObject]


class RedactionQuery(Struct):
    confirm: Annotated[bool, Meta(description="Apply the purge immediately; requires the scope `purge`.")] = False


class RedactionInfo(Struct):
    """`applies_at`: the redaction waits until then. `receipt` is signed by the endpoint when nothing is left to do."""

    id: str
    applies_at: str | None = None
    receipt: JsonObject | None = None


class Signature(Struct):
    sequence: Number
    signature: JsonObject


class SignatureList(Struct):
    signatures: Annotated[list[Signature], Meta(max_length=100_000)]


class TakenCount(Struct):
    taken: int


# Uploads ------------------------------------------------------------------------------------------------------------


class SnapshotUpload(Struct):
    upload_url: str
    snapshot_id: str


class DeltaUpload(Struct):
    upload_url: str
    delta_id: str


class UploadPart(Struct):
    sha256: Sha256
    size: Annotated[int, Meta(ge=1, le=2**53)]


class NewUpload(Struct):
    kind: Annotated[str, Meta(pattern="^(snapshot|delta)$")]
    parts: Annotated[list[UploadPart], Meta(min_length=1, max_length=100_000)]
    base_sequence: Number | None = None


class UploadInfo(Struct):
    upload_id: str
    missing: list[str]
    expires_at: str


# Objects, reading, keys ---------------------------------------------------------------------------------------------


class MissingFilesRequest(Struct):
    """Files by the SHA-256 of their bytes. `leaves`: ask by the leaves that sequences commit to instead. `read`: read
    every one of these files, and report those whose bytes were lost as missing too."""

    sha256: Digests
    leaves: Digests | None = None
    read: bool = False


class MissingFiles(Struct):
    """`leaves` are the missing ones if the request had leaves; then `missing` is empty."""

    missing: list[str]
    leaves: list[str] | None = None


class DamagedStatesRequest(Struct):
    """`read`: first compare every kept sequence with its digest, and every record with its signed digest."""

    read: bool = False


class DamagedStates(Struct):
    """Kept sequences that are not as they were signed. A machine that has one sends it again to repair it."""

    sequences: list[int]


class ReadItemsRequest(Struct):
    sequence: Number
    entries: Annotated[list[Annotated[str, Meta(max_length=4096)]], Meta(max_length=MOST_READ)] = field(
        default_factory=list
    )
    records: Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=MOST_READ)] = field(
        default_factory=list
    )


class ReadItems(Struct):
    """Base64, null for what that sequence does not have."""

    entries: list[str | None]
    records: list[str | None]


# Sealed files -------------------------------------------------------------------------------------------------------


class SealedFileInfo(Struct):
    """`age` in seconds by the endpoint's clock."""

    name: str
    size: int
    age: float


class SealedFileList(Struct):
    files: list[SealedFileInfo]


def to_json(value: Any) -> bytes:
    return msgspec.json.encode(value)
