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
    """What becomes of one path. `basis` says from what it is written, `reason` why it is not."""

    name: str
    action: str
    kind: str = "file"
    basis: str = ""
    size: int | None = None
    """each path, what would happen to it, and from what it would be written"""
    reason: str = ""
    reason_code: str | None = None
    """why a path is not written"""


class Database(msgspec.Struct, frozen=True):
    path: str
    changes: int = 0
    rows: dict[str, int] = {}
    """each database with how many rows to `add`, `update`, `keep`, `remove`"""


class Absent(msgspec.Struct, frozen=True):
    """A large file whose bytes are not kept."""

    filename: str
    size: int = 0


class Missing(msgspec.Struct, frozen=True):
    """What this machine lacks for something that the agent can do."""

    name: str = ""
    host_requirements: object = ""
    reason: str = ""
    """what this machine lacks"""
    code: str = ""
    """`absent`, or `unchecked` where the requirements name no program"""


class Credential(msgspec.Struct, frozen=True):
    """What becomes of a credential. `reissue` is what somebody has to do about it."""

    id: str = ""
    label: str = ""
    service: str | None = None
    type: str | None = None
    """if credentials are put back: each credential of the state"""
    outcome: str = ""
    where: str | None = None
    reason: str | None = None
    """`injected` and in what, or `skipped` and why"""
    reason_code: str | None = None
    """the code of `reason`, or null: `kept`, `expired`, `no_program`, `locked`, `without_credentials`, `bound_channel`,
    `bound_gateway`, `no_agent_key` and others; a runtime's adapter may have codes of its own"""
    reissue: str | None = None
    """what somebody has to do about it, or null"""
    reissue_code: str | None = None
    """the code of `reissue`, or null: `rotates`, `sign_in`, `link_again`, `made_anew` or `issue_again`"""


class Unholdable(msgspec.Struct, frozen=True):
    name: str = ""
    reason: str = ""


class Fate(msgspec.Struct, frozen=True):
    """What became of things that are alike."""

    kind: str = ""
    outcome: str = ""
    reason: str = ""
    names: tuple[str, ...] = ()
    """which those are, alike ones together: `memory`, `vector`, `row`, `identity`, `principal`, `credential`, `file`,
    `artifact`, `document`, `setting` or `capability`, by id or path"""
    code: str = ""
    """the reason for programs, or "" """


class Plan(msgspec.Struct, frozen=True):
    """`restore --dry-run`."""

    sequence: int
    time: str
    """what would be restored, and when it was captured"""
    to: str
    agent: str = ""
    runtime: str = ""
    """where, which agent, for which runtime"""
    signature: str = "signed"
    """`signed` or `unsigned`"""
    files: Files = Files()
    items: tuple[Item, ...] = ()
    absent: tuple[Absent, ...] = ()
    """large files whose bytes are not here"""
    executable: tuple[str, ...] = ()
    """of a state that nobody signed: what in it could run"""
    capabilities_missing: tuple[Missing, ...] = ()
    credentials: tuple[Credential, ...] = ()
    """what would become of each credential, as `credential_details[]` of a restore"""
    unholdable: tuple[Unholdable, ...] = ()
    """names that the file system there cannot hold"""
    databases: tuple[Database, ...] = ()
    warnings: tuple[str, ...] = ()
    """what to know"""
    running: str | None = None
    """the runtime that is at work on what would be written, or null: nothing is written as long as it runs"""
    objects: int = 0
    """how many things the archive holds; the outcomes add up to it"""
    outcomes: dict[str, int] = {}
    """how many of them stand as they are (`accepted`), stand in another form (`transformed`), have no place there
    (`omitted`), wait for something (`unresolved`), must not stand there (`rejected`), stood there already
    (`deduplicated`)"""
    fates: tuple[Fate, ...] = ()
    """as of a restore"""
    with_credentials: bool = False
    """whether credentials would be put back"""
    seen: str | None = None
    """of a state that nobody signed: its code for `--seen`, else null"""

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
    """the runtime's steps that remain"""
    waits: str | None = None
    """why it cannot be run now, where it cannot"""


class Records(msgspec.Struct, frozen=True):
    restored: int = 0
    """memories that stand there now"""


