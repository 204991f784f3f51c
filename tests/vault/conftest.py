"""Fixtures of the vault's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_vault.vault import Vault
from support.vault.vaults import new_vault


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """Return an empty vault. A file whose tests need another one defines its own."""
    return new_vault(tmp_path)
