"""Machines that keep agents on a server of `webdav_servers`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.probed_store import store_probe, writer_lease
from lifeboat_core.remotes.probed_store.probed_files import ProbedFiles
from lifeboat_core.remotes.probed_store.probed_log import ProbedLog
from lifeboat_core.remotes.webdav import webdav_client
from lifeboat_core.remotes.webdav.webdav_client import WebdavClient
from lifeboat_core.remotes.webdav.webdav_credentials import read_credentials
from lifeboat_core.remotes.webdav.webdav_kind import REMOTE_KIND
from lifeboat_keys.pairs.user_key import UserKey
from support.core import sealed_logs
from support.core.buckets import no_sleep
from support.core.webdav_servers import CREDENTIALS

TOKEN = read_credentials(CREDENTIALS)


def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the waits of the probe and of leases short, and those between retries."""
    monkeypatch.setattr(store_probe, "_PAUSE", 0.01)
    monkeypatch.setattr(webdav_client, "_PAUSE", 0.1)
    for name in ("SETTLING", "SETTLING_NEW"):
        monkeypatch.setattr(writer_lease, name, 0.01)


class WebdavMachine(sealed_logs.Machine):
    """One home whose remote is the folder at `url`. `sleep` replaces the waits of a lease."""

    def __init__(
        self, folder: Path, url: str, *, key: UserKey | None = None, sleep: Callable[[float], None] = no_sleep
    ) -> None:
        super().__init__(folder, folder / "no folder", key=key)
        self.url = url
        self.sleep = sleep

    @property
    def config(self) -> RemoteConfig:
        return RemoteConfig("cloud", self.url, id=self.remote_id, sealed=self.sealed)

    def files(self) -> ProbedFiles:
        return webdav_files(self.context, self.config, self.sleep)

    def log(self) -> ProbedLog:  # type: ignore[override]
        return ProbedLog(self.context, self.files(), kind="webdav", sealed=self.sealed, name="cloud")


def webdav_files(
    context: Context, config: RemoteConfig, sleep: Callable[[float], None] = no_sleep, pauses: list[float] | None = None
) -> ProbedFiles:
    """Open the files of a remote as its kind does, with other waits. `pauses` gets those between two tries."""
    log = REMOTE_KIND.open(context, config, TOKEN)
    assert isinstance(log, ProbedLog)
    files = log._probed
    files._home = files._home._replace(sleep=sleep)
    client = files._client
    assert isinstance(client, WebdavClient)
    real = client._wait

    def wait(seconds: float) -> None:
        """Wait for what the probe looks for, but not between two tries."""
        if pauses is not None:
            pauses.append(seconds)
        if seconds == webdav_client._PAUSE:
            real(seconds)

    client._wait = wait
    return files
