"""The contract of remotes: an endpoint over HTTP, a folder, a bucket, or a vault in this process.

A bundle is an `.alf` snapshot or an `.alf-delta` (see `lifeboat_alf`), unencrypted: remotes that must not read it
encrypt on this side. Numbers are the writer's and mean the same state everywhere. All methods raise RemoteError (see
`lifeboat_vault.errors`), which says whether to retry. A remote belongs to one thread.

`conformance_checks` holds what every remote must do.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Literal, NamedTuple, Protocol

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import Entry, Leaf, State

BundleKind = Literal["snapshot", "delta"]

MOST_EPOCHS = 1000
"""How far an epoch may exceed a known one. Each epoch is one machine taking an agent over, and counters end at 2^53:
naming the last epoch would lock everyone out for ever."""
TRIAL = "lifeboat remote test"
"""The runtime of agents that are made to test a remote. An endpoint lets anyone who may push remove these."""


@dataclass(frozen=True, slots=True)
class RemoteDescription:
    """Description of a remote. `id` was made with it and never changes. `sealed`: everything is encrypted on this side.
    `time` is its clock (timestamp), None without one. `limits` are in bytes: `direct_bytes` is the largest body of one
    request. `signing_key` is the public half of the key with which an endpoint signs receipts (base64, see
    `lifeboat_keys.pairs.endpoint_key`), None where this machine signs them. `writers`: "one" where machines take turns
    because the store cannot compare, "several" where it can, "" where the remote itself orders them."""

    id: str
    kind: str
    release: str
    sealed: bool
    time: str | None = None
    limits: JsonObject = field(default_factory=dict)
    signing_key: str | None = None
    writers: str = ""


@dataclass(frozen=True, slots=True)
class RemoteHead:
    """The newest state of an agent at the remote. `digest` is b"" where none was computed. `writer` is the id of the
    device, `machine` its user's name for it; `written_at` is by the remote's clock."""

    number: int
    digest: bytes
    epoch: int
    time: str
    writer: str = ""
    machine: str = ""
    written_at: str = ""


@dataclass(frozen=True, slots=True)
class RemoteAgent:
    """An agent at the remote.

    `epoch` is the current one, even if nothing was written in it yet. `held`: the remote found that the newest state
    looks like an accident ({reason, previous}). `bytes` is its size. `damaged` counts the files and records that were
    lost or changed when the remote last read its data, `damaged_states` the states of which rows were;
    `damage_found_at` (timestamp) is when it last read everything and found some.
    """

    id: str
    name: str
    runtime: str
    epoch: int
    head: RemoteHead | None = None
    bytes: int = 0
    created_at: str = ""
    held: JsonObject | None = None
    damaged: int = 0
    damaged_states: int = 0
    damage_found_at: str = ""


@dataclass(frozen=True, slots=True)
class RemoteSequence:
    """A state that the remote can give. `size` in bytes, 0 where unknown before it is made."""

    number: int
    base: int | None
    digest: bytes
    epoch: int
    time: str
    kind: str
    writer: str = ""
    size: int = 0
    signature: JsonObject | None = None


class FileKey(NamedTuple):
    """How to name the bytes of a file to a remote. `leaf` commits to them and is covered by the signed digest of a
    state. `sha256` (hex) describes this machine's bytes; in a bundle without the bytes no signature covers it."""

    leaf: Leaf
    sha256: str


def file_key_of(entry: Entry) -> FileKey | None:
    """Return the key of an entry's bytes; None where nothing commits to them any more."""
    return None if entry.sha256 is None or not entry.leaf.salt else FileKey(entry.leaf, entry.sha256)


@dataclass(frozen=True, slots=True)
class RemoteRedaction:
    """State of a redaction at a remote. Until `applies_at` (timestamp) it waits, so that the owner of the data can
    refuse it. `receipt` is what the vault signed on completion (see `lifeboat_keys.signed.vault_receipts`), None while
    it waits."""

    id: str
    applies_at: str | None = None
    receipt: JsonObject | None = None


@dataclass(slots=True)
class RemoteBundle:
    """A bundle in transit. `base` is the number of the state that it goes on top of, None for a snapshot. `file` is
    seekable and at its beginning; the receiver closes it."""

    kind: BundleKind
    number: int
    base: int | None
    file: BinaryIO
    size: int


@dataclass(slots=True)
class RemoteVerification:
    """Result of reading back. `findings` are sentences; empty when everything was right."""

    number: int | None
    items: int = 0
    bytes: int = 0
    findings: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.findings