class Injected(msgspec.Struct, frozen=True):
    injected: int = 0
    skipped: int = 0
    """secrets put back, and not"""


class Without(msgspec.Struct, frozen=True):
    """A capability that stays without credentials it needs."""

    name: str = ""
    credentials: tuple[str, ...] = ()
    """if credentials are put back: capabilities that lack one"""


class LeftOut(msgspec.Struct, frozen=True):
    """Something that the state cannot give."""

    name: str = ""
    reason: str = ""
    """those of `skipped[]` that the state cannot give: the restore is a partial one, and the exit status 1"""
    code: str = ""
    """`conflict` (others need a folder in its place), `same_name` (another entry has its name) or `damaged` (its bytes
    are not those that were signed)"""


class Skipped(msgspec.Struct, frozen=True):
    """A file that was not written."""

    name: str
    reason: str = ""
    reason_code: str = ""
    """files that were not written, and why"""
    code: str = ""
    """what `fates[].code` says of such a file"""
    warning: str | None = None
    """whether a warning tells of it: `named`, `counted` (as one of many), or null"""


class Done(msgspec.Struct, frozen=True):
    """`restore` or `undo`."""

    name: str
    sequence: int
    agent: str = ""
    time: str = ""
    """the agent, what was restored, and when it was captured"""
    summary: str = ""
    """the counts and what was left out, as one sentence for people"""
    with_credentials: bool = False
    """whether credentials were put back"""
    to: str = ""
    runtime: str = ""
    """where, for which runtime"""
    files: Files = Files()
    records: Records = Records()
    credentials: Injected = Injected()
    credential_details: tuple[Credential, ...] = ()
    capabilities_without: tuple[Without, ...] = ()
    withheld: tuple[str, ...] = ()
    """archive paths of files, ids of memories and names of rows (`PATH#NAME`) that this restore did not write; the
    newest state keeps them until they are there"""
    lacking: tuple[str, ...] = ()
    """files that were left without their credentials: written with a gap, or not written; where there is one, `restore`
    ends with 1"""
    gaps: tuple[str, ...] = ()
    """archive paths of those that stand with a gap"""
    state_dir: str | None = None
    """the runtime's own folder where `--state-dir` named one, else null"""
    receipt: str = ""
    """the receipt's name; it is kept as `restore/receipts/<name>.json` in the home"""
    objects: int = 0
    """how many things the archive holds; the outcomes add up to it"""
    outcomes: dict[str, int] = {}
    """how many of them stand as they are (`accepted`), stand in another form (`transformed`), have no place there
    (`omitted`), wait for something (`unresolved`), must not stand there (`rejected`), stood there already
    (`deduplicated`)"""
    fates: tuple[Fate, ...] = ()
    warnings: tuple[str, ...] = ()
    """what to know"""
    kind: str = "restore"
    """`restore`, `undo`, `import`"""
    signature: str = "signed"
    """`signed` or `unsigned`"""
    in_place: bool = True
    adopted: bool = False
    """whether it went into the agent's own workspace; whether the agent lives there now"""
    safety: int | None = None
    captured: int | None = None
    """the sequence captured before, and the one captured after, or null"""
    not_captured: dict[str, str] = {}
    """what that one does not have as it is now, with the reason; then the exit status is 1"""
    moved_away: tuple[str, ...] = ()
    """paths of files that another program moved, replaced or removed while the restore was running; then the exit
    status is 1"""
    undo: bool = False
    """whether `undo` can take it back"""
    recovered: bool = False
    """whether an interrupted restore was finished"""
    skipped: tuple[Skipped, ...] = ()
    without_credentials: tuple[str, ...] = ()
    """files of the runtime that were written although credentials were cut out of them"""
    absent: tuple[Absent, ...] = ()
    """large files whose bytes are not here"""
    left_out: tuple[LeftOut, ...] = ()
    capabilities_missing: tuple[Missing, ...] = ()
    steps: tuple[object, ...] = ()
    """the runtime's steps that were run, with their result"""
    next: tuple[Step, ...] = ()
    seen: str | None = None
    """of `alf import --dry-run` and a state that nobody signed: its code for `--seen`, else null"""
    copied_from: str | None = None
    """of an import: the id in the archive when it is another one (this home knew that agent already, or the id is no
    UUID), else null"""
