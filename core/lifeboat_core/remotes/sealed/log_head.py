"""The head document of an agent's log: what is in the log, signed by the machine that wrote last.

    {"kind": "lifeboat sealed log", "version": 1 | 2, "head": Head, "signature": testimony}

It is version 2 as soon as something was purged: releases that know of no purges must not write any more.

The signature (see `lifeboat_keys.pairs.device_key`) covers the remote, the agent and the bytes of `head`. So files can
neither be exchanged nor left out, and a head of one remote or agent is invalid for another. An older head that is
put back is valid: a machine that remembers a newer one notices.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence as Many

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.states.agent_state import Sequence
from lifeboat_keys.errors import DeviceRevoked, SignedByCompromised
from lifeboat_keys.pairs import device_key
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_vault.errors import RemoteDamaged, RemoteRefused
from lifeboat_vault.remote.remote_contract import RemoteHead

KIND = "lifeboat sealed log"
VERSION, BEFORE_PURGES = 2, 1
_CONTEXT = "sealed log"
_SIGNATURE = "signature"


class FileReference(msgspec.Struct, frozen=True):
    """A kept file: `size` in bytes and `sha256` (hex) of the file as it is kept."""

    file: str
    size: int
    sha256: str


class LogRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One bundle.

    `on` is the number of its base, None for a snapshot; `base` the one that is signed. `digest` (hex) is that of the
    state. `signer` names the constant part of the signature document, "" for an unsigned state. `large` names the large
    artifacts that came with it (see `log_key`).
    """

    number: int
    on: int | None
    base: int | None
    epoch: int
    time: str
    digest: str
    stored: FileReference
    writer: str = ""
    signer: str = ""
    signature: str = ""
    large: tuple[str, ...] = ()

    @property
    def is_snapshot(self) -> bool:
        return self.on is None


class RowSegment(msgspec.Struct, frozen=True):
    """Rows that were moved out of the head, oldest first, in a file of their own."""

    stored: FileReference
    first: int
    last: int
    rows: int


class LogGrowth(msgspec.Struct, frozen=True):
    """What came since the newest snapshot: how many deltas, their bytes, and the bytes of that snapshot."""

    deltas: int = 0
    bytes: int = 0
    snapshot: int = 0


class WrappedLogKey(msgspec.Struct, frozen=True):
    """The log's key (see `log_key`) for the user's key `key_id`, as age in base64; `check` tells which key it is.
    `former`: the keys that the user's key replaced (see `lifeboat_keys.pairs.former_keys`), for bundles that were
    encrypted for them; sealed with the log's key, in base64, "" for none."""

    check: str
    key_id: str
    age: str
    former: str = ""


class LogRedactions(msgspec.Struct, frozen=True):
    """The file of the redactions that the log holds (see `log_contents`), their count, and the ids of those of which
    bytes may still be there: the affected files are rewritten at the next contact."""

    stored: FileReference
    count: int
    pending: tuple[str, ...] = ()


class LogHead(msgspec.Struct, frozen=True):
    """The newest version of what an agent's log contains.

    `number` counts versions of this document; it was written at `written_at`, its newest row at `newest_at`. `bytes`
    are those of all bundles. `names` holds name, runtime and machine, sealed in base64 (in plain text as an object in a
    plain log). The last row is the newest state. `erased` is the redaction of the whole agent, of which nothing else is
    left.
    """

    remote: str
    agent: str
    number: int
    epoch: int
    created_at: str
    written_at: str
    writer: str
    sealed: bool
    log_key: WrappedLogKey | None
    names: str | JsonObject
    keys: FileReference | None = None
    signers: dict[str, JsonObject] = {}
    segments: tuple[RowSegment, ...] = ()
    rows: tuple[LogRow, ...] = ()
    grown: LogGrowth = LogGrowth()
    newest_at: str = ""
    bytes: int = 0
    purges: LogRedactions | None = None
    erased: JsonObject | None = None

    @property
    def newest(self) -> LogRow | None:
        return self.rows[-1] if self.rows else None

    @property
    def generation(self) -> int:
        """How many redactions a machine that writes a file now knows (see `log_file_names`)."""
        return 0 if self.purges is None else self.purges.count


