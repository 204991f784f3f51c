"""The JSON of `lifeboat restore`, `undo` and `alf import`."""

from __future__ import annotations

import msgspec


class Files(msgspec.Struct, frozen=True):
    created: int = 0
    overwritten: int = 0
    same: int = 0
    removed: int = 0
    skipped: int = 0
    """files"""


class Item(msgspec.Struct, frozen=True):
    """The plan for one path. `basis` is its source, `reason` why it is not written."""

    name: str
    action: str
    kind: str = "file"
    basis: str = ""
    size: int | None = None
    """each path, its action and its source"""
    reason: str = ""
    reason_code: str | None = None
    """why a path is not written"""


class Database(msgspec.Struct, frozen=True):
    path: str
    changes: int = 0
    rows: dict[str, int] = {}
    """each database with the number of rows to `add`, `update`, `keep`, `remove`"""


class Absent(msgspec.Struct, frozen=True):
    """A large file without captured content."""

    filename: str
    size: int = 0


class Missing(msgspec.Struct, frozen=True):
    """A missing requirement of a capability."""

    name: str = ""
    host_requirements: object = ""
    reason: str = ""
    """missing requirements of capabilities"""
    code: str = ""
    """`absent`, or `unchecked` if the requirement names no program"""


class Credential(msgspec.Struct, frozen=True):
    """The plan for a credential. `reissue` is what the user has to do about it."""

    id: str = ""
    label: str = ""
    service: str | None = None
    type: str | None = None
    """if credentials are restored: each credential of the state"""
    outcome: str = ""
    where: str | None = None
    reason: str | None = None
    """`injected` with its target, or `skipped` with the reason"""
    reason_code: str | None = None
    """code of `reason`, or null: `kept`, `expired`, `no_program`, `locked`, `without_credentials`, `bound_channel`,
    `bound_gateway`, `no_agent_key` or another code; runtime adapters add codes"""
    reissue: str | None = None
    """what the user has to do, or null"""
    reissue_code: str | None = None
    """code of `reissue`, or null: `rotates`, `sign_in`, `link_again`, `made_anew` or `issue_again`"""


class Unholdable(msgspec.Struct, frozen=True):
    name: str = ""
    reason: str = ""


class Fate(msgspec.Struct, frozen=True):
    """The outcome of similar items."""

    kind: str = ""
    outcome: str = ""
    reason: str = ""
    names: tuple[str, ...] = ()
    """kind of the items (`memory`, `vector`, `row`, `identity`, `principal`, `credential`, `file`, `artifact`,
    `document`, `setting` or `capability`), their outcome, the reason, and the id or path of each item"""
    code: str = ""
    """code of the reason, or empty"""


class Plan(msgspec.Struct, frozen=True):
    """`restore --dry-run`."""

    sequence: int
    time: str
    """the sequence and its capture time"""
    to: str
    agent: str = ""
    runtime: str = ""
    """target, agent, runtime"""
    signature: str = "signed"
    files: Files = Files()
    """as in a restore"""
    items: tuple[Item, ...] = ()
    absent: tuple[Absent, ...] = ()
    """large files without captured content"""
    executable: tuple[str, ...] = ()
    """of an unsigned state: what it could execute"""
    capabilities_missing: tuple[Missing, ...] = ()
    """as in a restore"""
    credentials: tuple[Credential, ...] = ()
    """as `credential_details[]` of a restore"""
    unholdable: tuple[Unholdable, ...] = ()
    """names that the target file system cannot store"""
    databases: tuple[Database, ...] = ()
    warnings: tuple[str, ...] = ()
    """remarks"""
    running: str | None = None
    """the running runtime that uses the target, or null; nothing is written while it runs"""
    objects: int = 0
    outcomes: dict[str, int] = {}
    fates: tuple[Fate, ...] = ()
    """as in a restore"""
    with_credentials: bool = False
    """whether credentials would be restored"""
    seen: str | None = None
    """of an unsigned state: the code for `--seen`, otherwise null"""

    @property
    def is_signed(self) -> bool:
        return self.signature == "signed"

    @property
    def changes(self) -> int:
        """The number of items to write or remove."""
        files = self.files
        return files.created + files.overwritten + files.removed + sum(each.changes for each in self.databases)


