"""Ada, after a day of her own, for every scenario that does not bring another agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.daemon.harbour import Harbour, harbour


@pytest.fixture
def ada(tmp_path: Path) -> Harbour:
    made = harbour(tmp_path)
    made.day_passes()
    return made


@pytest.fixture
def cli(ada: Harbour, monkeypatch: pytest.MonkeyPatch) -> Harbour:
    """Ada, where the command line finds her."""
    for name in ("HOME", "LIFEBOAT_HOME"):
        monkeypatch.setenv(name, ada.context.environment[name])
    return ada
