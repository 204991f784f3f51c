"""The JSON of `lifeboat purge`: what would go, and what went."""

from __future__ import annotations

import msgspec


class Whose(msgspec.Struct, frozen=True):
    id: str = ""
    name: str = ""
    """whose"""


class Hit(msgspec.Struct, frozen=True):
    """A place in the history.

    `kind` is record, file or name; `masked` shows the end of the match at most; `versions` and the kept sequences from
    `first` to `last` are those of the whole file or memory.
    """

    where: str
    line: int | None = None
    masked: str = ""
    kind: str = "file"
    """each place once: archive path or memory id, line, end of the match, and `record`, `file` or `name`"""
    versions: int | None = None
    first: int | None = None
    last: int | None = None
    """number of versions of that file or memory that lose something, with the first and last of their sequences, or
    null"""


class Sight(msgspec.Struct, frozen=True):
    """A place outside of the history: in the workspace, an undo folder or the home."""

    place: str
    where: str
    line: int | None = None
    match: str = ""
    """places outside the history: `workspace`, `undo` or `home`"""


class Live(msgspec.Struct, frozen=True):
    """What can be cut in a live file; `command`: what removes it from a running database."""

    path: str
    places: int = 0
    command: str | None = None
    """text that `--workspace` cuts from live files; for a row of a running database the command that removes it"""


class Remote(msgspec.Struct, frozen=True):
    """The state of a purge at a remote."""

    name: str
    state: str | None = None
    message: str = ""
    """each remote: `done`, `waiting`, `pending`, or null before the purge; and why"""
    applies_at: str | None = None
    """end of the wait, or null"""
    waits: bool = False
    only_there: tuple[int, ...] = ()
    keeps_versions: bool = False
    """with `--dry-run`: whether it waits without the second token; states that only it has; whether its bucket keeps
    deleted objects as older versions"""


class Unreachable(msgspec.Struct, frozen=True):
    name: str
    why: str = ""
    what: str = ""
    """what could not be searched or reached, and the consequence"""


class Also(msgspec.Struct, frozen=True):
    """Texts that are destroyed beside the matches."""

    where: str
    texts: int = 0
    """number of texts around matches that each file or memory loses; only shown on a terminal"""


class Opaque(msgspec.Struct, frozen=True):
    """A file whose content was not searched."""

    where: str
    form: str = ""
    """files that were not searched: `gzip`, `zip`, `base64` and others"""


class Purged(msgspec.Struct, frozen=True):
    """A purge as it would be (`receipt` is null), or as it was."""

    receipt: str | None = None
    """receipt id (`lifeboat receipts show ID`), or null"""
    agent: Whose = Whose()
    dry_run: bool = False
    scope: str = "record_purge"
    """whether nothing was done; `record_purge` or `full_agent`"""
    records: int = 0
    record_ids: tuple[str, ...] = ()
    """number of memories that are destroyed completely, and all ids of their chains"""
    partitions: tuple[str, ...] = ()
    """affected partitions"""
    versions: int = 0
    sequences_rewritten: int = 0
    """number of stored contents that are destroyed, and number of sequences that contain at least one of them"""
    files: dict[str, int] = {}
    """places by archive path, over all versions of the file"""
    hits: tuple[Hit, ...] = ()
    also: tuple[Also, ...] = ()
    not_looked_into: tuple[Opaque, ...] = ()
    labels: tuple[str, ...] = ()
    """names of sequences and proposals of the agent that contain the text, which are removed"""
    beside: tuple[Sight, ...] = ()
    live: tuple[Live, ...] = ()
    names: tuple[str, ...] = ()
    """paths with the text in their name: names stay in the history"""
    dropped: tuple[str, ...] = ()
    """paths that lose their whole content"""
    spared: tuple[str, ...] = ()
    """ids of memories derived from purged ones and from others"""
    elsewhere: dict[str, int] = {}
    """places in other agents, by name"""
    sealed: bool = False
    """whether the text is already a sealed secret"""
    guessable: bool = False
    """whether some of it could be guessed from a fingerprint: captures recognise it again only with `--keep-print`"""
    let_in: tuple[str, ...] = ()
    """with `--let-in`: the files that are captured again"""
    unreachable: tuple[Unreachable, ...] = ()
    remotes: tuple[Remote, ...] = ()
    remains: tuple[str, ...] = ()
    """histories whose files may still contain remains while others read them; Lifeboat tries again"""
    objects: int = 0
    """number of bodies destroyed on this machine"""
    workspace: tuple[str, ...] | None = None
    """the live files that were cut, or null if they were not changed"""
    undo_folders: int = 0
    """number of emptied ones"""
    searched: dict[str, int] = {}
    """searched afterwards: `bodies`, `files`, `live` places and `hits` elsewhere"""
    histories: tuple[str, ...] = ()
    """for a whole agent: the histories to destroy"""

    @property
    def is_whole(self) -> bool:
        """Whether the whole agent is destroyed."""
        return self.scope == "full_agent"

    @property
    def is_empty(self) -> bool:
        """Whether no copy contains it."""
        return not self.is_whole and not self.versions and not self.labels

    @property
    def lies_live(self) -> bool:
        """Whether files of the workspace contain it."""
        return any(sight.place == "workspace" for sight in self.beside)
