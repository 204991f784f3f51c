"""The doctor says whether everything can be watched, and which command would permit it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_cli.doctor import check_watching as watching
from lifeboat_daemon.watch import inotify_limits, silent_mounts
from support.core.protected import Protected
from support.deep_folders import DEEPER_THAN_THE_STACK, nest, removed_afterwards

linux = pytest.mark.skipif(
    inotify_limits.read_inotify_limit(inotify_limits.WATCHES) is None, reason="limits of inotify"
)


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Protected]:
    made = Protected(tmp_path)
    made.write("memory/deep/a.md", "x")
    made.write("node_modules/x/y/z.js", "x")
    made.add()
    yield made


def limit(monkeypatch: pytest.MonkeyPatch, **values: int | None) -> None:
    monkeypatch.setattr(inotify_limits, "read_inotify_limit", lambda name: values.get(name, 128))


def take(monkeypatch: pytest.MonkeyPatch, watches: int, instances: int = 1) -> None:
    monkeypatch.setattr(
        inotify_limits, "count_user_use", lambda besides=(): inotify_limits.InotifyUse(watches, instances)
    )


def found(ada: Protected, subject: str) -> DoctorFinding:
    (one,) = [finding for finding in watching.check(ada.context) if finding.subject == subject]
    return one


@linux
def test_the_folders_of_all_agents_are_counted_without_what_is_never_captured(ada: Protected) -> None:
    said = found(ada, "folders")
    # The workspace, two folders below it, and its parent.
    assert said.level is DoctorLevel.OK and said.result.startswith("4 folders must be watched")


@linux
def test_folders_without_end_are_counted_as_far_as_a_path_reaches(ada: Protected) -> None:
    with removed_afterwards(ada.workspace):
        nest(ada.workspace / "memory" / "more", DEEPER_THAN_THE_STACK)
        assert found(ada, "folders").result.startswith(f"{5 + DEEPER_THAN_THE_STACK} folders must be watched")


def test_too_low_a_limit_comes_with_the_command_that_raises_it(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, max_user_watches=3)
    said = found(ada, "folders")
    assert said.level is DoctorLevel.ERROR and "the operating system allows 3, so" in said.result
    assert said.fix is not None and "fs.inotify.max_user_watches=524288 | sudo tee /etc/sysctl.d/" in said.fix
    assert said.fix.endswith("&& sudo sysctl --system")


def test_a_limit_that_others_have_used_up_is_named(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, max_user_watches=1000)
    take(monkeypatch, 990)
    said = found(ada, "folders")
    assert said.level is DoctorLevel.WARNING and "990" in said.result and "max_user_watches" in (said.fix or "")


def test_too_many_watching_programs_are_named(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, max_user_watches=1000, max_user_instances=128)
    take(monkeypatch, 5, instances=128)
    said = found(ada, "watching programs")
    assert said.level is DoctorLevel.WARNING and "max_user_instances=1024" in (said.fix or "")


def test_a_system_without_limits_has_none(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inotify_limits, "read_inotify_limit", lambda name: None)
    (said,) = watching.check(ada.context)
    assert said.level is DoctorLevel.OK and "no limit" in said.result


def test_a_workspace_on_a_network_is_said_to_be_looked_through(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silent_mounts.MountTable, "silent", lambda self, folder: "nfs4")
    said = found(ada, ada.agent.name)
    assert said.level is DoctorLevel.OK and "nfs4" in said.result and "every minute" in said.result


@pytest.mark.parametrize(
    ("kind", "is_silent"),
    [("ext4", False), ("tmpfs", False), ("fuseblk", False), ("nfs4", True), ("9p", True), ("fuse.sshfs", True)],
)
def test_file_systems_that_tell_nothing_are_known(kind: str, is_silent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silent_mounts, "list_mounts", lambda: [("/", "ext4"), ("/mnt/x", kind)])
    assert (silent_mounts.MountTable().silent("/mnt/x/ada") == kind) is is_silent
    assert silent_mounts.MountTable().silent("/mnt") is None
