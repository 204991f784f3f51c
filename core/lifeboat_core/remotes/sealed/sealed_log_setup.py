"""Open a sealed log as a remote of this home."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import vault_bundles
from lifeboat_core.remotes.contract import BundleSource
from lifeboat_core.remotes.sealed.bundle_store import BundleStore
from lifeboat_core.remotes.sealed.log_files import SealedFiles
from lifeboat_core.remotes.sealed.log_key import LogKeys
from lifeboat_core.remotes.sealed.log_owner import LogOwner
from lifeboat_core.remotes.sealed.sealed_log import SealedLog
from lifeboat_vault.errors import AgentErased

LOG_KEYS = "log-keys"
"""The folder, beside the remotes, with the keys of logs that this home has seen."""


def open_log(context: Context, files: SealedFiles, *, kind: str, sealed: bool, name: str = "") -> SealedLog:
    """Return the log in `files`; `sealed` says how it is kept, `name` is the user's name for it. Nothing is asked
    before it is used."""
    owner, log_keys, shelf = _parts(context, files, sealed)
    here = partial(_here, context)
    return SealedLog(files, owner, log_keys, shelf, here, context.clock, kind=kind, sealed=sealed, name=name)


class RemovableFiles(SealedFiles, Protocol):
    """Files of which a machine can remove all that an agent has."""

    def remove_agent(self, agent_id: str) -> None: ...


class RemovableLog(SealedLog):
    """A log in a folder or a bucket: a machine that writes there can remove agents, too."""

    def __init__(self, context: Context, files: RemovableFiles, *, kind: str, sealed: bool, name: str = "") -> None:
        owner, log_keys, shelf = _parts(context, files, sealed)
        here = partial(_here, context)
        super().__init__(files, owner, log_keys, shelf, here, context.clock, kind=kind, sealed=sealed, name=name)
        self._agent_files = files

    def remove_agent(self, agent_id: str) -> None:
        """Remove everything of an agent of this user, also the last head of one that was purged whole: agents that were
        made up for a test leave nothing. Raises UnknownAtRemote, RemoteDamaged (it is not of this user)."""
        try:
            head = self._heads.load(agent_id).head
        except AgentErased:
            self._agent_files.remove_agent(agent_id)
            return
        self._agent_files.remove_agent(agent_id)
        self._log_keys.forget(head.remote, head.agent)


@contextmanager
def _here(context: Context, agent_id: str, keys: JsonObject | None) -> Iterator[BundleSource | None]:
    """Open what this home has of an agent; None where it has nothing."""
    if not context.home.vault_folder(agent_id).exists():
        yield None
        return
    with context.vault(agent_id) as vault:
        yield vault_bundles.VaultBundleSource(vault, keys)


def _parts(context: Context, files: SealedFiles, sealed: bool) -> tuple[LogOwner, LogKeys, BundleStore]:
    owner = LogOwner(context.keys())
    log_keys = LogKeys(context.home.remotes_folder / LOG_KEYS, context.files, owner.identities)
    shelf = BundleStore(files, owner, context.home.restore_folder / "tmp", context.files, sealed=sealed)
    return owner, log_keys, shelf
