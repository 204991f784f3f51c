"""The HTTP profile of AIMEM (§3): the routes of an endpoint at `/v1/brain`, and the one that publishes its key.

The routes are plain data that the endpoint finds through the entry point `lifeboat.routes`; neither side imports the
other. A handler gets a `BrainAccess`. Answers of any size wait in a sealed temporary file, and each piece is checked
against the purges once more before it is sent (§5.2). A purge during the transfer ends the answer, and no reader
accepts a bundle without its end.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, BinaryIO, Protocol, cast

import msgspec

from lifeboat_adapters.item_fates import count_outcomes
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aimem.convert import bundle_export, bundle_import, existing_memories
from lifeboat_formats.aimem.convert.bundle_options import ConsumerOptions, ImportPlan, ProducerOptions
from lifeboat_formats.aimem.wire import bundle_signatures, urn
from lifeboat_formats.aimem.wire.bundle_model import (
    LIMITS,
    MEDIA_TYPE,
    SCOPES,
    SINCE,
    STREAM_MEDIA_TYPE,
    AimemBundle,
    BundleRefused,
)
from lifeboat_formats.aimem.wire.bundle_reading import canonical_bundle_pieces, open_bundle
from lifeboat_formats.aimem.wire.bundle_signatures import SignatureRefused
from lifeboat_formats.aimem.wire.bundle_writing import BundleWriter
from lifeboat_formats.aimem.wire.instants import is_instant
from lifeboat_formats.aimem.wire.sealed_file import SealedTemporaryFile
from lifeboat_formats.interchange.cleaning import ALLOW_SECRETS, REDACT, Cleaner
from lifeboat_formats.interchange.contract import ConversionContext, WriterIdentity
from lifeboat_formats.interchange.errors import ExtraMissing, InterchangeError

PROBLEMS = "https://aimem.dev/errors/"
JSON_TYPE = "application/json"
PUBLIC_KEY_HEADER = "AIMEM-Public-Key"
_PULL, _PUSH = "pull", "push"
_DOCUMENTS = (MEDIA_TYPE, JSON_TYPE)
_TAKEN = (MEDIA_TYPE, JSON_TYPE, STREAM_MEDIA_TYPE)
_SIGNED_AT_MOST = 16 << 20
"""Largest bundle in canonical bytes that is signed: Ed25519 needs it in memory. Above this the profile asks for streams
(§3.1)."""
_FIRST_LINE = 1 << 20
"""Largest envelope in bytes. Besides it, a stream needs memory for single lines only."""
_PIECE = 1 << 16
"""Bytes that are sent between two checks for purges."""
_ANY_TIME = "1970-01-01T00:00:00Z"
_RECORD = re.compile(r"([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})(?:\.p[0-9]+)?")
"""A name that is the id of a record, or of a part of a long memory."""
_AT_ONCE = threading.BoundedSemaphore(2)
"""Limits concurrent imports of one process, because a document and the new records of a stream are held in memory."""


# What the endpoint gives ----------------------------------------------------------------------------------------------


class BrainAccess(Protocol):
    """What a handler may use of the endpoint. The endpoint documents what each member raises."""

    headers: Mapping[str, str]
    query: Any
    now: str

    @property
    def body(self) -> Iterator[bytes]: ...
    @property
    def largest_document(self) -> int: ...
    @property
    def installation(self) -> str: ...
    @property
    def public(self) -> bytes: ...
    def sign(self, structure: bytes) -> bytes: ...
    def agent(self, wanted: str) -> str | None: ...
    def agent_names(self) -> list[str]: ...
    def unregistered_agent(self) -> str: ...
    def state(self, agent_id: str) -> AbstractContextManager[tuple[State, Callable[[], None]]]: ...
    def add(self, agent_id: str, size: int, plan: Callable[[State], Additions]) -> int | None: ...
    def note(self, **details: Any) -> None: ...
    def record(self, kind: str, subject: str, **details: Any) -> None: ...
    def refusal(
        self, status: int, message: str, *, code: str, kind: str, title: str, fix: str, more: JsonObject | None = None
    ) -> Exception: ...


Additions = tuple[Iterable[JsonObject], Iterable[tuple[str, JsonObject]], Mapping[str, bytes]]
"""New records, changed fields by record id, and raw files."""


@dataclass(slots=True)
class BrainReply:
    """The answer of a handler: JSON, bytes, or a file of `size` bytes."""

    content: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = JSON_TYPE
    file: BinaryIO | None = None
    size: int = 0


def restate_problem(document: JsonObject) -> JsonObject:
    """Return a problem document as the profile words it: a token without the scope is `missing_scope`."""
    if document.get("status") != 403 or not document.get("scope"):
        return document
    return {**document, "type": PROBLEMS + "missing_scope", "code": "missing_scope"}


@dataclass(frozen=True, slots=True)
class BrainRoute:
    """A route in the form that the endpoint expects. `gives` and `takes` are media types. With `scopes` None no token
    is required."""

    method: str
    path: str
    handler: Callable[[BrainAccess], BrainReply]
    summary: str
    scopes: tuple[str, ...] | None
    gives: tuple[str, ...]
    takes: tuple[str, ...] = ()
    query: type[msgspec.Struct] | None = None
    problems: tuple[int, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    answer_headers: Mapping[str, str] = field(default_factory=dict)
    audit: str = ""
    words: Callable[[JsonObject], JsonObject] = restate_problem


def _says(text: str) -> Any:
    return msgspec.Meta(description=text)


_AGENT = _says("The agent's id or name; optional if there is only one agent.")


class ExportQuery(msgspec.Struct):
    agent: Annotated[str, _AGENT] = ""
    scope: Annotated[
        str, _says("Memories to export: FULL (all), DNA_ONLY (protected types) or SINCE (those since a time).")
    ] = "FULL"
    since: Annotated[str, _says("With SINCE: the earliest time of a memory, ISO 8601 in UTC.")] = ""
    embeddings: Annotated[bool, _says("Include embeddings, from which content can be guessed.")] = False
    model: Annotated[str, _says("The embedding model (default: the model that most memories use).")] = ""
    pure: Annotated[bool, _says("Write no Lifeboat extension.")] = False
    include_history: Annotated[bool, _says("Include superseded and archived memories.")] = False
    include_identity: Annotated[bool, _says("Include the texts of the agent's identity as memories.")] = False
    preserve_ids: Annotated[bool, _says("Keep the ids of memories that another program exported.")] = False
    closure: Annotated[bool, _says("With SINCE: also the memories that edges point to.")] = False
    redact: Annotated[
        bool, _says("Replace mail addresses, phone and other personal numbers, and secrets with [redacted:...].")
    ] = False
    allow_secrets: Annotated[bool, _says("Export text that looks like a secret without changes.")] = False


class ImportQuery(msgspec.Struct):
    agent: Annotated[str, _AGENT] = ""
    allow_dna_update: Annotated[
        bool, _says("Allow a newer chunk (memory in the bundle) to change a protected memory.")
    ] = False
    embeddings: Annotated[bool, _says("Also import the embeddings (vectors).")] = True
    signature: Annotated[str, _says("`skip`: do not check the signature.")] = ""


# Export ---------------------------------------------------------------------------------------------------------------


def export_document(brain: BrainAccess) -> BrainReply:
    """Return the bundle as one document (§3.1)."""
    media_type = JSON_TYPE if _prefers_json(brain.headers.get("accept", "")) else MEDIA_TYPE
    return _exported(brain, BundleWriter.json_pieces, media_type)


def export_stream(brain: BrainAccess) -> BrainReply:
    """Return the bundle as lines, for readers that cannot hold it in memory (§3.1)."""
    return _exported(brain, BundleWriter.stream_lines, STREAM_MEDIA_TYPE)


def _exported(brain: BrainAccess, pieces: Callable[[BundleWriter], Iterator[bytes]], media_type: str) -> BrainReply:
    with _told(brain):
        asked: ExportQuery = brain.query
        _check_asked(asked)
        agent_id = _agent(brain, asked.agent)
        file = SealedTemporaryFile()
        try:
            with brain.state(agent_id) as (state, check):
                headers = _produced(brain, agent_id, state, pieces, file)
            # Purges may have arrived while the bundle was written.
            check()
        except BaseException:
            file.close()
            raise
        sent = cast("BinaryIO", CheckedReader(file, check))
        return BrainReply(headers=headers, media_type=media_type, file=sent, size=file.size)


def _produced(
    brain: BrainAccess,
    agent_id: str,
    state: State,
    pieces: Callable[[BundleWriter], Iterator[bytes]],
    file: SealedTemporaryFile,
) -> dict[str, str]:
    """Write a bundle of a state into a file and return the response headers."""
    asked: ExportQuery = brain.query
    identity = _identity(brain)
    cleaner = Cleaner.of({REDACT: asked.redact, ALLOW_SECRETS: asked.allow_secrets})
    options = ProducerOptions(
        scope=asked.scope,
        since=asked.since or None,
        embeddings=asked.embeddings,
        model=asked.model,
        pure=asked.pure,
        include_history=asked.include_history,
        include_identity=asked.include_identity,
        preserve_ids=asked.preserve_ids,
        closure=asked.closure,
        tenant_id=agent_id,
        producer=identity.producer,
        cleaner=cleaner,
    )
    with bundle_export.produce_bundle(state, options, ConversionContext(brain.now, identity)) as produced:
        for piece in pieces(produced.writer):
            file.write(piece)
        headers = _signed(produced.writer, identity)
        outcomes = {name: count for name, count in count_outcomes(produced.fates).items() if count}
        brain.note(
            agent=agent_id,
            scope=asked.scope,
            embeddings=asked.embeddings,
            signed=bool(headers),
            **outcomes,
            **{name: value for name, value in cleaner.figures().items() if value},
        )
    return headers


def _signed(writer: BundleWriter, identity: WriterIdentity) -> dict[str, str]:
    """Return the signature as a header. It is left out for large bundles and if the signature library is not
    installed."""
    payload, size = [], 0
    for piece in writer.canonical():
        payload.append(piece)
        size += len(piece)
        if size > _SIGNED_AT_MOST:
            return {}
    try:
        return {
            bundle_signatures.HEADER: bundle_signatures.encode_header(
                bundle_signatures.sign_detached(payload, identity)
            )
        }
    except ExtraMissing:
        return {}


def _check_asked(asked: ExportQuery) -> None:
    """Raise BundleRefused (400) for invalid query parameters."""
    if asked.scope not in SCOPES:
        raise _wrong("invalid_scope", f"the parameter scope must be one of {', '.join(SCOPES)}")
    if asked.scope == SINCE and not asked.since:
        raise _wrong("since_required", "the scope SINCE needs the parameter since")
    if asked.since and not is_instant(asked.since):
        raise _wrong(
            "bad_since", "the parameter since must be an ISO 8601 time in UTC, for example 2026-04-01T09:30:00Z"
        )


def _wrong(code: str, message: str) -> BundleRefused:
    fix = "GET /v1/brain/export?scope=SINCE&since=2026-04-01T09:30:00Z"
    return BundleRefused(message, format_code=code, status=400, fix=fix)


class CheckedReader(io.RawIOBase):
    """A file that is sent piece by piece. `check` is called before each piece and raises if it must not be sent any
    more."""

    def __init__(self, file: SealedTemporaryFile, check: Callable[[], None]) -> None:
        super().__init__()
        self._file = file
        self._check = check

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Check for purges, then read at most `_PIECE` bytes."""
        self._check()
        view = memoryview(buffer).cast("B")[:_PIECE]
        return self._file.readinto(view)

    def close(self) -> None:
        self._file.close()
        super().close()


