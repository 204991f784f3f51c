"""The restore drill."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import invariants
import pytest
from harbour import Harbour, harbour

from lifeboat_alf.seams.files import StrPath, SystemFiles
from lifeboat_daemon import verification
from lifeboat_daemon.demo.tree import differences, files_holding, read_tree
from lifeboat_daemon.demo.workspace import FAKE_KEY


@pytest.fixture
def ada(tmp_path: Path) -> Harbour:
    made = harbour(tmp_path)
    made.day_passes()
    return made


def test_a_whole_copy_is_verified_and_remembered(ada: Harbour) -> None:
    assert verification.seconds_since_verified(ada.context, ada.agent) is None
    found = verification.drill(ada.context, ada.agent, whole=True)
    assert found.mismatches == []
    assert found.files > 10
    assert found.compared_live > 10
    assert found.to_json().keys() >= {"agent", "sequence", "files", "mismatches"}
    seconds = verification.seconds_since_verified(ada.context, ada.agent)
    assert seconds is not None
    assert seconds < 60
    later = replace(ada.context, clock=invariants.Stopped(ada.context.clock.now() + timedelta(hours=2)))
    assert 7100 < (verification.seconds_since_verified(later, ada.agent) or 0) < 7300


def test_nothing_is_left_behind_and_nothing_in_the_workspace_is_written(ada: Harbour) -> None:
    verification.drill(ada.context, ada.agent)
    assert os.listdir(ada.context.home.restore_folder / "tmp") == []
    assert differences(ada.trees[ada.head], read_tree(ada.workspace)) == []
    assert files_holding(ada.context.home.folder, FAKE_KEY.encode()) == []


def test_an_older_sequence_can_be_tried_and_does_not_become_the_last_verified(ada: Harbour) -> None:
    verification.drill(ada.context, ada.agent)
    assert verification.drill(ada.context, ada.agent, 0).sequence == 0
    found = verification.last_verified(ada.context, ada.agent)
    assert found is not None
    assert found[0] == ada.head


def test_a_changed_meta_in_the_vault_is_found(ada: Harbour) -> None:
    database = ada.context.home.vault_folder(ada.agent.id) / "vault.db"
    with sqlite3.connect(database) as connection:
        changed = connection.execute(
            "update entry set meta = json_set(meta, '$.executable', json('true')) where path like '%SOUL.md'"
        )
        assert changed.rowcount == 1
    connection.close()
    found = verification.drill(ada.context, ada.agent)
    assert found.mismatches
    assert verification.last_verified(ada.context, ada.agent) is None


class Flipping(SystemFiles):
    """A disk that loses a bit of a file that is written in a drill."""

    def __init__(self) -> None:
        self.fired = False

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        if os.fspath(path).endswith("workspace/SOUL.md"):
            self.fired = True
            data = bytes([data[0] ^ 1]) + data[1:]
        super().write_new(path, data, mode=mode, sync=sync)


def test_what_does_not_come_back_from_the_disk_is_named(ada: Harbour) -> None:
    files = Flipping()
    found = verification.drill(replace(ada.context, files=files), ada.agent)
    assert files.fired
    assert found.mismatches == ["SOUL.md: has other bytes"]


def test_a_live_file_that_differs_under_the_same_time_is_named(ada: Harbour) -> None:
    soul = ada.workspace / "SOUL.md"
    status = soul.stat()
    data = bytearray(soul.read_bytes())
    data[0] ^= 1
    soul.write_bytes(data)
    os.utime(soul, ns=(status.st_atime_ns, status.st_mtime_ns))
    found = verification.drill(ada.context, ada.agent)
    assert [each for each in found.mismatches if each.startswith("SOUL.md")]


def test_a_lost_workspace_does_not_matter(ada: Harbour) -> None:
    ada.workspace.rename(ada.workspace.with_name("gone"))
    found = verification.drill(ada.context, ada.agent)
    assert found.mismatches == []
    assert found.compared_live == 0
