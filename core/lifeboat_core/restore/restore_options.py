"""The options of a restore."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

from lifeboat_adapters.memory_stores import RowChoice


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """`at` is a sequence number or a timestamp, None for the newest state. `to` is the folder to restore into, None for
    the agent's own workspace. `path_globs` limits the restore to matching files, links and folders, by
    workspace-relative name. `runtime` is the runtime to write for, by default that of the state; `state_dir` its state
    directory, None for the one around the target; `rows` selects optional rows of its databases (scheduled jobs,
    sessions). `with_credentials` is None where the user did not decide: see `decide_credentials`. `yes` is the consent
    to write into a folder that is not empty, `accept_unsigned` the consent to an unsigned state. `paths` are absolute
    paths of projects, each with the one that replaces it. `only_file` is the exact name of one file in the
    workspace, where a glob could match more."""

    at: int | str | None = None
    to: Path | None = None
    path_globs: tuple[str, ...] = ()
    with_credentials: bool | None = None
    adopt: bool = False
    finish: bool = False
    accept_unsigned: bool = False
    reindex: bool = True
    yes: bool = False
    dry_run: bool = False
    runtime: str | None = None
    state_dir: Path | None = None
    rows: RowChoice = field(default_factory=RowChoice)
    paths: tuple[tuple[str, str], ...] = ()
    only_file: str | None = None

    def wants_outside(self, name: str) -> bool:
        """Return whether the user asked for a file of this name outside of the workspace."""
        return self.only_file is None and self.wants(name)

    def wants(self, name: str) -> bool:
        """Return whether the user asked for a file of this name."""
        if self.only_file is not None:
            return name == self.only_file
        return not self.path_globs or is_selected_by(name, self.path_globs)


def only_this_file(name: str, at: int) -> RestoreOptions:
    """Return the options that restore one file of the workspace in place, and nothing else."""
    return RestoreOptions(at=at, path_globs=(escape(name),), only_file=name, yes=True)


def decide_credentials(asked: bool | None, *, is_own_workspace: bool, is_signed: bool, is_key_usable: bool) -> bool:
    """Return whether a restore puts credentials back.

    `asked` is the user's decision, None for none. Then credentials are put back into the agent's own workspace only,
    from a signed state, if the key can be used without asking for a passphrase.
    """
    if asked is not None:
        return asked
    return is_own_workspace and is_signed and is_key_usable


def is_selected_by(name: str, globs: Iterable[str]) -> bool:
    """Return whether a file's name matches one of these globs. A glob without a slash also matches the last part of a
    name, and a folder's name includes everything in it."""
    return any(_fits(name, glob) for glob in globs)


def _fits(name: str, glob: str) -> bool:
    glob = glob.rstrip("/")
    if fnmatchcase(name, glob) or fnmatchcase(name, f"{glob}/*"):
        return True
    return "/" not in glob and fnmatchcase(name.rpartition("/")[2], glob)