class _HeadDocument(msgspec.Struct, frozen=True):
    kind: str
    version: int
    head: msgspec.Raw
    signature: JsonObject


def encode_head(head: LogHead, device: DeviceKey) -> bytes:
    """Return the signed document."""
    body = json_codec.encode_json(head)
    signature = device.testify(_CONTEXT, _statement(head.remote, head.agent, body))
    version = BEFORE_PURGES if head.purges is None and head.erased is None else VERSION
    return json_codec.encode_json(_HeadDocument(KIND, version, msgspec.Raw(body), signature))


def decode_head(data: bytes, remote: str, agent: str, trusted: TrustedKeys) -> tuple[LogHead, str]:
    """Return the head, and a reason to doubt its signature: "" for none, or that its key or machine does not count any
    more. Raises RemoteDamaged, RemoteRefused."""
    try:
        document = msgspec.json.decode(data, type=_HeadDocument)
        if document.kind == KIND and document.version > VERSION:
            raise RemoteRefused("a newer release of Agent Lifeboat wrote the log of the agent")
        head = msgspec.json.decode(document.head, type=LogHead)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RemoteDamaged(f"the index of the agent's log cannot be read: {error}") from None
    if (document.kind, head.remote, head.agent) != (KIND, remote, agent.lower()):
        raise RemoteDamaged("the log on the remote was written for another agent, or for another remote")
    return head, _doubt(document.signature, _statement(remote, head.agent, bytes(document.head)), trusted)


def _doubt(signature: JsonObject, statement: JsonObject, trusted: TrustedKeys) -> str:
    try:
        device_key.check_testimony(signature, _CONTEXT, statement, trusted)
    except (SignedByCompromised, DeviceRevoked) as error:
        _check(signature, statement)
        return error.message
    except SignatureError as error:
        raise RemoteDamaged(f"the index of the agent's log is not valid: {error.message}") from error
    return ""


def _check(signature: JsonObject, statement: JsonObject) -> None:
    try:
        device_key.check_testimony(signature, _CONTEXT, statement, None)
    except SignatureError as error:
        raise RemoteDamaged(f"the index of the agent's log is not valid: {error.message}") from None


def _statement(remote: str, agent: str, body: bytes) -> JsonObject:
    return {"remote": remote, "agent": agent, "head": hashlib.sha256(body).hexdigest()}


# Rows ---------------------------------------------------------------------------------------------------------------


def make_row(sequence: Sequence, on: int | None, writer: str, stored: FileReference, large: Many[str]) -> LogRow:
    """Return the row of a bundle, without its signature (see `put_signature`)."""
    digest = sequence.digest.hex()
    place = (sequence.number, on, sequence.base, sequence.epoch, sequence.time)
    return LogRow(*place, digest, stored, writer, large=tuple(large))


def put_signature(
    row: LogRow, signature: JsonObject | None, signers: dict[str, JsonObject]
) -> tuple[LogRow, JsonObject]:
    """Return the row with a signature document, and the signers, in which the constant parts of signatures stand
    once."""
    if signature is None:
        return msgspec.structs.replace(row, signer="", signature=""), signers
    rest = {key: value for key, value in signature.items() if key != _SIGNATURE}
    name = hashlib.sha256(json_codec.encode_canonical(rest)).hexdigest()[:16]
    made = msgspec.structs.replace(row, signer=name, signature=str(signature.get(_SIGNATURE, "")))
    return made, {**signers, name: rest}


def build_signature(row: LogRow, signers: dict[str, JsonObject]) -> JsonObject | None:
    if not row.signer:
        return None
    if row.signer not in signers:
        raise RemoteDamaged(f"the index of the log does not contain the signer of sequence {row.number}")
    return {**signers[row.signer], _SIGNATURE: row.signature}


def build_sequence(row: LogRow, head: LogHead) -> Sequence:
    signature = build_signature(row, head.signers)
    return Sequence(head.agent, row.number, row.base, row.epoch, row.time, bytes.fromhex(row.digest), signature)


def build_remote_head(head: LogHead, machine: str) -> RemoteHead | None:
    row = head.newest
    if row is None:
        return None
    digest = bytes.fromhex(row.digest)
    return RemoteHead(row.number, digest, row.epoch, row.time, row.writer, machine, head.newest_at)
