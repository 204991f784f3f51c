"""Conversions of sources and targets that are not regular files, and interrupted conversions."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import ExchangeError
from lifeboat_core.exchange.conversion_run import ConversionOrder, convert_source
from lifeboat_core.exchange.conversion_source import ConversionSource
from lifeboat_core.exchange.file_check import check_file
from lifeboat_core.home.context import Context
from support.failing_files import WRITES, FailingFiles
from support.formats import aicf_files
from support.patience import patience


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "lark.aicf"
    path.write_bytes(aicf_files.SPECIFIED)
    return path


def converted(source: Path, target: Path, to: str = "aicf", *, force: bool = False) -> None:
    order = ConversionOrder(ConversionSource.of(str(source)), to, str(target), force=force)
    convert_source(Context.open(), order, lambda preview: None)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.aicf"
    os.mkfifo(pipe)
    with pytest.raises(ExchangeError, match="not a regular file"):
        converted(pipe, tmp_path / "a.alf", to="alf")
    with pytest.raises(ExchangeError, match="not a regular file"):
        check_file(Context.open(), pipe, None, strict=False)
    assert not (tmp_path / "a.alf").exists()


def test_a_folder_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(ExchangeError, match="is a folder") as refused:
        converted(tmp_path, tmp_path / "a.alf", to="alf")
    assert "lifeboat agents add" in (refused.value.fix or "")


def test_a_file_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(ExchangeError) as refused:
        converted(tmp_path / "absent.aicf", tmp_path / "a.alf", to="alf")
    assert refused.value.message == f"{tmp_path / 'absent.aicf'}: No such file or directory"


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_file_is_never_replaced(tmp_path: Path, source: Path, kind: str) -> None:
    target = tmp_path / "target.aicf"
    target.mkdir() if kind == "folder" else os.mkfifo(target)
    before = target.lstat().st_ino
    for force in (False, True):
        with pytest.raises(ExchangeError, match="not a regular file and cannot be replaced"):
            converted(source, target, force=force)
    assert target.lstat().st_ino == before and not stat.S_ISREG(target.lstat().st_mode)


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path, source: Path) -> None:
    kept, link = tmp_path / "kept", tmp_path / "out.aicf"
    kept.write_text("precious")
    link.symlink_to(kept)
    converted(source, link, force=True)
    assert kept.read_text() == "precious" and link.read_bytes() == aicf_files.SPECIFIED


@pytest.mark.parametrize("number", range(1, 30, 2))
def test_a_full_disk_leaves_nothing_of_the_target_or_all_of_it(tmp_path: Path, source: Path, number: int) -> None:
    target = tmp_path / "out.aicf"
    target.write_text("precious")
    files = FailingFiles(errno.ENOSPC)
    context = Context.open(files=files)
    files.nth(WRITES, number, and_after=True)
    order = ConversionOrder(ConversionSource.of(str(source)), "aicf", str(target), force=True)
    with contextlib.suppress(LifeboatError, OSError):
        convert_source(context, order, lambda preview: None)
    assert target.read_bytes() in (b"precious", aicf_files.SPECIFIED)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


_PROGRAM = """
import os, signal, sys
from lifeboat_cli import program
from lifeboat_formats.aicf import FORMAT

def write(*arguments, **options):
    os.kill(os.getpid(), signal.{signal})
    raise AssertionError

type(FORMAT).write = write
sys.exit(program.run_command(sys.argv[1:]))
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_conversion_that_is_cut_off_leaves_no_target(tmp_path: Path, source: Path, name: str) -> None:
    target = tmp_path / "out.aicf"
    words = ["alf", "convert", str(source), "--to", "aicf", "-o", str(target), "--yes"]
    command = [sys.executable, "-c", _PROGRAM.format(signal=name), *words]
    ended = subprocess.run(command, capture_output=True, timeout=patience(), check=False)
    assert ended.returncode == (-signal.SIGKILL if name == "SIGKILL" else 130), ended.stderr
    assert not target.exists()
    assert b"Traceback" not in ended.stderr
    converted(source, target)
    assert target.read_bytes() == aicf_files.SPECIFIED
