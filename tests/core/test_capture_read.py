"""Reading a file: its bytes belong to one moment, and limits are exact."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_adapters.stable_reads import file_reading
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from support.aged_files import age_files


class WrittenWithinATick(SystemFiles):
    """Lets another program write before each open and restore both times, so that no stat shows it."""

    def __init__(self, path: Path, versions: list[bytes]) -> None:
        self._path, self._versions = path, versions

    def open_regular(self, path: StrPath) -> int:
        before = os.stat(self._path)
        self._path.write_bytes(self._versions.pop(0))
        os.utime(self._path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return super().open_regular(path)


@pytest.fixture
def clock_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every write fall into the same tick of the file system."""
    key_of = file_reading.stat_key_of
    monkeypatch.setattr(file_reading, "stat_key_of", lambda found: key_of(found)._replace(ctime_ns=0))
    monkeypatch.setattr(file_reading, "_is_fresh", lambda key: True)
    monkeypatch.setattr(file_reading, "PAUSE_SECONDS", 0)


def test_a_file_as_large_as_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "note"
    path.write_bytes(b"12345")
    age_files(tmp_path)
    assert file_reading.read_file(SystemFiles(), path, 5).data == b"12345"
    with pytest.raises(file_reading.OverLimit):
        file_reading.read_file(SystemFiles(), path, 4)


def test_bytes_that_change_within_a_tick_are_read_once_they_rest(tmp_path: Path, clock_of_files: None) -> None:
    path = tmp_path / "note"
    path.write_bytes(b"one")
    files = WrittenWithinATick(path, [b"one", b"two", b"six", b"six"])
    assert file_reading.read_file(files, path, 10).data == b"six"


def test_bytes_that_change_within_every_tick_are_unstable(tmp_path: Path, clock_of_files: None) -> None:
    path = tmp_path / "note"
    path.write_bytes(b"one")
    files = WrittenWithinATick(path, [b"%03d" % number for number in range(2 * file_reading.TRIES)])
    with pytest.raises(file_reading.Unstable):
        file_reading.read_file(files, path, 10)


def test_a_file_that_is_written_at_the_end_of_the_second_look_is_read_again(
    tmp_path: Path, clock_of_files: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "note"
    path.write_bytes(b"the first half")
    age_files(tmp_path)
    key_of, stats = file_reading.stat_key_of, iter(range(1, 100))

    def written_before_the_fourth(found: os.stat_result) -> file_reading.StatKey:
        if next(stats) == 4:  # two for the first look, and one before the second one
            path.write_bytes(b"the first half and the second half")
            return key_of(path.stat())
        return key_of(found)

    monkeypatch.setattr(file_reading, "stat_key_of", written_before_the_fourth)
    assert file_reading.read_file(SystemFiles(), path, 100).data == b"the first half and the second half"
