"""The JSON of `lifeboat remote`, `agents list --remote` and `agents adopt --dry-run`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.documents.diff_documents import File, Record


class AgentThere(msgspec.Struct, frozen=True):
    """How a second copy stands with an agent, as far as this machine knows."""

    id: str
    name: str = ""
    """an agent"""
    state: str = "ok"
    """`ok`, `waiting`, `held`, `fenced` or `error`"""
    sequence: int | None = None
    at: str | None = None
    verified_at: str | None = None
    """what it has, since when, and when that was read back, or null"""
    message: str | None = None
    """why it is not `ok`, or null"""


class SecondCopy(msgspec.Struct, frozen=True):
    """`problem`: why its file cannot be used. `readable`: one sentence, who can read what there."""

    name: str
    url: str | None = None
    id: str | None = None
    pin: str | None = None
    optional: bool = False
    sealed: bool = False
    added_at: str | None = None
    """every second copy"""
    readable: str = ""
    """one sentence: what the other side can read; "" where its file cannot be used"""
    kind: str | None = None
    """`endpoint`, `folder` or another installed kind, null where its file cannot be used"""
    needs_token: bool = False
    """whether a remote of this kind wants a token"""
    has_token: bool = False
    """whether a token is kept for it"""
    problem: str | None = None
    """why its file cannot be used, or null"""
    verified_at: str | None = None
    """when the agent that was read back longest ago was read back, null while one never was"""
    agents: tuple[AgentThere, ...] = ()


class SecondCopies(msgspec.Struct, frozen=True):
    remotes: tuple[SecondCopy, ...] = ()


class Token(msgspec.Struct, frozen=True):
    """What a token allows, and until when."""

    scopes: tuple[str, ...] = ()
    expires_at: str | None = None


class Met(msgspec.Struct, frozen=True):
    """What answered to `remote add`, also with --dry-run, and to `remote token`."""

    name: str = ""
    url: str = ""
    id: str | None = None
    pin: str | None = None
    optional: bool = False
    sealed: bool = False
    added_at: str | None = None
    """what was added, or moved"""
    readable: str = ""
    """one sentence: what the other side can read"""
    token: Token | None = None
    """what the token allows (`scopes`), and when it ends or null (`expires_at`); null where none is wanted"""
    release: str = ""
    """the release that answers there, or "" """
    dry_run: bool = False
    """whether it was only asked, and nothing was kept"""


class Check(msgspec.Struct, frozen=True):
    """One check of `remote test`."""

    name: str
    ok: bool = True
    message: str | None = None
    """each check, and what was not as it must be, or null"""


class Tried(msgspec.Struct, frozen=True):
    """`remote test`; `left`: how many made-up agents stay there."""

    name: str = ""
    """the second copy"""
    ok: bool = True
    """whether it does all that it must"""
    checks: tuple[Check, ...] = ()
    left: int = 0
    """how many made-up agents stay there"""


class Removed(msgspec.Struct, frozen=True):
    name: str = ""
    """the second copy"""
    removed: bool = True
    token_revoked: bool = False
    """whether it is gone, and whether the token of this machine counts no more there"""


class Away(msgspec.Struct, frozen=True):
    """An agent that a second copy has. `here`: what it is called on this machine, None where it is not here."""

    id: str
    name: str = ""
    runtime: str = ""
    epoch: int = 0
    """every agent there, with the epoch in force"""
    sequence: int | None = None
    time: str | None = None
    machine: str = ""
    written_at: str | None = None
    """its newest state, who wrote it, and when it came there; null, or "", while there is none"""
    bytes: int = 0
    """what it takes"""
    held: JsonObject | None = None
    """why the newest state looks like an accident (`reason`, `previous`), or is not whole (`previous` is null); or
    null"""
    here: str | None = None
    """what it is called on this machine, or null"""
    folders: dict[str, str] = {}
    """for each runtime, the folder of this machine where it would have the agent"""


class There(msgspec.Struct, frozen=True):
    remote: str = ""
    """the second copy"""
    agents: tuple[Away, ...] = ()


class Changes(msgspec.Struct, frozen=True):
    """What the workspace would change on top of what is there. `held`: why that would be held, or None."""

    files: tuple[File, ...] = ()
    records: tuple[Record, ...] = ()
    documents: tuple[File, ...] = ()
    counts: JsonObject = {}
    held: JsonObject | None = None


class Adoption(msgspec.Struct, frozen=True):
    """`take_over` is the machine that has to be named, None where nobody has to be."""

    id: str = ""
    name: str = ""
    """the agent"""
    dry_run: bool = True
    remote: str = ""
    base: int | None = None
    time: str | None = None
    machine: str = ""
    written_at: str | None = None
    """the second copy and its newest state, who wrote it, and when it came there"""
    take_over: str | None = None
    """the machine that `--take-over` has to name, or null"""
    own_history: bool = False
    """whether this machine has all of that history"""
    changes: Changes = Changes()
    """what the workspace would change on top, as `diff` says it; `changes.held` is why it would be held, or null"""
    warnings: tuple[str, ...] = ()
    """what to know"""
