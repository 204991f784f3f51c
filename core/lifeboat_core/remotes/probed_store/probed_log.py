"""The logs of all agents in one store."""

from __future__ import annotations

import dataclasses

from lifeboat_core.home.context import Context
from lifeboat_core.remotes.contract import StoreFindings
from lifeboat_core.remotes.probed_store.probed_files import ProbedFiles
from lifeboat_core.remotes.sealed.sealed_log_setup import RemovableLog
from lifeboat_vault.remote.remote_contract import RemoteDescription


class ProbedLog(RemovableLog):
    """A log in a store that can be probed."""

    def __init__(self, context: Context, files: ProbedFiles, *, kind: str, sealed: bool, name: str) -> None:
        super().__init__(context, files, kind=kind, sealed=sealed, name=name)
        self._probed = files

    def about(self) -> RemoteDescription:
        return dataclasses.replace(super().about(), writers=self._probed.writers)

    def examine_store(self) -> StoreFindings:
        return self._probed.examine()
