"""What the restore wizard asks: `agents list`, `restore --dry-run`, `restore`, `undo` (docs/json.md)."""

from __future__ import annotations

import msgspec


class Here(msgspec.Struct, frozen=True):
    """An agent of this machine. `folders` are where each runtime would have another one like it."""

    id: str
    name: str = ""
    runtime: str = ""
    workspace: str = ""
    folders: dict[str, str] = {}


class Everyone(msgspec.Struct, frozen=True):
    agents: tuple[Here, ...] = ()


class Files(msgspec.Struct, frozen=True):
    created: int = 0
    overwritten: int = 0
    same: int = 0
    removed: int = 0
    skipped: int = 0


class Item(msgspec.Struct, frozen=True):
    """What becomes of one path. `basis` says from what it is written, `reason` why it is not."""

    name: str
    action: str
    kind: str = "file"
    basis: str = ""
    size: int | None = None
    reason: str = ""


class Database(msgspec.Struct, frozen=True):
    path: str
    changes: int = 0
    rows: dict[str, int] = {}


class Absent(msgspec.Struct, frozen=True):
    """A large file whose bytes are not kept."""

    filename: str
    size: int = 0


class Missing(msgspec.Struct, frozen=True):
    """What this machine lacks for something that the agent can do."""

    name: str = ""
    host_requirements: object = ""
    reason: str = ""


class Credential(msgspec.Struct, frozen=True):
    """What becomes of a credential. `reissue` is what somebody has to do about it."""

    label: str = ""
    outcome: str = ""
    where: str | None = None
    reason: str | None = None
    reason_code: str | None = None
    reissue: str | None = None


class Unholdable(msgspec.Struct, frozen=True):
    name: str = ""
    reason: str = ""


class Plan(msgspec.Struct, frozen=True):
    """`restore --dry-run`."""

    sequence: int
    time: str
    to: str
    runtime: str = ""
    signature: str = "signed"
    files: Files = Files()
    items: tuple[Item, ...] = ()
    databases: tuple[Database, ...] = ()
    absent: tuple[Absent, ...] = ()
    running: str | None = None
    capabilities_missing: tuple[Missing, ...] = ()
    credentials: tuple[Credential, ...] = ()
    executable: tuple[str, ...] = ()
    seen: str | None = None
    unholdable: tuple[Unholdable, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_signed(self) -> bool:
        return self.signature == "signed"

    @property
    def changes(self) -> int:
        """How much there is to write or remove."""
        files = self.files
        return files.created + files.overwritten + files.removed + sum(each.changes for each in self.databases)


class Step(msgspec.Struct, frozen=True):
    title: str
    command: str


class Records(msgspec.Struct, frozen=True):
    restored: int = 0


class Injected(msgspec.Struct, frozen=True):
    injected: int = 0
    skipped: int = 0


class Without(msgspec.Struct, frozen=True):
    """A capability that stays without credentials it needs."""

    name: str = ""
    credentials: tuple[str, ...] = ()


class Fate(msgspec.Struct, frozen=True):
    """What became of things that are alike."""

    kind: str = ""
    outcome: str = ""
    reason: str = ""
    names: tuple[str, ...] = ()


class LeftOut(msgspec.Struct, frozen=True):
    """Something that the state cannot give."""

    name: str = ""
    reason: str = ""


class Done(msgspec.Struct, frozen=True):
    """`restore` or `undo`."""

    name: str
    sequence: int
    to: str = ""
    kind: str = "restore"
    files: Files = Files()
    records: Records = Records()
    credentials: Injected = Injected()
    credential_details: tuple[Credential, ...] = ()
    capabilities_without: tuple[Without, ...] = ()
    capabilities_missing: tuple[Missing, ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    next: tuple[Step, ...] = ()
    receipt: str = ""
    objects: int = 0
    outcomes: dict[str, int] = {}
    fates: tuple[Fate, ...] = ()
    safety: int | None = None
    captured: int | None = None
    undo: bool = False
    adopted: bool = False
