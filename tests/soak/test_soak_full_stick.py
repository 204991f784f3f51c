"""A real stick that runs full, is read-only, and is gone: a small file system under a folder remote."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_vault.errors import RemoteDenied, RemoteFull, RemoteUnreachable
from support.core.sealed_logs import Machine, content_there

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root"),
]


@pytest.fixture
def stick(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "stick"
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder))
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


@pytest.mark.parametrize("sealed", [True, False])
def test_a_stick_runs_full_is_read_only_and_is_gone(stick: Path, tmp_path: Path, sealed: bool) -> None:
    laptop = Machine(tmp_path / "laptop", stick, sealed=sealed)
    sent: list[int] = []
    with pytest.raises(RemoteFull):
        while len(sent) < 60:
            laptop.put(os.urandom(4000))
            sent.append(laptop.push())
    assert [each.number for each in laptop.log().sequences(AGENT_ID)] == sent
    for number in sent:
        assert content_there(laptop.log(), number) == laptop.content(number)

    _mount("-o", "remount,size=256k", str(stick))
    sent.append(laptop.push())
    assert content_there(laptop.log()) == laptop.content(sent[-1])

    laptop.remote_id = laptop.log().about().id
    laptop.put(b"later")
    _mount("-o", "remount,ro", str(stick))
    with pytest.raises(RemoteDenied):
        laptop.push()
    subprocess.run(["umount", str(stick)], check=True)
    with pytest.raises(RemoteUnreachable):
        laptop.push()
    assert list(stick.iterdir()) == []


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)