# Import ---------------------------------------------------------------------------------------------------------------


def import_bundle(brain: BrainAccess) -> BrainReply:
    """Import a bundle as the agent's next state, or change nothing (§3.2)."""
    with _told(brain):
        asked: ImportQuery = brain.query
        is_stream = _media_type(brain) == STREAM_MEDIA_TYPE
        agent_id = _agent_to_fill(brain, asked.agent)
        with SealedTemporaryFile() as file:
            for piece in brain.body:
                file.write(piece)
                if not is_stream and file.size > brain.largest_document:
                    raise _too_large(brain.largest_document)
            file.seek(0)
            if _is_signed(brain) and file.size > brain.largest_document:
                raise _unchecked(brain.largest_document)
            with _AT_ONCE, _bundle(brain, file, is_stream=is_stream) as bundle:
                return _taken(brain, agent_id, bundle, file.size)


def _taken(brain: BrainAccess, agent_id: str, bundle: AimemBundle, size: int) -> BrainReply:
    asked: ImportQuery = brain.query
    checked = _checked_signature(brain, agent_id, bundle)
    options = ConsumerOptions(
        namespace=_producer(brain), allow_dna_update=asked.allow_dna_update, embeddings=asked.embeddings
    )
    made: list[ImportPlan] = []

    def plan_on(state: State) -> Additions:
        existing = existing_memories.index_state(state, namespace=options.namespace, erased=find_erased_names(state))
        found = bundle_import.plan_import(existing, bundle, options)
        made[:] = [found]
        return found.inserts, found.updates, found.entries

    number = brain.add(agent_id, size, plan_on)
    summary = made[-1].summary
    outcomes = {name: count for name, count in count_outcomes(made[-1].fates).items() if count}
    brain.note(agent=agent_id, sequence=number, producer=bundle.envelope.producer, signature=checked, **outcomes)
    return BrainReply({**summary, "agent": agent_id, "sequence": number, "signature": checked})


