"""Fixtures of the daemon's tests."""

from __future__ import annotations

import pytest

from support.daemon.protected import Protected, protected_agent
from support.prepared_folders import PreparedFolders


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Protected:
    """Return an agent that was just added, with its first sequence. A file whose tests need more defines its own."""
    return prepared_folders.restore("agent just added", protected_agent)
