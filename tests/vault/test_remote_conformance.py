"""The conformance suite of second copies over a tenant of an endpoint in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_endpoint.service.in_process import InProcess
from lifeboat_vault.remote.conformance import CHECKS, Check
from support.endpoint.spaces import TestKeys, remote_in


@pytest.fixture
def remotes(tmp_path: Path) -> Iterator[list[InProcess]]:
    opened: list[InProcess] = []
    yield opened
    for remote in opened:
        remote.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_tenant_in_this_process_conforms(check: Check, tmp_path: Path, remotes: list[InProcess]) -> None:
    keys = TestKeys()

    def fresh() -> InProcess:
        remotes.append(remote_in(tmp_path / "tenant", keys))
        return remotes[-1]

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert check.run(fresh, scratch) == []
    assert fresh().agents() == []
