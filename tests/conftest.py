"""What every test stands on: no test sees the real home of its user, Hypothesis keeps no clock, and of a module whose
one fixture takes long all tests run in one process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "lifeboat",
    deadline=None,
    # The autouse fixture below is function-scoped on purpose: examples of one test may share its home.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("lifeboat")

TOGETHER = frozenset(
    {
        "tests/daemon/purge/test_purging_chains.py",
        "tests/spec/test_section_10_10.py",
        "tests/spec/test_section_10_14_vaults.py",
        "tests/scenarios/test_canaries.py",
    }
)
"""Modules with a fixture of many seconds, which several processes would each make for themselves."""

_PREFIXES = ("LIFEBOAT_", "OPENCLAW_", "ZEROCLAW_", "XDG_")
_KEPT = frozenset({"LIFEBOAT_REFERENCE", "LIFEBOAT_REAL_CACHE", "LIFEBOAT_TEST_PATIENCE"})


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own for every test: HOME and LIFEBOAT_HOME are fresh folders, nothing else leaks in."""
    for name in list(os.environ):
        if name.startswith(_PREFIXES) and name not in _KEPT:
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("LIFEBOAT_HOME", str(home / "lifeboat"))
    yield home


@pytest.fixture
def light_wrapping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passphrases are stretched as little as is accepted. Where a command is tested in a terminal, it is as much
    as for users."""
    from lifeboat_keys.stores import wrapping

    monkeypatch.setattr(wrapping, "OPERATIONS", wrapping.MIN_OPERATIONS)
    monkeypatch.setattr(wrapping, "MEMORY", wrapping.MIN_MEMORY)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadgroup` by `TOGETHER`: of the mark `xdist_group` the scheduler learns nothing with this pytest."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    assert all((config.rootpath / path).is_file() for path in TOGETHER), "a module of TOGETHER was moved"

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return path if path in TOGETHER else nodeid

    return Scheduling(config, log)
