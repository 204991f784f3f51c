"""The conformance suite of remotes on a real OpenSSH server: encrypted, and in clear."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_vault.remote.conformance_checks import CHECKS, RemoteCheck
from support.core.sftp_machines import SftpMachine
from support.core.ssh_server import SshServer, ssh_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ssh_server(tmp_path_factory.mktemp("conformance") / "server") as running:
        yield running


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name.replace(" ", "_"))
@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "plain"])
def test_a_server_does_what_every_remote_must(
    check: RemoteCheck, sealed: bool, server: SshServer, tmp_path: Path
) -> None:
    machine = SftpMachine(
        server.folder / f"laptop-{sealed}", server.url(f"boat-{sealed}"), server.programs, sealed=sealed
    )
    assert check.run(machine.log, tmp_path, machine.key) == []
    assert machine.log().agents() == []
    assert list((server.root / f"boat-{sealed}/agents").iterdir()) == []
