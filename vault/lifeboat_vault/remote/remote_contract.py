"""What a second copy of agents is to whoever replicates to it: an endpoint over HTTP, a folder, a vault in this
process.

A bundle is an `.alf` snapshot or an `.alf-delta` (see `lifeboat_alf`), in clear: remotes that may read nothing encrypt
on this side. Numbers are the writer's and mean the same state everywhere. All methods raise RemoteError (see
`lifeboat_vault.errors`), and what is retryable says so. A remote belongs to one thread.

`conformance` holds what every remote must do.
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
"""How far an epoch may lie above one that is known. Each is one machine taking an agent over, and all that is counted
ends at 2^53: who could name the last epoch would keep everybody from writing, for ever."""
TRIAL = "lifeboat remote test"
"""The runtime of agents that are made up to try out a remote. An endpoint has these removed by whoever may push."""


@dataclass(frozen=True, slots=True)
class RemoteDescription:
    """A remote itself. `id` was made with it and stays, whatever name or address it is known by. `sealed`: all it gets
    is encrypted on this side. `time` is its clock (timestamp), None where it has none of its own. `limits` in bytes:
    `direct_bytes` the largest body of one request. `signing_key` is the public half of the key that an endpoint signs
    receipts with (base64, see `lifeboat_keys.pairs.endpoint_key`), None where this machine signs them."""

    id: str
    kind: str
    release: str
    sealed: bool
    time: str | None = None
    limits: JsonObject = field(default_factory=dict)
    signing_key: str | None = None


@dataclass(frozen=True, slots=True)
class RemoteHead:
    """The newest state of an agent there. `digest` is the state's, b"" where nobody computed one. `writer` is the id
    of the device, `machine` what its user calls it; `written_at` by the remote's clock."""

    number: int
    digest: bytes
    epoch: int
    time: str
    writer: str = ""
    machine: str = ""
    written_at: str = ""


@dataclass(frozen=True, slots=True)
class RemoteAgent:
    """An agent there. `epoch` is the one in force, also when nothing was written in it yet. `held`: the remote found
    that the newest state looks like an accident ({reason, previous}). `bytes` it takes. `damaged` counts the files and
    records that the remote found to be lost or changed when it last read what it keeps, `damaged_states` the states of
    which rows were lost or changed there; `damage_found_at` (timestamp) is when it last read everything and found
    some."""

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
    """One state that can be had from there. `size` in bytes, 0 where it is not known before it is made."""

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
    """What the bytes of a file are asked for, and sent, by. `leaf` is what commits to them: the signed digest of a
    state covers it. `sha256` (hex) is of the bytes as this machine has them; no signature covers the one that stands in
    a bundle without them."""

    leaf: Leaf
    sha256: str


def file_key_of(entry: Entry) -> FileKey | None:
    """By what a remote is asked for the bytes of an entry; None where nothing is left that commits to them."""
    return None if entry.sha256 is None or not entry.leaf.salt else FileKey(entry.leaf, entry.sha256)


@dataclass(frozen=True, slots=True)
class RemoteRedaction:
    """How a redaction stands at a remote. `applies_at` (timestamp): until then it waits, so that whoever owns the data
    there can refuse it. `receipt` is what the vault signed when nothing was left to do (see
    `lifeboat_keys.signed.vault_receipts`), None while it waits."""

    id: str
    applies_at: str | None = None
    receipt: JsonObject | None = None


@dataclass(slots=True)
class RemoteBundle:
    """A bundle on its way. `base` is the number of the state it goes on top of, None for a snapshot. `file` is seekable
    and at its beginning; whoever got the bundle closes it."""

    kind: BundleKind
    number: int
    base: int | None
    file: BinaryIO
    size: int


@dataclass(slots=True)
class RemoteVerification:
    """What was read back. `findings` are sentences; empty when all of it held."""

    number: int | None
    items: int = 0
    bytes: int = 0
    findings: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.findings


