"""The logs of all agents in one bucket."""

from __future__ import annotations

import dataclasses

from lifeboat_core.home.context import Context
from lifeboat_core.remotes.bucket.bucket_files import BucketFiles
from lifeboat_core.remotes.contract import StoreFindings
from lifeboat_core.remotes.sealed.sealed_log_setup import RemovableLog
from lifeboat_vault.remote.remote_contract import RemoteDescription


class BucketLog(RemovableLog):
    """A log in a bucket, whose store can be probed."""

    def __init__(self, context: Context, files: BucketFiles, *, sealed: bool, name: str) -> None:
        super().__init__(context, files, kind="bucket", sealed=sealed, name=name)
        self._bucket = files

    def about(self) -> RemoteDescription:
        return dataclasses.replace(super().about(), writers=self._bucket.writers)

    def examine_store(self) -> StoreFindings:
        return self._bucket.examine()
