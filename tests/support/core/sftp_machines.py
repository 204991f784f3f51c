"""Machines that keep agents on an SFTP server."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path

import pytest

from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.sftp import ssh_pipe
from lifeboat_core.remotes.sftp.sftp_files import SftpFiles
from lifeboat_core.remotes.sftp.sftp_kind import REMOTE_KIND
from lifeboat_core.remotes.sftp.sftp_log import SftpLog
from lifeboat_core.remotes.sftp.ssh_pipe import SshPipe
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.errors import RemoteUnreachable
from support.core import sealed_logs
from support.core.sealed_logs import content_there


class SftpMachine(sealed_logs.Machine):
    """One home whose remote is the folder at `url`; `programs` is its PATH."""

    def __init__(
        self, folder: Path, url: str, programs: str, *, key: UserKey | None = None, sealed: bool = True
    ) -> None:
        super().__init__(folder, folder / "no folder", key=key, sealed=sealed)
        self.url = url
        self.context = dataclasses.replace(self.context, environment={**self.context.environment, "PATH": programs})

    def files(self) -> SftpFiles:
        return self.log()._server

    def log(self) -> SftpLog:  # type: ignore[override]
        config = RemoteConfig("server", self.url, id=self.remote_id, sealed=self.sealed)
        log = REMOTE_KIND.open(self.context, config, None)
        assert isinstance(log, SftpLog)
        return log


class KilledSsh:
    """Kills the ssh of a push right before one of its requests."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.left = 0
        killing = self

        class DyingPipe(SshPipe):
            def send(self, data: bytes) -> int:
                killing.left -= 1
                if killing.left == 0:
                    os.kill(self.pid, signal.SIGKILL)
                return super().send(data)

        patched.setattr(ssh_pipe, "SshPipe", DyingPipe)

    def push(self, machine: SftpMachine, moment: int) -> bool:
        """Push a new state, whose ssh is killed before the given request. Check that the remote has the state before or
        the new one, and that the next push succeeds. Return whether the first one failed."""
        made = machine.put(f"before the kill at request {moment}".encode())
        self.left, failed = moment, False
        try:
            machine.push()
        except RemoteUnreachable:
            failed = True
        self.left = 0
        newest = machine.log().agent(AGENT_ID).head
        assert newest is not None and newest.number in (made.number - 1, made.number), (moment, newest)
        assert content_there(machine.log(), newest.number) == machine.content(newest.number)
        assert machine.push() == made.number
        assert content_there(machine.log(), made.number) == machine.content(made.number)
        return failed
