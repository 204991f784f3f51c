"""The doctor on the home and its settings."""

from __future__ import annotations

import pytest

from lifeboat_cli.doctor import DoctorLevel
from lifeboat_cli.doctor import check_home as home
from lifeboat_core.health.status_gathering import gather_status
from lifeboat_core.home.context import Context


@pytest.mark.parametrize("name", ["config.toml", "private.toml"])
def test_a_file_that_cannot_be_read_is_named_once_with_what_to_edit(name: str) -> None:
    context = Context.open()
    broken = context.home.folder / name
    broken.write_text("cadence = [\n")
    broken.chmod(0o600)
    found = [each for each in home.check(Context.open()) if each.level is not DoctorLevel.OK]
    assert [(each.subject, each.fix) for each in found] == [(name, f"edit {broken}")]
    assert name not in found[0].result and "the last valid settings are in use" in found[0].result


def test_status_says_which_settings_are_in_force_instead() -> None:
    (Context.open().home.folder / "config.toml").write_text("cadence = [\n")
    (problem,) = gather_status(Context.open()).problems
    assert problem.startswith("config.toml: ") and problem.endswith("; the last valid settings are in use")
