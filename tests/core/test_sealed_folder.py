"""Folders as remotes: kills, races, full disks, and sticks that are somewhere else."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_core.errors import BadSetting
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.sealed import folder_files, folder_lock
from lifeboat_core.remotes.sealed.folder_files import FolderFiles
from lifeboat_core.remotes.sealed.folder_kind import REMOTE_KIND
from lifeboat_core.remotes.sealed.folder_lock import FolderLock
from lifeboat_vault.errors import (
    RemoteBusy,
    RemoteDamaged,
    RemoteDenied,
    RemoteFull,
    RemoteRefused,
    RemoteTooLarge,
    RemoteUnreachable,
    StaleBase,
)
from support.core.protected import SteadyClock
from support.core.sealed_logs import NAME, RUNTIME, Machine, content_there
from support.failing_files import WRITES, FailingFiles
from support.killing import killed_at


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "laptop", tmp_path / "stick")


# Kills ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [CrashPoint.SEALED_FILE_WRITTEN, CrashPoint.SEALED_HEAD_REPLACED])
def test_a_push_that_was_killed_is_pushed_again_and_everything_restores(laptop: Machine, step: CrashPoint) -> None:
    laptop.write(2)
    laptop.put(b"later")
    assert killed_at(laptop.push, step)
    assert content_there(laptop.log(), 1) == laptop.content(1)
    laptop.push()
    for number in range(3):
        assert content_there(laptop.log(), number) == laptop.content(number)


def test_an_orphan_is_swept_after_a_day(laptop: Machine) -> None:
    laptop.write(2)
    laptop.put(b"later")
    assert killed_at(laptop.push, CrashPoint.SEALED_HEAD_REPLACED)
    orphan = next(path for path in laptop.agent_folder.iterdir() if path.name.startswith("000000000002"))
    assert laptop.log().sweep(AGENT_ID) == 0
    _age(orphan, 90000)
    assert laptop.log().sweep(AGENT_ID) == 1
    assert not orphan.exists()
    assert content_there(laptop.log(), 1) == laptop.content(1)


def test_an_agent_that_is_removed_leaves_nothing(laptop: Machine, tmp_path: Path) -> None:
    laptop.write(2)
    stranger = Machine(tmp_path / "stranger", laptop.stick)
    with pytest.raises(RemoteDamaged):
        stranger.log().remove_agent(AGENT_ID)
    laptop.log().remove_agent(AGENT_ID)
    assert list((laptop.stick / "agents").iterdir()) == []
    assert laptop.log().agents() == []
    assert laptop.write(1) == [2]


# Two machines ---------------------------------------------------------------------------------------------------


def test_of_two_machines_that_race_one_wins_each_number(laptop: Machine, tmp_path: Path) -> None:
    laptop.write(1)
    context = multiprocessing.get_context("fork")
    racers = []
    for name in ("one", "two"):
        machine = Machine(tmp_path / name, laptop.stick, key=laptop.key)
        _follow(machine, laptop)
        racers.append(context.Process(target=_race, args=(machine, tmp_path / f"{name}.won")))
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
        assert racer.exitcode == 0
    won = sorted(int(line) for name in ("one", "two") for line in (tmp_path / f"{name}.won").read_text().split())
    assert won and won == sorted(set(won)), "no number was acknowledged to both"
    numbers = [each.number for each in laptop.log().sequences(AGENT_ID)]
    assert numbers == [0, *won], "what was acknowledged is there, and nothing else"
    for number in numbers:
        content_there(laptop.log(), number)
    assert not (laptop.agent_folder / folder_files.LOCK).exists()


def _follow(machine: Machine, other: Machine) -> None:
    """The vault of the other machine, copied: a clone."""
    target = machine.context.home.vault_folder(AGENT_ID)
    with other.vault() as vault:
        vault.copy_to(target)


def _race(machine: Machine, notes: Path) -> None:
    """Append to the head where it is known here, else to what it was: that must lose."""
    won = []
    for index in range(8):
        row, log = machine.put(f"{os.getpid()} {index}".encode()), machine.log()
        head = log.agent(AGENT_ID).head
        assert head is not None
        with machine.vault() as vault:
            known = {(each.number, each.digest) for each in vault.sequences()}
        base = head.number if (head.number, head.digest) in known and head.number < row.number else 0
        with contextlib.suppress(StaleBase, RemoteBusy):
            log.push(AGENT_ID, machine.bundle(row.number, base))
            won.append(row.number)
    notes.write_text("\n".join(str(number) for number in won))


def test_a_lock_in_use_is_waited_for_and_a_stale_one_taken_over(
    laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop.write(1)
    lock = laptop.agent_folder / folder_files.LOCK
    lock.write_bytes(b"somebody else")
    monkeypatch.setattr(folder_lock, "PATIENCE", 0.2)
    laptop.put(b"later")
    with pytest.raises(RemoteBusy):
        laptop.push()
    _age(lock, 1000)
    assert laptop.push() == 1
    assert not lock.exists()


def test_whoever_slept_with_the_lock_does_not_write(laptop: Machine, tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "lock", laptop.context.files, laptop.context.clock)
    with lock.held():
        (tmp_path / "lock").write_bytes(b"taken over meanwhile")
        with pytest.raises(RemoteBusy):
            lock.confirm()
    assert (tmp_path / "lock").read_bytes() == b"taken over meanwhile"


# Sticks ---------------------------------------------------------------------------------------------------------


def test_another_stick_under_the_same_path_is_unreachable(laptop: Machine, tmp_path: Path) -> None:
    laptop.write(1)
    laptop.remote_id = laptop.log().about().id
    other = Machine(tmp_path / "other", tmp_path / "second stick", key=laptop.key)
    other.write(1)
    laptop.stick.rename(tmp_path / "unplugged")
    other.stick.rename(laptop.stick)
    with pytest.raises(RemoteUnreachable):
        laptop.log().agents()
    with pytest.raises(RemoteUnreachable):
        laptop.log().push(AGENT_ID, laptop.bundle(0))


@pytest.mark.parametrize("mount_point", [True, False])
def test_a_folder_that_is_not_mounted_is_unreachable_and_stays_as_it_is(
    laptop: Machine, tmp_path: Path, mount_point: bool
) -> None:
    laptop.write(1)
    laptop.remote_id = laptop.log().about().id
    laptop.stick.rename(tmp_path / "unplugged")
    if mount_point:
        laptop.stick.mkdir()
    for call in (laptop.log().agents, lambda: laptop.log().register(AGENT_ID, NAME, RUNTIME)):
        with pytest.raises(RemoteUnreachable):
            call()
    assert laptop.stick.exists() == mount_point
    assert not mount_point or list(laptop.stick.iterdir()) == []


def test_a_stick_that_is_pulled_in_between_is_unreachable(laptop: Machine, tmp_path: Path) -> None:
    laptop.write(1)
    log = laptop.log()
    log.agents()
    laptop.stick.rename(tmp_path / "unplugged")
    with pytest.raises(RemoteUnreachable):
        log.agent(AGENT_ID)


def test_names_do_for_fat_and_smb(laptop: Machine) -> None:
    laptop.large(b"canary" * 100)
    laptop.push()
    laptop.log().put_keys(AGENT_ID, {"a": 1})
    every = [path.name for path in laptop.stick.rglob("*")]
    assert [name for name in every if not set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")] == []


def test_half_written_files_count_for_nothing(laptop: Machine) -> None:
    laptop.write(2)
    (laptop.agent_folder / ".000000000002-aa.alf.age.1234.tmp").write_bytes(b"half")
    (laptop.agent_folder / folder_files.NEXT).write_bytes(b'{"half')
    assert [each.number for each in laptop.log().sequences(AGENT_ID)] == [0, 1]
    laptop.put(b"later")
    assert laptop.push() == 2


def test_a_head_that_was_lost_between_is_the_next_one(laptop: Machine) -> None:
    """On FAT a power cut may leave the new head under its first name only."""
    laptop.write(2)
    (laptop.agent_folder / folder_files.HEAD).rename(laptop.agent_folder / folder_files.NEXT)
    assert content_there(laptop.log(), 1) == laptop.content(1)
    laptop.put(b"later")
    assert laptop.push() == 2


def test_a_folder_that_says_nothing_of_itself_is_damaged(laptop: Machine) -> None:
    laptop.write(1)
    (laptop.stick / folder_files.ROOT_FILE).write_bytes(b"{}")
    with pytest.raises(RemoteDamaged):
        laptop.log().agents()


# Disks that refuse ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nth", range(1, 9))
def test_a_full_disk_keeps_what_was_there(tmp_path: Path, nth: int) -> None:
    failing = FailingFiles(errno.ENOSPC)
    laptop = Machine(tmp_path / "laptop", tmp_path / "stick", files=failing)
    laptop.write(2)
    laptop.put(b"later")
    before = _tree(laptop.stick)
    seen = 0

    def refuses(name: str, path: str) -> bool:
        nonlocal seen
        if name in WRITES and path.startswith(str(laptop.stick)):
            seen += 1
        return name in WRITES and path.startswith(str(laptop.stick)) and seen >= nth

    failing.refuses = refuses
    try:
        laptop.push()
    except RemoteFull as error:
        assert error.retryable
        assert failing.fired
    failing.heal()
    after = _tree(laptop.stick)
    assert before.items() <= after.items() or laptop.log().agent(AGENT_ID).head.number == 2  # type: ignore[union-attr]
    laptop.push()
    assert content_there(laptop.log(), 2) == laptop.content(2)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (errno.EROFS, RemoteDenied),
        (errno.EACCES, RemoteDenied),
        (errno.EFBIG, RemoteTooLarge),
        (errno.EIO, RemoteUnreachable),
        (errno.EDQUOT, RemoteFull),
    ],
)
def test_what_the_system_says_is_said_in_words(tmp_path: Path, reason: int, kind: type[Exception]) -> None:
    failing = FailingFiles(reason)
    laptop = Machine(tmp_path / "laptop", tmp_path / "stick", files=failing)
    laptop.write(1)
    laptop.put(b"later")
    failing.refuses = lambda name, path: name in WRITES and path.startswith(str(laptop.stick))
    with pytest.raises(kind):
        laptop.push()


# Files and addresses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../escape", "a/b", "", "head.json", "head.lock", "Capital", "a:b", "ends.", "x" * 101]
)
def test_a_name_that_is_none_is_refused(laptop: Machine, name: str) -> None:
    laptop.write(1)
    files = FolderFiles(laptop.stick, "", laptop.context.files, laptop.context.clock, sealed=True)
    with pytest.raises(RemoteRefused):
        files.read(AGENT_ID, name)


@pytest.mark.parametrize("url", ["file://host/share", "file:relative", "https://example.com", "file:///a?b", "stick"])
def test_an_address_that_is_no_folder_is_refused(url: str) -> None:
    with pytest.raises(BadSetting):
        REMOTE_KIND.check_url(url)


def test_an_address_has_one_form() -> None:
    assert REMOTE_KIND.check_url("file://localhost/srv/my stick/") == "file:///srv/my%20stick"


def test_what_others_can_read_is_said() -> None:
    sealed = REMOTE_KIND.readable_by(RemoteConfig("stick", "file:///srv/stick", sealed=True))
    assert sealed != REMOTE_KIND.readable_by(RemoteConfig("stick", "file:///srv/stick"))


def _age(path: Path, seconds: float) -> None:
    moment = path.stat().st_mtime - seconds
    os.utime(path, (moment, moment))


def _tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_lock_that_a_full_disk_left_without_its_word_keeps_nobody_waiting(tmp_path: Path) -> None:
    class Full(SystemFiles):
        def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
            super().write_new(path, b"", mode=mode, sync=sync)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    lock = tmp_path / "head.lock"
    with pytest.raises(OSError, match="No space"), FolderLock(lock, Full(), SteadyClock()).held():
        pass
    assert not lock.exists()
