"""SFTP for long: ssh is killed before every second request of a push, a disk runs full, many writers do not wait."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_core.remotes.sealed.log_files import HeadMoved
from lifeboat_vault.errors import RemoteDenied, RemoteError, RemoteFull
from support.core.sealed_logs import content_there
from support.core.sftp_machines import KilledSsh, SftpMachine
from support.core.ssh_server import SshServer, ssh_server
from support.patience import patience


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    with ssh_server(tmp_path / "server") as running:
        yield running


def test_an_ssh_that_is_killed_before_every_second_request_loses_nothing(
    server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = SftpMachine(tmp_path / "laptop", server.url(), server.programs)
    killing = KilledSsh(monkeypatch)
    laptop.write(1)
    laptop.remote_id = laptop.files().identity()
    failed = [killing.push(laptop, moment) for moment in range(1, 60, 2)]
    assert failed[:20] == [True] * 20 and failed[-1] is False
    for number in range(1 + len(failed)):
        assert content_there(laptop.log(), number) == laptop.content(number)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
@pytest.mark.parametrize("sealed", [True, False])
def test_a_disk_of_the_server_runs_full_is_read_only_and_has_room_again(
    sealed: bool, server: SshServer, tmp_path: Path
) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", server.root], check=True)
    try:
        laptop = SftpMachine(tmp_path / "laptop", server.url(), server.programs, sealed=sealed)
        sent: list[int] = []
        with pytest.raises(RemoteFull, match="no space is left on the server"):
            while len(sent) < 60:
                laptop.put(os.urandom(4000))
                sent.append(laptop.push())
        assert [each.number for each in laptop.log().sequences(AGENT_ID)] == sent
        for number in sent:
            assert content_there(laptop.log(), number) == laptop.content(number)
        assert [path for path in server.root.rglob("*.tmp")] == []
        subprocess.run(["mount", "-o", "remount,ro", server.root], check=True)
        with pytest.raises(RemoteDenied, match="read-only"):
            laptop.push()
        subprocess.run(["mount", "-o", "remount,rw,size=4m", server.root], check=True)
        assert laptop.push() == sent[-1] + 1
    finally:
        subprocess.run(["umount", "-l", server.root], check=False)


def test_eight_writers_that_are_interrupted_at_any_moment_lose_no_accepted_head(
    server: SshServer, tmp_path: Path
) -> None:
    laptop = SftpMachine(tmp_path / "laptop", server.url(), server.programs)
    laptop.files().add_agent(AGENT_ID)
    accepted: list[bytes] = []

    def write(name: str) -> None:
        files = laptop.files()
        for turn in range(25):
            word = f"{name}{turn} ".encode()
            try:
                known = files.head(AGENT_ID)
                files.set_head(AGENT_ID, (known[0] if known else b"") + word, known[1] if known else None)
                accepted.append(word)
            except HeadMoved:
                continue
            except RemoteError:  # its ssh was stopped below
                continue
            if turn % 7 == 3:
                assert files._client is not None
                os.kill(files._client._pipe.pid, 9)
        files.close()

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcdefgh"]
    for each in writers:
        each.start()
    for each in writers:
        each.join(patience(300.0))
    newest = laptop.files().head(AGENT_ID)
    assert newest is not None and len(accepted) >= 25
    assert [word for word in accepted if word not in newest[0]] == []
