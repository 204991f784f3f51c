"""The HTTP profile of AIMEM (§3): what an endpoint answers at `/v1/brain`, and where its key is published.

The routes are plain data that the endpoint finds through the entry point `lifeboat.routes`; neither side imports the
other. A handler is given a `BrainAccess`. An answer of any size waits in a sealed temporary file, and every piece of it
is held against the purges once more before it leaves (§5.2): what was asked to be erased meanwhile ends the answer, and
a bundle without its end is one that no reader takes.
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
from lifeboat_formats.aimem.convert import bundle_export, bundle_import
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
"""Canonical bytes: Ed25519 has them in memory whole. From here on the profile asks for streams (§3.1)."""
_FIRST_LINE = 1 << 20
"""Bytes of an envelope, the most that a stream has in memory besides single lines."""
_PIECE = 1 << 16
"""Bytes that leave between two looks at the purges."""
_ANY_TIME = "1970-01-01T00:00:00Z"
_RECORD = re.compile(r"([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})(?:\.p[0-9]+)?")
"""A name that is the id of a record, or of a part of one that is too long for a chunk."""
_AT_ONCE = threading.BoundedSemaphore(2)
"""Bundles that are taken in at once in one process: a document, and what is new of a stream, stand in memory."""


# What the endpoint gives ----------------------------------------------------------------------------------------------


class BrainAccess(Protocol):
    """What a handler may use of the endpoint (see there for what each raises)."""

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
"""New records, changed fields by record id, raw files."""


@dataclass(slots=True)
class BrainReply:
    """What a handler answers: JSON, bytes, or a file of `size` bytes."""

    content: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = JSON_TYPE
    file: BinaryIO | None = None
    size: int = 0


def restate_problem(document: JsonObject) -> JsonObject:
    """A problem document as the profile says it: a token that has not the scope is `missing_scope`."""
    if document.get("status") != 403 or not document.get("scope"):
        return document
    return {**document, "type": PROBLEMS + "missing_scope", "code": "missing_scope"}


@dataclass(frozen=True, slots=True)
class BrainRoute:
    """A route as the endpoint wants it. `gives` and `takes` are media types; `scopes` None: no token is asked for."""

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


_AGENT = _says("The agent's id or name; without it the only one that there is.")


class ExportQuery(msgspec.Struct):
    agent: Annotated[str, _AGENT] = ""
    scope: Annotated[str, _says("FULL, DNA_ONLY or SINCE.")] = "FULL"
    since: Annotated[str, _says("With SINCE: the earliest time of a memory, ISO 8601 in UTC.")] = ""
    embeddings: Annotated[bool, _says("With vectors, from which content can be guessed.")] = False
    model: Annotated[str, _says("Whose vectors; else those of the most memories.")] = ""
    pure: Annotated[bool, _says("Without members of our own.")] = False
    include_history: Annotated[bool, _says("With memories that were superseded or archived.")] = False
    include_identity: Annotated[bool, _says("With who the agent is.")] = False
    preserve_ids: Annotated[bool, _says("Memories from elsewhere keep their names.")] = False
    closure: Annotated[bool, _says("With SINCE: also what the edges point to.")] = False
    redact: Annotated[bool, _says("Mail addresses, numbers and secrets are written as [redacted:...].")] = False
    allow_secrets: Annotated[bool, _says("What looks like a secret may go.")] = False


class ImportQuery(msgspec.Struct):
    agent: Annotated[str, _AGENT] = ""
    allow_dna_update: Annotated[bool, _says("A newer chunk may change a protected memory.")] = False
    embeddings: Annotated[bool, _says("Take the vectors, too.")] = True
    signature: Annotated[str, _says("`skip`: a signature is not checked.")] = ""


# Export ---------------------------------------------------------------------------------------------------------------


def export_document(brain: BrainAccess) -> BrainReply:
    """§3.1: the bundle as one document."""
    media_type = JSON_TYPE if _prefers_json(brain.headers.get("accept", "")) else MEDIA_TYPE
    return _exported(brain, BundleWriter.json_pieces, media_type)


def export_stream(brain: BrainAccess) -> BrainReply:
    """§3.1: the bundle as lines, for readers that cannot have it in memory whole."""
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
    """Write a bundle of a state into a file; the headers of the answer."""
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
    """The signature as a header; none over what cannot stand in memory, and none where the library is not there."""
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
    """Raises BundleRefused (400)."""
    if asked.scope not in SCOPES:
        raise _wrong("invalid_scope", f"the scope is one of {', '.join(SCOPES)}")
    if asked.scope == SINCE and not asked.since:
        raise _wrong("since_required", "with the scope SINCE, since has to be named")
    if asked.since and not is_instant(asked.since):
        raise _wrong("bad_since", "since is a time as ISO 8601 writes it, in UTC: 2026-04-01T09:30:00Z")


def _wrong(code: str, message: str) -> BundleRefused:
    refused = BundleRefused(message, format_code=code, status=400)
    refused.fix = "GET /v1/brain/export?scope=SINCE&since=2026-04-01T09:30:00Z"
    return refused


class CheckedReader(io.RawIOBase):
    """A file that leaves piece by piece: before each of them `check` raises when it must not leave any more."""

    def __init__(self, file: SealedTemporaryFile, check: Callable[[], None]) -> None:
        super().__init__()
        self._file = file
        self._check = check

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        self._check()
        view = memoryview(buffer).cast("B")[:_PIECE]
        return self._file.readinto(view)

    def close(self) -> None:
        self._file.close()
        super().close()


# Import ---------------------------------------------------------------------------------------------------------------


def import_bundle(brain: BrainAccess) -> BrainReply:
    """§3.2: a bundle becomes the agent's next state, or nothing happens."""
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
        existing = bundle_import.index_state(state, namespace=options.namespace, erased=find_erased_names(state))
        found = bundle_import.plan_import(existing, bundle, options)
        made[:] = [found]
        return found.inserts, found.updates, found.entries

    number = brain.add(agent_id, size, plan_on)
    summary = made[-1].summary
    outcomes = {name: count for name, count in count_outcomes(made[-1].fates).items() if count}
    brain.note(agent=agent_id, sequence=number, producer=bundle.envelope.producer, signature=checked, **outcomes)
    return BrainReply({**summary, "agent": agent_id, "sequence": number, "signature": checked})