def find_erased_names(state: State) -> Callable[[str], bool]:
    """Return a function that tells whether the record that a URN names was purged.

    The list of purges holds record ids only. That is enough: a record from elsewhere derives its id from its URN,
    except for the leading time.
    """
    named = {each for redaction in state.redactions for each in redaction.record_ids}
    gone = {each for each in named if state.record(each) is None}
    derived = {_without_time(each) for each in gone}

    def is_erased(name: str) -> bool:
        found = urn.parse_urn(name)
        own = None if found is None else _RECORD.fullmatch(found.local)
        said = own is not None and _without_time(own[1]) in derived
        return said or _without_time(urn.record_id(name, _ANY_TIME)) in derived

    return is_erased


def _without_time(record_id: str) -> str:
    """Return the part of a UUIDv7 after its 48 bits of time."""
    return record_id.lower().replace("-", "")[12:]


@contextmanager
def _bundle(brain: BrainAccess, file: SealedTemporaryFile, *, is_stream: bool) -> Iterator[AimemBundle]:
    """Open and check the bundle. A document sent as a stream is refused, because it would be held in memory beyond its
    limit."""
    most = _FIRST_LINE if is_stream else brain.largest_document
    limits = replace(LIMITS, document=min(LIMITS.document, most))
    try:
        with open_bundle(cast("BinaryIO", io.BufferedReader(file)), limits=limits) as bundle:
            yield bundle
    except BundleRefused as refused:
        if is_stream and refused.format_code == "too_large":
            refused.fix = f"a bundle in one document must be sent with Content-Type: {MEDIA_TYPE}"
        raise


