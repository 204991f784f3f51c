"""Fixtures of the endpoint's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_endpoint.vault import Vault
from support.endpoint.vaults import new_vault


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """Return an empty vault. A file whose tests need another one defines its own."""
    return new_vault(tmp_path)
