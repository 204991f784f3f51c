"""The JSON of `lifeboat purge`: what would go, and what went."""

from __future__ import annotations

import msgspec


class Whose(msgspec.Struct, frozen=True):
    id: str = ""
    name: str = ""
    """whose"""


class Hit(msgspec.Struct, frozen=True):
    """A place in the history. `kind` is record, file or name; `masked` shows the end of the match at most; `versions`
    and the kept sequences from `first` to `last` are those of the whole file or memory."""

    where: str
    line: int | None = None
    masked: str = ""
    kind: str = "file"
    """each place once: an archive path or a record's id, the line, the end of the match, `record`, `file` or `name`"""
    versions: int | None = None
    first: int | None = None
    last: int | None = None
    """how many versions of that file or memory lose something, and the first and the last kept sequence that has one of
    them, or null"""


class Sight(msgspec.Struct, frozen=True):
    """A place outside of the history: in the workspace, an undo folder or the home."""

    place: str
    where: str
    line: int | None = None
    match: str = ""
    """places outside of the history: `workspace`, `undo` or `home`"""


class Live(msgspec.Struct, frozen=True):
    """What can be cut in a live file; `command`: what removes it from a running database."""

    path: str
    places: int = 0
    command: str | None = None
    """what `--workspace` cuts in live files; for a row of a running database the command that removes it"""


class Remote(msgspec.Struct, frozen=True):
    """The state of a purge at a remote."""

    name: str
    state: str | None = None
    message: str = ""
    """each second copy: `done`, `waiting`, `pending`, or null before anything was done; and why"""
    applies_at: str | None = None
    """until when it waits, or null"""
    waits: bool = False
    only_there: tuple[int, ...] = ()
    """of a dry run: whether it waits there without the second token; states that only it has"""


class Unreachable(msgspec.Struct, frozen=True):
    name: str
    why: str = ""
    what: str = ""
    """what could not be looked through or told, and what that leaves"""


class Also(msgspec.Struct, frozen=True):
    """Texts that are destroyed beside the matches."""

    where: str
    texts: int = 0
    """how many texts each file or memory loses beside the matches; their content is shown on a terminal alone"""


class Opaque(msgspec.Struct, frozen=True):
    """A file whose content was not searched."""

    where: str
    form: str = ""
    """files whose content was not searched, and why: `gzip`, `zip`, `base64` and others"""


class Purged(msgspec.Struct, frozen=True):
    """A purge as it would be (`receipt` is null), or as it was."""

    receipt: str | None = None
    """the id of the receipt: `lifeboat receipts show ID`; or null"""
    agent: Whose = Whose()
    dry_run: bool = False
    scope: str = "record_purge"
    """whether nothing was done; `record_purge` or `full_agent`"""
    records: int = 0
    record_ids: tuple[str, ...] = ()
    """how many memories go whole, and their ids (all ids of their chains)"""
    partitions: tuple[str, ...] = ()
    """the partitions that lose something"""
    versions: int = 0
    sequences_rewritten: int = 0
    """how many bodies are destroyed, and in how many kept states one of them stands"""
    files: dict[str, int] = {}
    """places by archive path, over all versions of the file"""
    hits: tuple[Hit, ...] = ()
    also: tuple[Also, ...] = ()
    not_looked_into: tuple[Opaque, ...] = ()
    beside: tuple[Sight, ...] = ()
    live: tuple[Live, ...] = ()
    names: tuple[str, ...] = ()
    """paths whose name holds the match: names stay in the history"""
    dropped: tuple[str, ...] = ()
    """paths whose content goes whole"""
    spared: tuple[str, ...] = ()
    """ids of memories that were derived from purged ones and from others"""
    elsewhere: dict[str, int] = {}
    """places by name of other agents that hold it"""
    sealed: bool = False
    """whether the text is a secret that is sealed already"""
    guessable: bool = False
    """whether some of it could be guessed from a print: captures do not know it again without `--keep-print`"""
    let_in: tuple[str, ...] = ()
    """of `--let-in`: the files that captures take again"""
    unreachable: tuple[Unreachable, ...] = ()
    remotes: tuple[Remote, ...] = ()
    remains: tuple[str, ...] = ()
    """histories in whose files something may be left, while others read them; it is tried again"""
    objects: int = 0
    """how many bodies were destroyed on this machine"""
    workspace: tuple[str, ...] | None = None
    """the live files that were cut, or null where they were left alone"""
    undo_folders: int = 0
    """how many were emptied"""
    searched: dict[str, int] = {}
    """what was looked through afterwards: `bodies`, `files`, `live` places and `hits` elsewhere"""
    histories: tuple[str, ...] = ()
    """of a whole agent: the histories that go"""

    @property
    def is_whole(self) -> bool:
        """Whether the whole agent goes."""
        return self.scope == "full_agent"

    @property
    def is_empty(self) -> bool:
        """Whether nothing that is kept holds it."""
        return not self.is_whole and not self.versions

    @property
    def lies_live(self) -> bool:
        """Whether it stands in files of the workspace."""
        return any(sight.place == "workspace" for sight in self.beside)
