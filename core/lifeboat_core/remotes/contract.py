"""A remote as this machine knows it, and the interface of a kind of remotes.

A kind is one entry point of the group `lifeboat.remotes`, named by the scheme of its addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from lifeboat_core.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import BinaryIO

    from lifeboat_alf.redaction.redactions import Redaction, Redactions
    from lifeboat_alf.states.agent_state import State
    from lifeboat_core.home.context import Context
    from lifeboat_vault.remote.remote_contract import Remote


@dataclass(frozen=True, slots=True)
class RemoteConfig:
    """One remote: `remotes/<name>.toml`, what the user decided.

    `id` is the id of the remote itself, by which it is recognised under any name and address. `pin` is the SHA-256
    (hex) of the public key of the remote's certificate authority, "" if the authorities of the system count.
    `optional`: its absence is no problem (a stick). `sealed`: everything is encrypted on this machine. `writers` and
    `keeps_versions`: what was found of its store (see `StoreFindings`), "" and False for other kinds. `problem` says
    why the file on disk cannot be used.
    """

    name: str
    url: str
    id: str = ""
    pin: str = ""
    optional: bool = False
    sealed: bool = False
    added_at: str = ""
    writers: str = ""
    keeps_versions: bool = False
    problem: str | None = None


class CredentialQuestion(NamedTuple):
    """One line that a terminal asks for: `what`, as the beginning of a sentence, and whether the input is hidden."""

    what: str
    is_hidden: bool


class RemoteKind:
    """One kind of remotes (docs/remote-kinds.md). Its module is light: it imports a network library when it opens a
    remote.

    Everything that depends on where a remote is kept is asked here; no other code looks at the scheme of an address.
    """

    name: str
    """The word for it in the dashboard and in JSON, such as `folder`."""
    needs_token = False
    """Whether a remote of this kind accepts only requests with a token."""
    is_service = False
    """Whether a server answers, which can be another service than the user meant."""
    signs_requests = False
    """Whether the token of a remote only signs requests, so that a server that is asked does not learn it."""
    identifies_to_users = False
    """Whether a remote tells who it is only to requests with a token, so that a server is asked with it from the
    first request on."""
    has_credentials = False
    """Whether users give credentials, which `read_credentials` turns into the token that is kept."""
    needs_credentials = False
    """Whether it cannot be used without given credentials, so that a terminal asks for them."""
    credential_questions: Sequence[CredentialQuestion] = (CredentialQuestion("The credentials", is_hidden=True),)
    """What a terminal asks for; `read_credentials` gets one line per answer."""
    is_sealed_by_default = False
    """Whether everything is encrypted on this machine unless the user asks for `--plain`."""
    access_advice = "no token is needed: the address and these words give access to everything"
    """What the recovery kit says of the token that a new machine needs."""
    unreachable_fix = "lifeboat remote add --help"
    """The command that helps when a remote cannot be reached while it is added."""

    def check_url(self, url: str) -> str:
        """Return the address in its normal form. Raises BadSetting for one that is not of this kind."""
        raise NotImplementedError

    def add_options(self, url: str, options: Mapping[str, str]) -> str:
        """Return a normal address with the options `endpoint` and `region` of the command. Raises BadSetting for one
        that the kind does not have."""
        if options:
            raise BadSetting(f"--{min(options)} can only be used for a bucket", fix="lifeboat remote add --help")
        return url

    def read_credentials(self, url: str, text: str) -> str:
        """Return credentials that a user gave as the token that is kept. Raises BadSetting, which does not repeat
        them."""
        raise BadSetting(
            "a remote of this kind has no credentials; an endpoint has a token", fix="lifeboat remote add --help"
        )

    def open(self, context: Context, config: RemoteConfig, token: str | None) -> Remote:
        """Return the remote. Nothing is sent before a method of it is called. Raises RemoteError, BadSetting."""
        raise NotImplementedError

    def readable_by(self, config: RemoteConfig) -> str:
        """Return one sentence for people: what the operator or finder of the remote can read."""
        raise NotImplementedError

    def describe_store(self, config: RemoteConfig) -> list[str]:
        """Return sentences for people: what was found of the store that keeps the remote."""
        return self.describe_limits(config)

    def describe_limits(self, config: RemoteConfig) -> list[str]:
        """Return those of them that say what the store cannot do."""
        return []

    def describe_access(self, context: Context, config: RemoteConfig, token: str | None) -> str:
        """Return where the access to a remote without a token comes from; "" where none is needed."""
        return ""

    def find_missing_program(self, context: Context) -> tuple[str, str] | None:
        """Return what this machine lacks to use a remote of this kind, and the command that installs it."""
        return None

    def needs_network(self, url: str) -> bool:
        """Return whether a transfer uses the network, which can be down or cost by volume."""
        return True

    def is_present(self, url: str) -> bool | None:
        """Return whether a medium that can be unplugged is there; None for a kind without one. May take long."""
        return None

    def shares_disk(self, url: str, folder: Path) -> bool:
        """Return whether the remote is on the file system of `folder`, so that one broken disk loses both. May take
        long."""
        return False

    def waits_for_owner(self, config: RemoteConfig) -> bool:
        """Return whether a purge waits there for the owner of the data, unless the owner's token is given."""
        return False

    def describe_trust(self, config: RemoteConfig) -> str:
        """Return who vouches for the server, as the end of a sentence; "" where that is not needed."""
        return ""

    def may_keep_token(self, known: RemoteConfig, moved: RemoteConfig) -> bool:
        """Return whether the token of a known remote may be shown at the address to which the remote is moved."""
        return known.url == moved.url and known.pin == moved.pin


