"""Rounds 1501 to 2000 of two thousand, in CI some of them. See `tests/scenarios/test_oracle.py`."""

from __future__ import annotations

import pytest

from support.oracle.choosing import play_block
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.timeout(1200)


@pytest.mark.parametrize("block", range(60, 80))
def test_whatever_happened_every_sequence_comes_back_from_everywhere(
    prepared_folders: PreparedFolders, block: int
) -> None:
    play_block(prepared_folders, block)
