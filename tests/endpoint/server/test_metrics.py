"""The files of figures that several processes add up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_endpoint.server import metrics


def test_a_page_of_figures_that_is_written_later_has_its_place_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are mapped into memory: on a full disk a page without a place would end the process."""
    monkeypatch.setenv(metrics.SHARED, str(tmp_path))
    metrics._make_room()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [f"counter_{os.getpid()}.db", f"histogram_{os.getpid()}.db"]
    assert all(file.stat().st_blocks * 512 >= file.stat().st_size >= 1 << 20 for file in files)


def test_without_room_a_process_keeps_its_figures_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(metrics.SHARED, str(tmp_path / "gone"))
    metrics._make_room()
    assert metrics.SHARED not in os.environ
