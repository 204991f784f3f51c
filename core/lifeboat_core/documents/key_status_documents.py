"""The JSON of `lifeboat keys`."""

from __future__ import annotations

import msgspec


class Former(msgspec.Struct, frozen=True):
    """A key that was replaced."""

    key_id: str
    replaced_at: str | None = None
    compromised: bool = False
    """keys that it replaced, when, and whether others may hold them"""


class Machine(msgspec.Struct, frozen=True):
    """A machine of the user."""

    id: str
    name: str = ""
    """a machine of yours"""
    first_seen: str | None = None
    last_seen: str | None = None
    """when it was met"""
    revoked_at: str | None = None
    """since when it counts as lost, or null"""
    here: bool = False
    """whether it is this one"""


class Sealed(msgspec.Struct, frozen=True):
    """An agent and the pair that its credentials are sealed to."""

    id: str
    name: str = ""
    """an agent"""
    pair: str | None = None
    """the pair its credentials are sealed to, or null while it has none"""


class KeyStatus(msgspec.Struct, frozen=True):
    """The document of `keys status`. `key_id` is None while there is no key."""

    state: str = "ok"
    """`ok`, `needs_key` or `error`"""
    key_id: str | None = None
    """the key"""
    store: str = ""
    """where it lies: `keyring`, `passphrase`, `command`, `key_file` or `file`"""
    note: str = ""
    """what to know about it, for people"""
    description: str = ""
    """of a key that can be used: where it is, for people; else "" """
    proven_at: str | None = None
    """when its words were last proven, or null"""
    former: tuple[Former, ...] = ()
    machines: tuple[Machine, ...] = ()
    agents: tuple[Sealed, ...] = ()
    problems: tuple[str, ...] = ()
    """what of this could not be read"""


class Credential(msgspec.Struct, frozen=True):
    """A credential that its issuer has to replace."""

    agent: str = ""
    service: str | None = None
    credential_type: str | None = None
    label: str | None = None
    """a credential that its issuer has to replace: old copies stay open to whoever has the former key"""


class Revoked(msgspec.Struct, frozen=True):
    """A remote at which the token of a lost machine was revoked."""

    name: str = ""


class Wrapped(msgspec.Struct, frozen=True):
    """An agent whose keys were wrapped again."""

    id: str
    name: str = ""
    """agents whose keys were wrapped anew"""


class Countersigned(msgspec.Struct, frozen=True):
    """The history of an agent after a theft of the key."""

    agent: str
    countersigned: int = 0
    """after a theft: an agent, and how many states of its history were signed anew"""
    sequence: int | None = None
    """the sequence in which its credentials were sealed to a new pair, or null"""
    epoch: int | None = None
    """the epoch that its later sequences carry"""


class Unsigned(msgspec.Struct, frozen=True):
    """A sequence whose signature was not valid."""

    agent: str
    sequence: int
    """states whose signature did not hold, and was not renewed"""


class Rotation(msgspec.Struct, frozen=True):
    """The document of `keys rotate`."""

    key_id: str = ""
    former: str = ""
    """the key that is in force now, and the one it replaced"""
    compromised: bool = False
    """whether others may have the former key"""
    agents: tuple[Wrapped, ...] = ()
    vaults: tuple[Countersigned, ...] = ()
    refused: tuple[Unsigned, ...] = ()
    reissue: tuple[Credential, ...] = ()
    revoked: Machine | None = None
    """the machine that was reported as lost: `id`, `name`; or null"""
    remotes: tuple[Revoked, ...] = ()
    """remotes whose token of that machine was revoked"""
    unfinished: tuple[str, ...] = ()
    """what waits, and why; the next command goes on"""
    warnings: tuple[str, ...] = ()
    """what to know"""
    words_to: str | None = None
    """the file the new words were written to, or null"""
