"""Ada, after a day of her own, for every scenario that does not bring another agent."""

from __future__ import annotations

import pytest

from support.core.harbour import Harbour, harbour, harbour_after_a_day
from support.prepared_folders import PreparedFolders


@pytest.fixture
def protected_ada(prepared_folders: PreparedFolders) -> Harbour:
    """Ada, just protected: sequence 0."""
    return prepared_folders.restore("ada just protected", harbour)


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Harbour:
    return prepared_folders.restore("ada after a day", harbour_after_a_day)


@pytest.fixture
def cli(ada: Harbour, monkeypatch: pytest.MonkeyPatch) -> Harbour:
    """Ada, where the command line finds her."""
    for name in ("HOME", "LIFEBOAT_HOME"):
        monkeypatch.setenv(name, ada.context.environment[name])
    return ada
