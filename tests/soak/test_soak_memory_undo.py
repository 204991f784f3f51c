"""A thousand edits of an agent's notes, each undone byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.core.agent_edits import undo_each_edit


@pytest.mark.parametrize("seed", range(100, 104))
def test_each_of_a_thousand_edits_can_be_undone_byte_for_byte(tmp_path: Path, seed: int) -> None:
    assert undo_each_edit(tmp_path, seed, 250) >= 150
