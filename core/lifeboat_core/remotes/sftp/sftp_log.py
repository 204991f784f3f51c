"""The logs of all agents on one SFTP server."""

from __future__ import annotations

import dataclasses

from lifeboat_core.home.context import Context
from lifeboat_core.remotes.contract import SEVERAL, StoreFindings
from lifeboat_core.remotes.sealed.sealed_log_setup import RemovableLog
from lifeboat_core.remotes.sftp.sftp_files import SftpFiles
from lifeboat_vault.remote.remote_contract import RemoteDescription


class SftpLog(RemovableLog):
    """A log on a server that can be probed."""

    def __init__(self, context: Context, files: SftpFiles, *, sealed: bool, name: str) -> None:
        super().__init__(context, files, kind="sftp", sealed=sealed, name=name)
        self._server = files

    def about(self) -> RemoteDescription:
        return dataclasses.replace(super().about(), writers=SEVERAL)

    def examine_store(self) -> StoreFindings:
        return self._server.examine()