def _is_signed(brain: BrainAccess) -> bool:
    """Return whether there is a signature to verify."""
    asked: ImportQuery = brain.query
    return bool(brain.headers.get(bundle_signatures.HEADER.lower(), "")) and asked.signature != "skip"


def _checked_signature(brain: BrainAccess, agent_id: str, bundle: AimemBundle) -> str:
    """Verify the signature and return its key id in hex, "" without one. An unverified import is recorded in the audit
    log before anything happens (§5.3). Raises SignatureRefused."""
    sent = brain.headers.get(bundle_signatures.HEADER.lower(), "")
    if not _is_signed(brain):
        reason = "asked for" if sent else "none sent"
        brain.record(bundle_signatures.SKIPPED, agent_id, reason=reason, producer=bundle.envelope.producer)
        return ""
    keys = [bundle_signatures.ed25519_key(brain.public)]
    vouched = brain.headers.get(PUBLIC_KEY_HEADER.lower(), "")
    if vouched:
        keys += bundle_signatures.read_keys(vouched.encode("latin-1"), PUBLIC_KEY_HEADER)
    return bundle_signatures.verify_detached(
        bundle_signatures.decode_header(sent), canonical_bundle_pieces(bundle), keys
    ).kid.hex()


def _media_type(brain: BrainAccess) -> str:
    """Return the media type of the body. Raises BundleRefused (415)."""
    found = brain.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found not in _TAKEN:
        message, fix = f"the Content-Type of a bundle must be one of {', '.join(_TAKEN)}", f"Content-Type: {MEDIA_TYPE}"
        raise BundleRefused(message, format_code="unsupported_media_type", status=415, fix=fix)
    return found


def _too_large(most: int) -> BundleRefused:
    fix = f"send the bundle as a stream: Content-Type: {STREAM_MEDIA_TYPE}"
    message = f"this endpoint accepts a document of at most {most:,} bytes"
    return BundleRefused(message, format_code="bundle_too_large", status=413, fix=fix)


def _unchecked(most: int) -> BundleRefused:
    message = f"the bundle is too large for a signature check (limit: {most:,} bytes)"
    fix = (
        "skip the check with ?signature=skip (the audit log records this), or send several smaller bundles "
        "(exported with the scope SINCE)"
    )
    return BundleRefused(message, format_code="bundle_too_large", status=413, fix=fix)


# The key --------------------------------------------------------------------------------------------------------------


def publish_key(brain: BrainAccess) -> BrainReply:
    """Return the public key that signs exports (§5.3)."""
    try:
        document, media_type = bundle_signatures.public_document([bundle_signatures.ed25519_key(brain.public)])
    except ExtraMissing as error:
        raise _problem(brain, 404, error, "no_public_key", "This endpoint does not sign exports") from error
    return BrainReply(document, media_type=media_type)


