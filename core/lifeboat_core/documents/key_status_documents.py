"""The JSON of `lifeboat keys`."""

from __future__ import annotations

import msgspec


class Former(msgspec.Struct, frozen=True):
    """A key that was replaced."""

    key_id: str
    replaced_at: str | None = None
    compromised: bool = False
    """replaced keys, when, and whether others may have them"""


class Machine(msgspec.Struct, frozen=True):
    """A machine of the user."""

    id: str
    name: str = ""
    """the user's machines"""
    first_seen: str | None = None
    last_seen: str | None = None
    """first and last seen"""
    revoked_at: str | None = None
    """when it was reported lost, or null"""
    here: bool = False
    """whether it is this machine"""


class Sealed(msgspec.Struct, frozen=True):
    """An agent and the pair that its credentials are sealed to."""

    id: str
    name: str = ""
    """the agents"""
    pair: str | None = None
    """key pair of its credentials, or null if it has none yet"""


class KeyStatus(msgspec.Struct, frozen=True):
    """The document of `keys status`. `key_id` is None while there is no key."""

    state: str = "ok"
    """`ok`, `needs_key` or `error`"""
    key_id: str | None = None
    """the key"""
    store: str = ""
    """where it is stored: `keyring`, `passphrase`, `command`, `key_file` or `file`"""
    note: str = ""
    """remark for people"""
    description: str = ""
    """for a usable key: where it is, for people; otherwise empty"""
    proven_at: str | None = None
    """when its words were last proven, or null"""
    former: tuple[Former, ...] = ()
    machines: tuple[Machine, ...] = ()
    agents: tuple[Sealed, ...] = ()
    problems: tuple[str, ...] = ()
    """what could not be read"""


class Credential(msgspec.Struct, frozen=True):
    """A credential that its issuer has to replace."""

    agent: str = ""
    service: str | None = None
    credential_type: str | None = None
    label: str | None = None
    """credentials that their issuers have to replace: anyone with the former key can open old copies"""


class Revoked(msgspec.Struct, frozen=True):
    """A remote at which the token of a lost machine was revoked."""

    name: str = ""


class Wrapped(msgspec.Struct, frozen=True):
    """An agent whose keys were wrapped again."""

    id: str
    name: str = ""
    """agents whose keys were wrapped again"""


class Countersigned(msgspec.Struct, frozen=True):
    """The history of an agent after a theft of the key."""

    agent: str
    countersigned: int = 0
    """after a theft: agents, and number of states signed again"""
    sequence: int | None = None
    """the sequence that sealed its credentials for a new pair, or null"""
    epoch: int | None = None
    """the epoch of its later sequences"""


class Unsigned(msgspec.Struct, frozen=True):
    """A sequence whose signature was not valid."""

    agent: str
    sequence: int
    """states with an invalid signature, which was not renewed"""


class Rotation(msgspec.Struct, frozen=True):
    """The document of `keys rotate`."""

    key_id: str = ""
    former: str = ""
    """the new key and the one it replaced"""
    compromised: bool = False
    """whether others may have the former key"""
    agents: tuple[Wrapped, ...] = ()
    vaults: tuple[Countersigned, ...] = ()
    refused: tuple[Unsigned, ...] = ()
    reissue: tuple[Credential, ...] = ()
    revoked: Machine | None = None
    """the machine reported as lost (`id`, `name`), or null"""
    remotes: tuple[Revoked, ...] = ()
    """remotes that revoked that machine's token"""
    unfinished: tuple[str, ...] = ()
    """unfinished work with reasons; the next command continues it"""
    warnings: tuple[str, ...] = ()
    """remarks"""
    words_to: str | None = None
    """the file with the new words, or null"""
