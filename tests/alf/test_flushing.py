"""Data is flushed before anything depends on it, and a failed flush is reported."""

from __future__ import annotations

import fcntl
import io
import os
import sys
from pathlib import Path

import pytest

from lifeboat_alf.seams import file_operations
from lifeboat_alf.seams.file_operations import SystemFiles, write_atomic
from support.flushes import Flushes, flushes

__all__ = ["flushes"]

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks up descriptors in /proc")


@linux_only
def test_a_new_file_is_flushed_with_all_that_was_written(tmp_path: Path, flushes: Flushes) -> None:
    SystemFiles().write_new(tmp_path / "note", b"words")
    SystemFiles().write_from(tmp_path / "stream", io.BytesIO(b"many words"))
    assert flushes.seen == [("file", tmp_path / "note", 5), ("file", tmp_path / "stream", 10)]


@linux_only
def test_a_new_file_is_not_flushed_where_the_whole_file_system_will_be(tmp_path: Path, flushes: Flushes) -> None:
    SystemFiles().write_new(tmp_path / "note", b"words", sync=False)
    assert flushes.seen == []


@linux_only
def test_a_file_is_replaced_once_its_bytes_are_on_the_disk_and_then_the_folder_is_flushed(
    tmp_path: Path, flushes: Flushes
) -> None:
    write_atomic(SystemFiles(), tmp_path / "note", b"words")
    assert flushes.kinds() == ["file", "renamed", "folder"]
    (_, _, size), _, (_, folder, names) = flushes.seen
    assert size == 5 and folder == tmp_path and names == ["note"]


def test_on_macos_the_disk_is_asked_to_write_its_own_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda descriptor, command: asked.append((descriptor, command)))
    file_operations.flush_to_disk(7)
    assert asked == [(7, 51)]


def test_the_file_system_of_a_folder_is_flushed(tmp_path: Path) -> None:
    SystemFiles().sync_file_system(tmp_path)
    with pytest.raises(OSError, match="not-there"):
        SystemFiles().sync_file_system(tmp_path / "not-there")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can flush a single file system")
def test_a_flush_that_fails_is_told() -> None:
    flush = file_operations._syncfs()
    assert flush is not None
    with pytest.raises(OSError, match="Bad file descriptor"):
        flush(-1)


def test_elsewhere_all_file_systems_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(file_operations, "_syncfs", lambda: None)
    monkeypatch.setattr(os, "sync", lambda: flushed.append("all"))
    SystemFiles().sync_file_system(tmp_path)
    assert flushed == ["all"]
