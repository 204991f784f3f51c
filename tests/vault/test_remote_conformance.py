"""The conformance checks of remotes, run on a tenant of an endpoint in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_vault.remote.conformance_checks import CHECKS, RemoteCheck
from support.endpoint.in_process_remote import InProcessRemote
from support.endpoint.spaces import TestKeys, remote_in


@pytest.fixture
def remotes(tmp_path: Path) -> Iterator[list[InProcessRemote]]:
    opened: list[InProcessRemote] = []
    yield opened
    for remote in opened:
        remote.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_tenant_in_this_process_conforms(check: RemoteCheck, tmp_path: Path, remotes: list[InProcessRemote]) -> None:
    keys = TestKeys()

    def fresh() -> InProcessRemote:
        remotes.append(remote_in(tmp_path / "tenant", keys))
        return remotes[-1]

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert check.run(fresh, scratch) == []
    assert fresh().agents() == []