def find_erased_names(state: State) -> Callable[[str], bool]:
    """Whether what a URN names was purged here. The list of purges holds ids of records and nothing else, which is
    enough: one that came from elsewhere got its id from its URN, all but the time in front."""
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
    """The part of a UUIDv7 behind its 48 bits of time."""
    return record_id.lower().replace("-", "")[12:]


@contextmanager
def _bundle(brain: BrainAccess, file: SealedTemporaryFile, *, is_stream: bool) -> Iterator[AimemBundle]:
    """The checked bundle. A document that calls itself a stream would stand in memory without anybody's leave."""
    most = _FIRST_LINE if is_stream else brain.largest_document
    limits = replace(LIMITS, document=min(LIMITS.document, most))
    try:
        with open_bundle(cast("BinaryIO", io.BufferedReader(file)), limits=limits) as bundle:
            yield bundle
    except BundleRefused as refused:
        if is_stream and refused.format_code == "too_large":
            refused.fix = f"a document is sent as Content-Type: {MEDIA_TYPE}"
        raise


def _is_signed(brain: BrainAccess) -> bool:
    """Whether there is a signature to check."""
    asked: ImportQuery = brain.query
    return bool(brain.headers.get(bundle_signatures.HEADER.lower(), "")) and asked.signature != "skip"


def _checked_signature(brain: BrainAccess, agent_id: str, bundle: AimemBundle) -> str:
    """Which key signed the bundle (hex of its name), "" for none. That nobody checked is in the audit before anything
    happens (§5.3). Raises SignatureRefused."""
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
    """What the body is. Raises BundleRefused (415)."""
    found = brain.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found not in _TAKEN:
        refused = BundleRefused(
            f"a bundle is sent as {', '.join(_TAKEN)}", format_code="unsupported_media_type", status=415
        )
        refused.fix = f"Content-Type: {MEDIA_TYPE}"
        raise refused
    return found


def _too_large(most: int) -> BundleRefused:
    refused = BundleRefused(f"a document has at most {most:,} bytes here", format_code="bundle_too_large", status=413)
    refused.fix = f"send it as a stream: Content-Type: {STREAM_MEDIA_TYPE}"
    return refused


def _unchecked(most: int) -> BundleRefused:
    message = f"a signature is checked over at most {most:,} bytes here"
    refused = BundleRefused(message, format_code="bundle_too_large", status=413)
    refused.fix = "?signature=skip, which the audit says, or several bundles (scope SINCE)"
    return refused