SEVERAL, ONE = "several", "one"
"""How many machines may write to a remote at a time (see `StoreFindings`)."""


class StoreFindings(NamedTuple):
    """What the store of a remote does, found by trying.

    `writers`: "several" if it compares before it replaces, so that several machines may write; "one" if machines have
    to take turns. `keeps_versions`: whether deleted bytes stay as older versions, None if the store does not tell.
    """

    writers: str
    keeps_versions: bool | None


@runtime_checkable
class StoreProbing(Protocol):
    """A remote in a store of which it is not known what it does."""

    def examine_store(self) -> StoreFindings:
        """Write, replace, list and delete a small object. Raises RemoteRefused for a store that cannot keep a
        remote."""
        ...


class LeafPlace(NamedTuple):
    """Where a leaf stands: from the state `first` until before the state `last` (None: to the newest)."""

    leaf: bytes
    first: int
    last: int | None

    def holds(self, number: int) -> bool:
        """Return whether a state contains the leaf."""
        return self.first <= number and (self.last is None or number < self.last)


class BundleSource(Protocol):
    """The states that this machine has, for a remote that cannot make bundles itself."""

    def numbers(self) -> Collection[int]:
        """Return the numbers of the states of which it can make bundles."""
        ...

    def gone(self) -> Collection[int]:
        """Return the numbers of the states that this machine thinned according to the settings."""
        ...

    def write(self, number: int, on: int | None, out: BinaryIO) -> None:
        """Write the delta from `on` to `number`, or for None the snapshot of `number`, as it is signed here."""
        ...

    def digests(self) -> Mapping[int, str]:
        """Return the digest (hex) of each state by its number."""
        ...

    def state(self, number: int) -> State:
        """Return one of its states."""
        ...

    def redactions(self) -> Redactions:
        """Return everything that was purged of its states."""
        ...

    def places(self, leaves: Collection[bytes]) -> list[LeafPlace]:
        """Return where leaves stand in its states, each uninterrupted stay by itself."""
        ...


@runtime_checkable
class Compactable(Protocol):
    """A remote that cannot read what it has, so this machine keeps it small."""

    def needs_compaction(self, agent_id: str) -> bool: ...

    def compact(self, agent_id: str, material: BundleSource, *, renewed: bool = False, mended: bool = False) -> bool:
        """Send a snapshot of the head if one pays or is to be `renewed`, and drop the states that this machine dropped.

        Every other state still restores exactly afterwards. With `mended`, every file is read, and a damaged one is
        written again as far as this machine has the states. Return False if another machine wrote meanwhile: then
        nothing changed.
        """
        ...


@runtime_checkable
class Mendable(Protocol):
    """A remote whose list of purges this machine maintains."""

    def mend_purges(self, agent_id: str, candidates: Sequence[Sequence[Redaction]]) -> None:
        """Write the list again if it is damaged, from the first of these lists that matches."""
        ...


@runtime_checkable
class AgentRemoving(Protocol):
    """A remote from which this machine may remove an agent, or which says who may."""

    def remove_agent(self, agent_id: str) -> None:
        """Destroy everything that is kept of an agent there. Raises UnknownAtRemote, RemoteDenied."""
        ...