class Remote(Protocol):
    """A remote: a copy of agents."""

    def about(self) -> RemoteDescription: ...

    def agents(self) -> list[RemoteAgent]: ...

    def agent(self, agent_id: str) -> RemoteAgent:
        """Return an agent. Raises UnknownAtRemote, AgentErased."""
        ...

    def register(self, agent_id: str, name: str, runtime: str) -> RemoteAgent:
        """Register an agent; an existing one is returned as it is. Raises AgentErased."""
        ...

    # Sending ----------------------------------------------------------------------------------------------------

    def push(self, agent_id: str, bundle: RemoteBundle, *, machine: str = "") -> RemoteHead:
        """Append a state.

        A delta's `base` must be the head; a snapshot is for an agent without one. The number must be larger, and the
        epoch (signed in the bundle) not lower than the current one. Pushing the head again changes nothing and returns
        the head. An acknowledged push is durable; otherwise it raises and nothing happened. One of the `damaged_states`
        is restored as it was signed, regardless of its number; a delta that leads to it may be based on any kept state.
        This also returns the head.

        Raises UnknownAtRemote, StaleBase, EpochBehind, RemoteRefused (inconsistent), RemoteTooLarge, RemoteFull,
        RemoteBusy, RemoteUnreachable (it may have arrived).
        """
        ...

    def missing(self, agent_id: str, files: Sequence[FileKey], *, read: bool = False) -> list[FileKey]:
        """Return those of the files in kept states whose bytes the remote lacks; other files are ignored.

        With `read`, it reads each file and includes those whose bytes are lost. Where it can read its data, the leaf
        decides, regardless of the SHA-256, size or salt came with the state. A sealed log lists only large artifacts.
        """
        ...

    def damaged_states(self, agent_id: str, *, read: bool = False) -> list[int]:
        """Return the numbers of kept states that differ from what was signed, oldest first, as last found.

        With `read`, it first checks all of them against their digests, and every record against its leaf. A sealed log
        has none, because it keeps bundles.
        """
        ...

    def put_object(self, agent_id: str, file: FileKey, data: bytes) -> None:
        """Store the bytes of a large artifact, or of a file whose bytes were lost, that a state names. Repeating is no
        error. Raises UnknownAtRemote, RemoteRefused (they fit neither the leaf nor this SHA-256)."""
        ...

    def put_keys(self, agent_id: str, document: JsonObject) -> None:
        """Store the agent's wrapped keys (`lifeboat/keys.json`), which are not part of the history."""
        ...

    def put_signatures(self, agent_id: str, signatures: Iterable[tuple[int, JsonObject]]) -> int:
        """Replace signatures of a revoked key, by number of the state; return how many were accepted. Unknown numbers
        are skipped. Raises RemoteRefused for an invalid one."""
        ...

    def raise_epoch(self, agent_id: str, expected: int, *, machine: str = "") -> int:
        """Begin a new epoch if the current one is `expected`. Writers of an older epoch are refused from now on. Raises
        EpochMoved."""
        ...

    # Purging ----------------------------------------------------------------------------------------------------

    def redactions(self, agent_id: str) -> list[JsonObject]:
        """Return the redactions at the remote, including waiting ones (documents of
        `lifeboat_alf.redaction.redactions`); for an agent that was purged whole, that one. Raises UnknownAtRemote."""
        ...

    def redact(self, agent_id: str, document: JsonObject, *, owner: str | None = None) -> RemoteRedaction:
        """Store a redaction and destroy what it names.

        It takes effect at once if nothing named is there, if only this user keeps the remote, or with the token of its
        `owner` (scope purge); otherwise after 24 hours. Repeating is no error and returns the state. A new signature
        replaces the old one if it is of the user or device that signed the newest state, or came with the owner's
        token. From its arrival on, pushed content that it names is stored redacted.

        Raises UnknownAtRemote, RemoteDenied (the token lacks the scope), RemoteRefused (of another agent, or not of the
        user who wrote it).
        """
        ...

    # Fetching ---------------------------------------------------------------------------------------------------

    def keys(self, agent_id: str) -> JsonObject | None: ...

    def sequences(self, agent_id: str) -> Iterator[RemoteSequence]:
        """Yield every state that can be read, oldest first."""
        ...

    def snapshot(self, agent_id: str, number: int | None = None) -> RemoteBundle:
        """Return one state, the head by default. Raises UnknownAtRemote."""
        ...

    def deltas(self, agent_id: str, since: int) -> Iterator[RemoteBundle]:
        """Yield the deltas from a state to the next ones up to the head. Close each before the next."""
        ...

    def object(self, agent_id: str, sha256: str) -> bytes:
        """Return the bytes of a large artifact. Raises UnknownAtRemote, RemoteDamaged."""
        ...

    def verify(self, agent_id: str, state: State, *, bodies: int, chance: random.Random) -> RemoteVerification:
        """Compare the remote's head with the local state: digest, signature, and the bytes of up to `bodies` items
        chosen by `chance`, read back. Problems are in the result; raises what prevents the check."""
        ...

    def close(self) -> None: ...
