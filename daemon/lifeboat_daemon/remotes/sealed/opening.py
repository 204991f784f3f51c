"""A sealed log as a remote of this home."""

from __future__ import annotations

from lifeboat_daemon.context import Context
from lifeboat_daemon.remotes.sealed.bundles import Shelf
from lifeboat_daemon.remotes.sealed.files import Files
from lifeboat_daemon.remotes.sealed.folder_files import FolderFiles
from lifeboat_daemon.remotes.sealed.log import SealedLog
from lifeboat_daemon.remotes.sealed.log_key import LogKeys
from lifeboat_daemon.remotes.sealed.owner import Owner

LOG_KEYS = "log-keys"
"""The folder, beside the remotes, of the keys of logs that this home has seen."""


def open_log(context: Context, files: Files, *, kind: str, sealed: bool) -> SealedLog:
    """The log that lies in `files`; `sealed` says how it is kept. Nothing is asked before it is used."""
    owner, log_keys, shelf = _parts(context, files, sealed)
    return SealedLog(files, owner, log_keys, shelf, context.clock, kind=kind, sealed=sealed)


class FolderLog(SealedLog):
    """A log in a folder: whoever writes there can remove agents, too."""

    def __init__(self, context: Context, files: FolderFiles, *, sealed: bool) -> None:
        owner, log_keys, shelf = _parts(context, files, sealed)
        super().__init__(files, owner, log_keys, shelf, context.clock, kind="folder", sealed=sealed)
        self._folder = files

    def remove_agent(self, agent_id: str) -> None:
        """All that is kept of an agent of this user. Raises UnknownThere, RemoteDamaged (it is not of this user)."""
        head = self._heads.load(agent_id).head
        self._folder.remove_agent(agent_id)
        self._log_keys.forget(head.remote, head.agent)


def _parts(context: Context, files: Files, sealed: bool) -> tuple[Owner, LogKeys, Shelf]:
    owner = Owner(context.keys())
    log_keys = LogKeys(context.home.remotes_folder / LOG_KEYS, context.files, owner.identities)
    shelf = Shelf(files, owner, context.home.restore_folder / "tmp", context.files, sealed=sealed)
    return owner, log_keys, shelf
