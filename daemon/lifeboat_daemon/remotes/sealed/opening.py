"""A sealed log as a remote of this home."""

from __future__ import annotations

from lifeboat_daemon.context import Context
from lifeboat_daemon.remotes.sealed.bundles import Shelf
from lifeboat_daemon.remotes.sealed.files import Files
from lifeboat_daemon.remotes.sealed.log import SealedLog
from lifeboat_daemon.remotes.sealed.log_key import LogKeys
from lifeboat_daemon.remotes.sealed.owner import Owner

LOG_KEYS = "log-keys"
"""The folder, beside the remotes, of the keys of logs that this home has seen."""


def open_log(context: Context, files: Files, *, kind: str, sealed: bool) -> SealedLog:
    """The log that lies in `files`; `sealed` says how it is kept. Nothing is asked before it is used."""
    owner = Owner(context.keys())
    log_keys = LogKeys(context.home.remotes_folder / LOG_KEYS, context.files, owner.identities)
    shelf = Shelf(files, owner, context.home.restore_folder / "tmp", context.files, sealed=sealed)
    return SealedLog(files, owner, log_keys, shelf, context.clock, kind=kind, sealed=sealed)
