"""Machines that keep agents in a bucket of the store of `object_store`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lifeboat_core.home.context import Context
from lifeboat_core.remotes.bucket import bucket_credentials
from lifeboat_core.remotes.bucket.bucket_kind import REMOTE_KIND
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.probed_store.probed_files import ProbedFiles
from lifeboat_core.remotes.probed_store.probed_log import ProbedLog
from lifeboat_keys.pairs.user_key import UserKey
from support.core import sealed_logs

KEYS = "AKIAEXAMPLE\nnot-a-real-secret\n"
TOKEN = bucket_credentials.read_credentials("s3", KEYS)
CANARY = "not-a-real-secret"


def no_sleep(seconds: float) -> None:
    """Do not wait."""


class BucketMachine(sealed_logs.Machine):
    """One home whose remote is the bucket at `url`. `sleep` replaces the waits of a lease."""

    def __init__(
        self,
        folder: Path,
        url: str,
        *,
        key: UserKey | None = None,
        token: str | None = TOKEN,
        sleep: Callable[[float], None] = no_sleep,
    ) -> None:
        super().__init__(folder, folder / "no folder", key=key)
        self.url = url
        self.token = token
        self.sleep = sleep

    @property
    def config(self) -> RemoteConfig:
        return RemoteConfig("bucket", self.url, id=self.remote_id, sealed=self.sealed)

    def files(self) -> ProbedFiles:
        return bucket_files(self.context, self.config, self.token, self.sleep)

    def log(self) -> ProbedLog:  # type: ignore[override]
        return ProbedLog(self.context, self.files(), sealed=self.sealed, kind="bucket", name="bucket")


def bucket_files(
    context: Context, config: RemoteConfig, token: str | None, sleep: Callable[[float], None] = no_sleep
) -> ProbedFiles:
    """Open the files of a bucket as its kind does, with other waits."""
    log = REMOTE_KIND.open(context, config, token)
    assert isinstance(log, ProbedLog)
    files = log._probed
    files._home = files._home._replace(sleep=sleep)
    return files
