"""`lifeboat purge`: what would go, and what went."""

from __future__ import annotations

import msgspec


class Whose(msgspec.Struct, frozen=True):
    id: str = ""
    name: str = ""


class Hit(msgspec.Struct, frozen=True):
    """A place in the history. `kind` is record, file or name; `masked` shows the end of the match at most; `versions`
    and the kept sequences from `first` to `last` are those of the whole file or memory."""

    where: str
    line: int | None = None
    masked: str = ""
    kind: str = "file"
    versions: int | None = None
    first: int | None = None
    last: int | None = None


class Sight(msgspec.Struct, frozen=True):
    """A place outside of the history: in the workspace, an undo folder or the home."""

    place: str
    where: str
    line: int | None = None
    match: str = ""


class Live(msgspec.Struct, frozen=True):
    """What can be cut in a live file; `command`: what removes it from a running database."""

    path: str
    places: int = 0
    command: str | None = None


class Remote(msgspec.Struct, frozen=True):
    """A second copy: how it stands there, null before anything was done; `waits`: not at once without a second
    token."""

    name: str
    state: str | None = None
    message: str = ""
    applies_at: str | None = None
    waits: bool = False
    only_there: tuple[int, ...] = ()


class Unreachable(msgspec.Struct, frozen=True):
    name: str
    why: str = ""
    what: str = ""


class Purged(msgspec.Struct, frozen=True):
    """A purge as it would be (`receipt` is null), or as it was."""

    agent: Whose = Whose()
    receipt: str | None = None
    dry_run: bool = False
    scope: str = "record_purge"
    records: int = 0
    record_ids: tuple[str, ...] = ()
    versions: int = 0
    sequences_rewritten: int = 0
    files: dict[str, int] = {}
    hits: tuple[Hit, ...] = ()
    beside: tuple[Sight, ...] = ()
    live: tuple[Live, ...] = ()
    names: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    elsewhere: dict[str, int] = {}
    sealed: bool = False
    guessable: bool = False
    let_in: tuple[str, ...] = ()
    unreachable: tuple[Unreachable, ...] = ()
    remotes: tuple[Remote, ...] = ()
    remains: tuple[str, ...] = ()
    objects: int = 0
    workspace: tuple[str, ...] | None = None
    undo_folders: int = 0
    searched: dict[str, int] = {}
    histories: tuple[str, ...] = ()

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
