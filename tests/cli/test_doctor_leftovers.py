"""The doctor names files with secrets in clear, and changes none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_cli.doctor import check_plaintext_leftovers as plaintext_leftovers
from support.core.protected import Protected

SECRET = json.dumps({"gateway": {"auth": {"token": "fake-token-of-the-gateway-0000"}}})


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path, config="{}")
    made.add()
    return made


def findings(ada: Protected) -> list[DoctorFinding]:
    return list(plaintext_leftovers.check(ada.context))


def test_nothing_left_behind_is_said_too(ada: Protected) -> None:
    assert [one.level for one in findings(ada)] == [DoctorLevel.OK]


def test_what_a_migration_left_is_named_with_its_mode_and_a_command(ada: Protected) -> None:
    file = ada.write_config(SECRET, "agents/main/agent/auth-profiles.json.migrated-1")
    file.chmod(0o644)
    (found,) = findings(ada)
    assert (found.level, found.fix) == (DoctorLevel.WARNING, f"rm {file}")
    assert f"{file} (mode 0644)" in found.result
    assert "models auth list" in found.result and "fake-token" not in str(found)
    assert file.exists()


def test_what_is_made_again_only_has_to_be_for_its_owner_alone(ada: Protected) -> None:
    file = ada.write_config(SECRET, "openclaw.json.bak")
    assert [one.level for one in findings(ada)] == [DoctorLevel.OK]
    file.chmod(0o640)
    (found,) = findings(ada)
    assert (found.level, found.fix) == (DoctorLevel.WARNING, f"chmod 600 {file}")
