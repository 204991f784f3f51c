"""One flush for a whole file system, which says when it failed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from lifeboat_alf.seams import files
from lifeboat_alf.seams.files import SystemFiles


def test_the_file_system_of_a_folder_is_flushed(tmp_path: Path) -> None:
    SystemFiles().sync_file_system(tmp_path)
    with pytest.raises(OSError, match="not-there"):
        SystemFiles().sync_file_system(tmp_path / "not-there")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can flush a single file system")
def test_a_flush_that_fails_is_told() -> None:
    flush = files._syncfs()
    assert flush is not None
    with pytest.raises(OSError, match="Bad file descriptor"):
        flush(-1)


def test_elsewhere_all_file_systems_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(files, "_syncfs", lambda: None)
    monkeypatch.setattr(os, "sync", lambda: flushed.append("all"))
    SystemFiles().sync_file_system(tmp_path)
    assert flushed == ["all"]
