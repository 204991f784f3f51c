"""Fixtures of every test: no test sees the real home of its user, and Hypothesis keeps no clock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.prepared_folders import PreparedFolders

pytest_plugins = ["support.parallel"]

settings.register_profile(
    "lifeboat",
    deadline=None,
    # The autouse fixture below is function-scoped on purpose: examples of one test may share its home.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("lifeboat")

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


@pytest.fixture(scope="session")
def prepared_folders(tmp_path_factory: pytest.TempPathFactory) -> PreparedFolders:
    """Folders that are built once in this process and restored for each test."""
    return PreparedFolders(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def light_wrapping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passphrases are stretched as little as is accepted. Where a command is tested in a terminal, it is as much
    as for users."""
    from lifeboat_keys.stores import wrapping

    monkeypatch.setattr(wrapping, "OPERATIONS", wrapping.MIN_OPERATIONS)
    monkeypatch.setattr(wrapping, "MEMORY", wrapping.MIN_MEMORY)
