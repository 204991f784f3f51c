"""What the first run asks: `agents discover`, `agents list --remote`, `keys status`, `remote list`, `restore`, `setup`
(docs/json.md)."""

from __future__ import annotations

import msgspec

from lifeboat_core.documents.restore_documents import Files


class Found(msgspec.Struct, frozen=True):
    """An agent on this machine. `protected_as` is what it is called here, None while nobody protects it."""

    runtime: str
    name: str
    workspace: str
    protected_as: str | None = None
    dismissed: bool = False


class Discovered(msgspec.Struct, frozen=True):
    found: tuple[Found, ...] = ()


class Key(msgspec.Struct, frozen=True):
    """The user's key; `key_id` is None while there is none."""

    state: str = "ok"
    key_id: str | None = None
    store: str = ""
    note: str = ""
    proven_at: str | None = None


class SecondCopy(msgspec.Struct, frozen=True):
    name: str
    url: str | None = ""
    readable: str = ""
    problem: str | None = None


class SecondCopies(msgspec.Struct, frozen=True):
    remotes: tuple[SecondCopy, ...] = ()


class Away(msgspec.Struct, frozen=True):
    """An agent that a second copy has. `here` is what it is called on this machine, None where it is not here;
    `folders` are where each runtime would have it."""

    id: str
    name: str = ""
    runtime: str = ""
    sequence: int | None = None
    time: str | None = None
    machine: str = ""
    written_at: str | None = None
    bytes: int = 0
    here: str | None = None
    folders: dict[str, str] = {}


class There(msgspec.Struct, frozen=True):
    agents: tuple[Away, ...] = ()


class Credential(msgspec.Struct, frozen=True):
    label: str = ""
    outcome: str = ""
    reason: str | None = None


class Plan(msgspec.Struct, frozen=True):
    """`restore --dry-run`."""

    sequence: int
    time: str
    to: str
    runtime: str
    signature: str = ""
    files: Files = Files()
    warnings: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()
    credentials: tuple[Credential, ...] = ()


class NextStep(msgspec.Struct, frozen=True):
    title: str
    command: str


class Counts(msgspec.Struct, frozen=True):
    injected: int = 0
    skipped: int = 0


class Restored(msgspec.Struct, frozen=True):
    """`restore`."""

    name: str
    sequence: int
    to: str
    files: Files = Files()
    credentials: Counts = Counts()
    warnings: tuple[str, ...] = ()
    next: tuple[NextStep, ...] = ()


class Step(msgspec.Struct, frozen=True):
    """`state` is done, missing or skipped; `command` does it, and `action` says what that of the service does."""

    name: str
    state: str
    text: str
    command: str | None = None
    action: str = ""


class Setup(msgspec.Struct, frozen=True):
    steps: tuple[Step, ...] = ()

    def step(self, name: str) -> Step | None:
        """The step of this name."""
        return next((one for one in self.steps if one.name == name), None)
