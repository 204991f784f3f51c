"""`lifeboat remote`, `agents list --remote` and `agents adopt --dry-run`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.documents.diff_documents import File, Record


class AgentThere(msgspec.Struct, frozen=True):
    """How a second copy stands with an agent, as far as this machine knows."""

    id: str
    name: str = ""
    state: str = "ok"
    sequence: int | None = None
    at: str | None = None
    verified_at: str | None = None
    message: str | None = None


class SecondCopy(msgspec.Struct, frozen=True):
    """`problem`: why its file cannot be used. `readable`: one sentence, who can read what there."""

    name: str
    url: str | None = None
    id: str | None = None
    pin: str | None = None
    optional: bool = False
    sealed: bool = False
    added_at: str | None = None
    readable: str = ""
    has_token: bool = False
    problem: str | None = None
    verified_at: str | None = None
    agents: tuple[AgentThere, ...] = ()

    @property
    def is_folder(self) -> bool:
        return (self.url or "").startswith("file:")


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
    readable: str = ""
    release: str = ""
    token: Token | None = None


class Check(msgspec.Struct, frozen=True):
    """One check of `remote test`."""

    name: str
    ok: bool = True
    message: str | None = None


class Tried(msgspec.Struct, frozen=True):
    """`remote test`; `left`: how many made-up agents stay there."""

    ok: bool = True
    checks: tuple[Check, ...] = ()
    left: int = 0


class Removed(msgspec.Struct, frozen=True):
    name: str = ""
    token_revoked: bool = False


class Away(msgspec.Struct, frozen=True):
    """An agent that a second copy has. `here`: what it is called on this machine, None where it is not here."""

    id: str
    name: str = ""
    runtime: str = ""
    sequence: int | None = None
    time: str | None = None
    machine: str = ""
    written_at: str | None = None
    bytes: int = 0
    held: JsonObject | None = None
    here: str | None = None


class There(msgspec.Struct, frozen=True):
    agents: tuple[Away, ...] = ()


class Changes(msgspec.Struct, frozen=True):
    """What the workspace would change on top of what is there. `held`: why that would be held, or None."""

    files: tuple[File, ...] = ()
    records: tuple[Record, ...] = ()
    documents: tuple[File, ...] = ()
    held: JsonObject | None = None


class Adoption(msgspec.Struct, frozen=True):
    """`take_over` is the machine that has to be named, None where nobody has to be."""

    name: str = ""
    remote: str = ""
    base: int | None = None
    time: str | None = None
    machine: str = ""
    written_at: str | None = None
    take_over: str | None = None
    own_history: bool = False
    changes: Changes = Changes()
    warnings: tuple[str, ...] = ()
