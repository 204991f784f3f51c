"""What a user may ask of a restore."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from lifeboat_adapters.memory_stores import RowChoice


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """`at` is a sequence number or a timestamp, None for the newest state. `to` is the folder to restore into, None
    for the agent's own workspace. `path_globs` limits the restore to matching files, links and folders, by
    workspace-relative name. `runtime` is the runtime to write for, the state's own by default; `state_dir` its own
    folder, None for the one around the target; `rows` says which optional rows of its databases come along, scheduled
    jobs and sessions. `yes` is the consent to write into a folder that is not empty;
    `accept_unsigned` the consent to a state that nobody signed.
    """

    at: int | str | None = None
    to: Path | None = None
    path_globs: tuple[str, ...] = ()
    with_credentials: bool = False
    adopt: bool = False
    finish: bool = False
    accept_unsigned: bool = False
    reindex: bool = True
    yes: bool = False
    dry_run: bool = False
    runtime: str | None = None
    state_dir: Path | None = None
    rows: RowChoice = field(default_factory=RowChoice)

    def wants(self, name: str) -> bool:
        """Whether a file of this name is asked for."""
        return not self.path_globs or is_selected_by(name, self.path_globs)


def is_selected_by(name: str, globs: Iterable[str]) -> bool:
    """Whether a file's name fits one of some globs. One without a slash also fits the last part of a name, and a
    folder's name stands for everything in it."""
    return any(_fits(name, glob) for glob in globs)


def _fits(name: str, glob: str) -> bool:
    glob = glob.rstrip("/")
    if fnmatchcase(name, glob) or fnmatchcase(name, f"{glob}/*"):
        return True
    return "/" not in glob and fnmatchcase(name.rpartition("/")[2], glob)