class Step(msgspec.Struct, frozen=True):
    title: str
    command: str
    """remaining commands of the runtime"""
    waits: str | None = None
    """why it cannot run now"""


class Records(msgspec.Struct, frozen=True):
    restored: int = 0
    """memories in the target now"""


class Injected(msgspec.Struct, frozen=True):
    injected: int = 0
    skipped: int = 0
    """restored and skipped secrets"""


class Without(msgspec.Struct, frozen=True):
    """A capability without a credential that it needs."""

    name: str = ""
    credentials: tuple[str, ...] = ()
    """if credentials are restored: capabilities that lack one"""


class LeftOut(msgspec.Struct, frozen=True):
    """An item that the state cannot provide."""

    name: str = ""
    reason: str = ""
    """the part of `skipped[]` that the state cannot provide: the restore is partial and exits with 1"""
    code: str = ""
    """`conflict` (others need a folder at this path), `same_name` or `damaged` (its bytes do not match the signature)
    """


class Skipped(msgspec.Struct, frozen=True):
    """A file that was not written."""

    name: str
    reason: str = ""
    reason_code: str = ""
    """files that were not written, with reasons"""
    code: str = ""
    """as `fates[].code`"""
    warning: str | None = None
    """whether a warning names it (`named`, `counted`), or null"""


class Done(msgspec.Struct, frozen=True):
    """`restore` or `undo`."""

    name: str
    sequence: int
    agent: str = ""
    time: str = ""
    """agent, sequence, capture time"""
    summary: str = ""
    """counts and omissions, as one sentence"""
    with_credentials: bool = False
    """whether credentials were restored"""
    to: str = ""
    runtime: str = ""
    """target, runtime"""
    files: Files = Files()
    records: Records = Records()
    credentials: Injected = Injected()
    credential_details: tuple[Credential, ...] = ()
    capabilities_without: tuple[Without, ...] = ()
    withheld: tuple[str, ...] = ()
    """archive paths, memory ids and row names (`PATH#NAME`) that this restore did not write; the newest state keeps
    them until they exist"""
    lacking: tuple[str, ...] = ()
    """files without their credentials: written with a gap, or not written; `restore` then exits with 1"""
    gaps: tuple[str, ...] = ()
    """archive paths of files with a gap"""
    state_dir: str | None = None
    """the state directory from `--state-dir`, otherwise null"""
    receipt: str = ""
    """name of the receipt: `restore/receipts/<name>.json` in the home"""
    objects: int = 0
    """number of items in the archive, the sum of the outcomes"""
    outcomes: dict[str, int] = {}
    """number of items that are unchanged (`accepted`), in another form (`transformed`), not supported (`omitted`),
    waiting (`unresolved`), not allowed (`rejected`), present already (`deduplicated`)"""
    fates: tuple[Fate, ...] = ()
    warnings: tuple[str, ...] = ()
    """remarks"""
    kind: str = "restore"
    """`restore`, `undo`, `import`"""
    signature: str = "signed"
    """`signed` or `unsigned`"""
    in_place: bool = True
    adopted: bool = False
    """whether the target is the agent's own workspace; whether the agent lives there now"""
    safety: int | None = None
    captured: int | None = None
    """the sequences captured before and after, or null"""
    not_captured: dict[str, str] = {}
    """files without their current version in that sequence, with reasons; the exit status is then 1"""
    moved_away: tuple[str, ...] = ()
    """files that another program moved, replaced or removed during the restore; the exit status is then 1"""
    undo: bool = False
    """whether `undo` can reverse it"""
    recovered: bool = False
    """whether an interrupted restore was finished"""
    skipped: tuple[Skipped, ...] = ()
    without_credentials: tuple[str, ...] = ()
    """runtime files that were written without their cut credentials"""
    absent: tuple[Absent, ...] = ()
    """large files without captured content"""
    left_out: tuple[LeftOut, ...] = ()
    capabilities_missing: tuple[Missing, ...] = ()
    steps: tuple[object, ...] = ()
    """commands of the runtime that were run, with results"""
    next: tuple[Step, ...] = ()
    seen: str | None = None
    """`alf import --dry-run` of an unsigned state: the code for `--seen`, otherwise null"""
    copied_from: str | None = None
    """import: the id in the archive if this home uses another one (that id is known already, or is no UUID), otherwise
    null"""