# Together -------------------------------------------------------------------------------------------------------------


def _agent_to_fill(brain: BrainAccess, wanted: str) -> str:
    """Return the agent to import into. If the tenant has no agent and the caller names none, this is a new agent, which
    is registered with the first state after the bundle was checked."""
    if not wanted and not brain.agent_names():
        return brain.unregistered_agent()
    return _agent(brain, wanted)


def _agent(brain: BrainAccess, wanted: str) -> str:
    """Return the agent that the caller means. Raises an error with status 422 if that is ambiguous."""
    found = brain.agent(wanted)
    if found is not None:
        return found
    raise brain.refusal(
        422,
        "this endpoint has no agent or several agents, so the request must name the agent",
        code="agent_required",
        kind=PROBLEMS + "agent_required",
        title="The request does not name an agent",
        fix="add ?agent=ID with an id from GET /v1/agents",
        more={"agents": brain.agent_names()},
    )


def _producer(brain: BrainAccess) -> str:
    """Return the namespace of ids created here. It stays the same as long as the endpoint exists."""
    return "alf-" + brain.installation.replace("-", "")[-8:].lower()


def _identity(brain: BrainAccess) -> WriterIdentity:
    return WriterIdentity(_producer(brain), brain.sign, brain.public)


def _prefers_json(accept: str) -> bool:
    """Return whether a client asks for JSON and not for the media type of bundles."""
    named = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return JSON_TYPE in named and MEDIA_TYPE not in named


@contextmanager
def _told(brain: BrainAccess) -> Iterator[None]:
    """Raise errors about a bundle or a request as problem documents of the profile."""
    try:
        yield
    except (BundleRefused, SignatureRefused) as error:
        raise _problem(brain, error.status, error, error.format_code, error.title) from error
    except InterchangeError as error:
        raise _problem(brain, 422, error, error.code, error.title) from error


def _problem(brain: BrainAccess, status: int, error: InterchangeError, code: str, title: str) -> Exception:
    where = getattr(error, "where", "")
    fix = error.fix or "GET /openapi.json lists the parameters"
    more = {"where": where} if where else {}
    return brain.refusal(status, error.message, code=code, kind=PROBLEMS + code, title=title, fix=fix, more=more)


_EXPORT_PROBLEMS = (400, 404, 410, 422, 503)
_SIGNATURE = {
    bundle_signatures.HEADER: "Detached COSE_Sign1 signature of the canonical bundle, in base64. Very large "
    "bundles have none."
}

ROUTES: tuple[BrainRoute, ...] = (
    BrainRoute(
        "GET",
        "/brain/export",
        export_document,
        "Return the memories of an agent as an AIMEM bundle.",
        (_PULL,),
        _DOCUMENTS,
        query=ExportQuery,
        problems=_EXPORT_PROBLEMS,
        headers={"Accept": f"{MEDIA_TYPE} or {JSON_TYPE}: two names of the same document type."},
        answer_headers=_SIGNATURE,
        audit="brain.export",
    ),
    BrainRoute(
        "GET",
        "/brain/export/stream",
        export_stream,
        "The same bundle as a stream of JSON lines.",
        (_PULL,),
        (STREAM_MEDIA_TYPE,),
        query=ExportQuery,
        problems=_EXPORT_PROBLEMS,
        answer_headers=_SIGNATURE,
        audit="brain.export",
    ),
    BrainRoute(
        "POST",
        "/brain/import",
        import_bundle,
        "Import an AIMEM bundle into an agent that only this endpoint has (no machine captures it).",
        (_PUSH,),
        (JSON_TYPE,),
        takes=_TAKEN,
        query=ImportQuery,
        problems=(404, 409, 410, 413, 415, 422, 507),
        headers={
            bundle_signatures.HEADER: "Detached COSE_Sign1 signature of the canonical bundle, in base64, in "
            "base64url, or in base64 between colons.",
            PUBLIC_KEY_HEADER: "The public keys that the caller trusts: a COSE_Key or COSE_KeySet in base64.",
        },
        audit="brain.import",
    ),
    BrainRoute(
        "GET",
        "/.well-known/aimem-pubkey",
        publish_key,
        "The public key of the signatures of exports, as a COSE_Key.",
        None,
        (bundle_signatures.KEY_TYPE, bundle_signatures.KEY_SET_TYPE),
        problems=(404,),
    ),
)
