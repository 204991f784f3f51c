"""`lifeboat keys status` and `keys rotate`."""

from __future__ import annotations

import msgspec


class Former(msgspec.Struct, frozen=True):
    """A key that was replaced. `compromised`: others may hold it."""

    key_id: str
    replaced_at: str | None = None
    compromised: bool = False


class Machine(msgspec.Struct, frozen=True):
    """A machine of the user; `revoked_at`: since when it counts as lost."""

    id: str
    name: str = ""
    first_seen: str | None = None
    last_seen: str | None = None
    revoked_at: str | None = None
    here: bool = False


class Sealed(msgspec.Struct, frozen=True):
    """An agent and the pair its credentials are sealed to, None while it has none."""

    id: str
    name: str = ""
    pair: str | None = None


class KeyStatus(msgspec.Struct, frozen=True):
    """`key_id` is None while there is no key."""

    state: str = "ok"
    key_id: str | None = None
    store: str = ""
    note: str = ""
    proven_at: str | None = None
    former: tuple[Former, ...] = ()
    machines: tuple[Machine, ...] = ()
    agents: tuple[Sealed, ...] = ()
    problems: tuple[str, ...] = ()


class Credential(msgspec.Struct, frozen=True):
    """One that its issuer has to replace."""

    agent: str = ""
    service: str | None = None
    credential_type: str | None = None
    label: str | None = None


class Revoked(msgspec.Struct, frozen=True):
    """A second copy where the token of a lost machine counts no more."""

    name: str = ""


class Rotation(msgspec.Struct, frozen=True):
    """`keys rotate`."""

    key_id: str = ""
    former: str = ""
    compromised: bool = False
    reissue: tuple[Credential, ...] = ()
    revoked: Machine | None = None
    remotes: tuple[Revoked, ...] = ()
    unfinished: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    words_to: str | None = None