# The key --------------------------------------------------------------------------------------------------------------


def publish_key(brain: BrainAccess) -> BrainReply:
    """§5.3: under which key exports are signed here."""
    try:
        document, media_type = bundle_signatures.public_document([bundle_signatures.ed25519_key(brain.public)])
    except ExtraMissing as error:
        raise _problem(brain, 404, error, "no_public_key", "Nothing is signed here") from error
    return BrainReply(document, media_type=media_type)


# Together -------------------------------------------------------------------------------------------------------------


def _agent_to_fill(brain: BrainAccess, wanted: str) -> str:
    """Return whose memory an import is for: a new agent's where the tenant has none and the caller names none.

    It is registered with the first state, once the bundle has been checked.
    """
    if not wanted and not brain.agent_names():
        return brain.unregistered_agent()
    return _agent(brain, wanted)


def _agent(brain: BrainAccess, wanted: str) -> str:
    """Whose memory is meant. Raises what answers 422 where nobody can know."""
    found = brain.agent(wanted)
    if found is not None:
        return found
    raise brain.refusal(
        422,
        "there is no agent, or more than one: say which",
        code="agent_required",
        kind=PROBLEMS + "agent_required",
        title="It is not said whose memory is meant",
        fix="?agent=ID, one of GET /v1/agents",
        more={"agents": brain.agent_names()},
    )


def _producer(brain: BrainAccess) -> str:
    """The namespace of the ids that are made here: it stays as long as the endpoint."""
    return "alf-" + brain.installation.replace("-", "")[-8:].lower()


def _identity(brain: BrainAccess) -> WriterIdentity:
    return WriterIdentity(_producer(brain), brain.sign, brain.public)


def _prefers_json(accept: str) -> bool:
    """Whether a client that knows the media type of bundles not, asks for JSON."""
    named = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return JSON_TYPE in named and MEDIA_TYPE not in named


@contextmanager
def _told(brain: BrainAccess) -> Iterator[None]:
    """What is wrong with a bundle or a request, as the profile's problem documents."""
    try:
        yield
    except (BundleRefused, SignatureRefused) as error:
        raise _problem(brain, error.status, error, error.format_code, error.title) from error
    except InterchangeError as error:
        raise _problem(brain, 422, error, error.code, error.title) from error


def _problem(brain: BrainAccess, status: int, error: InterchangeError, code: str, title: str) -> Exception:
    where = getattr(error, "where", "")
    fix = error.fix or "GET /openapi.json says what is taken"
    more = {"where": where} if where else {}
    return brain.refusal(status, error.message, code=code, kind=PROBLEMS + code, title=title, fix=fix, more=more)


_EXPORT_PROBLEMS = (400, 404, 410, 422, 503)
_SIGNATURE = {
    bundle_signatures.HEADER: "A detached COSE_Sign1 over the canonical bundle, base64; not over very large ones."
}

ROUTES: tuple[BrainRoute, ...] = (
    BrainRoute(
        "GET",
        "/brain/export",
        export_document,
        "An agent's memories as an AIMEM bundle.",
        (_PULL,),
        _DOCUMENTS,
        query=ExportQuery,
        problems=_EXPORT_PROBLEMS,
        headers={"Accept": f"{MEDIA_TYPE} or {JSON_TYPE}: how the same document is called."},
        answer_headers=_SIGNATURE,
        audit="brain.export",
    ),
    BrainRoute(
        "GET",
        "/brain/export/stream",
        export_stream,
        "The same bundle as lines of JSON.",
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
        "Take an AIMEM bundle into an agent that no machine writes.",
        (_PUSH,),
        (JSON_TYPE,),
        takes=_TAKEN,
        query=ImportQuery,
        problems=(404, 409, 410, 413, 415, 422, 507),
        headers={
            bundle_signatures.HEADER: "A detached COSE_Sign1 over the canonical bundle: base64, base64url or :base64:.",
            PUBLIC_KEY_HEADER: "A COSE_Key or COSE_KeySet, base64: keys that whoever asks vouches for.",
        },
        audit="brain.import",
    ),
    BrainRoute(
        "GET",
        "/.well-known/aimem-pubkey",
        publish_key,
        "The key that signs exports, as a COSE_Key.",
        None,
        (bundle_signatures.KEY_TYPE, bundle_signatures.KEY_SET_TYPE),
        problems=(404,),
    ),
)
