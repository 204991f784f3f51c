"""The conformance suite of second copies over folders: encrypted, and in clear."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_vault.remote.conformance_checks import CHECKS, RemoteCheck
from support.core.sealed_logs import Machine


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conformance")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name.replace(" ", "_"))
@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "plain"])
def test_a_folder_does_what_every_second_copy_must(
    check: RemoteCheck, sealed: bool, user: Path, tmp_path: Path
) -> None:
    machine = Machine(user / f"laptop-{sealed}", tmp_path / "stick", sealed=sealed)
    assert check.run(machine.log, tmp_path, machine.key) == []
    assert machine.log().agents() == []