class Remote(Protocol):
    def about(self) -> RemoteDescription: ...

    def agents(self) -> list[RemoteAgent]: ...

    def agent(self, agent_id: str) -> RemoteAgent:
        """Raises UnknownThere, AgentErased."""
        ...

    def register(self, agent_id: str, name: str, runtime: str) -> RemoteAgent:
        """Make it known; one that is known already is given back as it is there. Raises AgentErased."""
        ...

    # Sending ----------------------------------------------------------------------------------------------------

    def push(self, agent_id: str, bundle: RemoteBundle, *, machine: str = "") -> RemoteHead:
        """Append. A delta's `base` must be the head, a snapshot is for an agent without one; its number must be larger,
        its epoch (signed in the bundle) not lower than the one in force there. Pushing the state that already is the
        head changes nothing and gives the head. What was acknowledged is durable, or it raises and nothing happened.
        A state that is among the `damaged_states` is put back as it was signed, whatever its number; a delta that leads
        to it may go on top of any state that is kept there. That, too, gives the head.

        Raises UnknownThere, StaleBase, EpochBehind, RemoteRefused (it is not what it says), RemoteTooLarge, RemoteFull,
        RemoteBusy, RemoteUnreachable (whether it arrived is not known).
        """
        ...

    def missing(self, agent_id: str, files: Sequence[FileKey], *, read: bool = False) -> list[FileKey]:
        """Of files that stand in kept states there, those whose bytes it has not; others that it was asked for are left
        out. With `read`, those too whose bytes it has lost: it reads each of them. Where it can read what it has, their
        leaf decides, whatever SHA-256, size or salt came with the state. A sealed log names large artifacts alone."""
        ...

    def damaged_states(self, agent_id: str, *, read: bool = False) -> list[int]:
        """Numbers of the kept states that are not as they were signed, oldest first, as the remote last found. With
        `read`, it holds all of them against their digests first, and every record against its leaf. A sealed log has
        none: it keeps bundles."""
        ...

    def put_object(self, agent_id: str, file: FileKey, data: bytes) -> None:
        """The bytes of a large artifact, or of a file whose bytes were lost there, that a state there names; again is
        no error. Raises UnknownThere, RemoteRefused (they are not what the leaf commits to, or not of this SHA-256)."""
        ...

    def put_keys(self, agent_id: str, document: JsonObject) -> None:
        """The agent's wrapped keys (`lifeboat/keys.json`), which travel outside of history."""
        ...

    def put_signatures(self, agent_id: str, signatures: Iterable[tuple[int, JsonObject]]) -> int:
        """New signatures of states whose key counts no more, by number; how many were taken. Numbers that are not there
        are passed over. Raises RemoteRefused for one that does not hold."""
        ...

    def raise_epoch(self, agent_id: str, expected: int, *, machine: str = "") -> int:
        """Begin a new epoch if the one in force is `expected`: whoever writes in an older one is refused from now on.
        Raises EpochMoved."""
        ...

    # Purging ----------------------------------------------------------------------------------------------------

    def redactions(self, agent_id: str) -> list[JsonObject]:
        """The redactions that the remote holds (documents of `lifeboat_alf.redaction.redactions`), also those that wait
        there. Of an agent that was purged whole, that one. Raises UnknownThere."""
        ...

    def redact(self, agent_id: str, document: JsonObject, *, owner: str | None = None) -> RemoteRedaction:
        """Hold a redaction, and destroy what it names: at once if nothing of it is there, if nobody but this user keeps
        the remote, or with the token of its `owner` (scope purge), else after 24 hours. Again is no error, and tells
        how it stands; under another signature, that takes the place of the one which is there if it is of the user or
        the device that signed the newest state there is now, or came with the owner's token. From its arrival
        on, pushes that carry named leaves are taken as they read now.

        Raises UnknownThere, RemoteDenied (the token has not the scope), RemoteRefused (not of this agent, or not of the
        user who wrote it).
        """
        ...

    # Fetching ---------------------------------------------------------------------------------------------------

    def keys(self, agent_id: str) -> JsonObject | None: ...

    def sequences(self, agent_id: str) -> Iterator[RemoteSequence]:
        """Every state that can be had, oldest first."""
        ...

    def snapshot(self, agent_id: str, number: int | None = None) -> RemoteBundle:
        """One state, the head unless named. Raises UnknownThere."""
        ...

    def deltas(self, agent_id: str, since: int) -> Iterator[RemoteBundle]:
        """From a state that can be had to the next one, and so on to the head. Close each before the next."""
        ...

    def object(self, agent_id: str, sha256: str) -> bytes:
        """The bytes of a large artifact. Raises UnknownThere, RemoteDamaged."""
        ...

    def verify(self, agent_id: str, state: State, *, bodies: int, chance: random.Random) -> RemoteVerification:
        """Hold the head there against the same state here: its digest and signature, and bytes of up to `bodies` of its
        items, chosen by `chance`, read back from there. What is wrong is in the result. Raises what keeps it from being
        found out."""
        ...

    def close(self) -> None: ...
