"""The JSON of `lifeboat remote`, `agents list --remote` and `agents adopt --dry-run`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.documents.diff_documents import File, Record


class AgentThere(msgspec.Struct, frozen=True):
    """The state of an agent at a remote, as far as this machine knows."""

    id: str
    name: str = ""
    """the agents"""
    state: str = "ok"
    """`ok`, `waiting`, `held`, `fenced` or `error`"""
    sequence: int | None = None
    at: str | None = None
    verified_at: str | None = None
    """its newest sequence, since when, and when that was verified, or null"""
    message: str | None = None
    """why it is not `ok`, or null"""


class SecondCopy(msgspec.Struct, frozen=True):
    """`problem`: why its file cannot be used. `readable`: one sentence on who can read the data there."""

    name: str
    url: str | None = None
    id: str | None = None
    pin: str | None = None
    optional: bool = False
    sealed: bool = False
    added_at: str | None = None
    """the remotes"""
    readable: str = ""
    """one sentence: what the remote can read; "" if its file cannot be used"""
    writers: str = ""
    keeps_versions: bool = False
    """`several` or `one` machine at a time may write there, "" where the remote orders them; whether deleted bytes stay
    as older versions"""
    kind: str | None = None
    """`endpoint`, `folder` or another installed kind; null if its file cannot be used"""
    needs_token: bool = False
    """whether this kind needs a token"""
    has_token: bool = False
    """whether its token is stored"""
    problem: str | None = None
    """why its file cannot be used, or null"""
    verified_at: str | None = None
    """the oldest verification time of its agents; null if one was never verified"""
    agents: tuple[AgentThere, ...] = ()


class SecondCopies(msgspec.Struct, frozen=True):
    remotes: tuple[SecondCopy, ...] = ()


class Token(msgspec.Struct, frozen=True):
    """The scopes and expiry of a token."""

    scopes: tuple[str, ...] = ()
    expires_at: str | None = None


class Met(msgspec.Struct, frozen=True):
    """The answer to `remote add`, also with --dry-run, and to `remote token`."""

    name: str = ""
    url: str = ""
    id: str | None = None
    pin: str | None = None
    optional: bool = False
    sealed: bool = False
    added_at: str | None = None
    """the added or moved remote"""
    writers: str = ""
    keeps_versions: bool = False
    """how many machines may write, and whether deleted bytes stay, as in `remote list`"""
    readable: str = ""
    """one sentence: what the remote can read"""
    token: Token | None = None
    """the token's `scopes` and `expires_at` (or null); null if no token is needed"""
    release: str = ""
    """its release, or empty"""
    dry_run: bool = False
    """whether nothing was stored"""


class Check(msgspec.Struct, frozen=True):
    """One check of `remote test`."""

    name: str
    ok: bool = True
    message: str | None = None
    """each check, and its failure or null"""


class Tried(msgspec.Struct, frozen=True):
    """`remote test`; `left`: number of temporary agents that stay there."""

    name: str = ""
    """the remote"""
    ok: bool = True
    """whether it passed all checks"""
    checks: tuple[Check, ...] = ()
    left: int = 0
    """number of temporary agents that stay there"""


class Removed(msgspec.Struct, frozen=True):
    name: str = ""
    """the remote"""
    removed: bool = True
    token_revoked: bool = False
    """whether it was removed, and whether it revoked this machine's token"""


class Away(msgspec.Struct, frozen=True):
    """An agent on a remote. `here`: its name on this machine, None if it is not here."""

    id: str
    name: str = ""
    runtime: str = ""
    epoch: int = 0
    """the agents there, with their current epoch"""
    sequence: int | None = None
    time: str | None = None
    machine: str = ""
    written_at: str | None = None
    """its newest state, the machine that wrote it, and when it arrived; null or "" if there is none"""
    bytes: int = 0
    """its size"""
    held: JsonObject | None = None
    """why the newest state looks accidental (`reason`, `previous`) or is incomplete (`previous` is null); or null"""
    here: str | None = None
    """its name on this machine, or null"""
    folders: dict[str, str] = {}
    """for each runtime, its default folder on this machine"""


class There(msgspec.Struct, frozen=True):
    remote: str = ""
    """the remote"""
    agents: tuple[Away, ...] = ()


class Changes(msgspec.Struct, frozen=True):
    """The changes that the workspace would make to the state of the remote. `held`: why they would be held, or None."""

    files: tuple[File, ...] = ()
    records: tuple[Record, ...] = ()
    documents: tuple[File, ...] = ()
    counts: JsonObject = {}
    held: JsonObject | None = None


class Adoption(msgspec.Struct, frozen=True):
    """`take_over` is the machine to name, None if none has to be named."""

    id: str = ""
    name: str = ""
    """the agent"""
    dry_run: bool = True
    remote: str = ""
    base: int | None = None
    time: str | None = None
    machine: str = ""
    written_at: str | None = None
    """the remote and its newest state, the machine that wrote it, and when it arrived"""
    take_over: str | None = None
    """the machine to name with `--take-over`, or null"""
    own_history: bool = False
    """whether this machine has its whole history"""
    changes: Changes = Changes()
    """changes of the workspace, as in `diff`; `changes.held`: why they would be held, or null"""
    warnings: tuple[str, ...] = ()
    """remarks"""
